/**
 * The styles of what is loaded when it is needed. If they cannot be loaded it is shown without them.
 *
 * @param {string} name  of the file
 */
export const styled = (name) =>
  new Promise((loaded) => {
    const link = document.createElement("link");
    Object.assign(link, { rel: "stylesheet", href: `css/${name}.css`, onload: loaded, onerror: loaded });
    document.head.append(link);
  });
