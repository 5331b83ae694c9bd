/** The styles of what is loaded when it is needed. */

const loading = new Map();

/**
 * Once for all who need them. If they cannot be loaded it is shown without them.
 *
 * @param {string} name  of the file
 */
export function styled(name) {
  if (!loading.has(name)) loading.set(name, load(name));
  return loading.get(name);
}

const load = (name) =>
  new Promise((loaded) => {
    const link = document.createElement("link");
    const { href } = new URL(`../css/${name}.css`, import.meta.url);
    Object.assign(link, { rel: "stylesheet", href, onload: loaded, onerror: loaded });
    document.head.append(link);
  });
