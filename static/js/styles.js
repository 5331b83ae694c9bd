/** The styles of what is loaded when it is needed. */

const SHEETS = {
  feedback: new URL("../css/feedback.css", import.meta.url),
  inspector: new URL("../css/inspector.css", import.meta.url),
  keys: new URL("../css/keys.css", import.meta.url),
  login: new URL("../css/login.css", import.meta.url),
};
const loading = new Map();

/**
 * Once for all who need them. If they cannot be loaded it is shown without them.
 *
 * @param {keyof typeof SHEETS} name
 */
export function styled(name) {
  if (!loading.has(name)) loading.set(name, linked(SHEETS[name].href));
  return loading.get(name);
}

/** Add a style sheet to the page, before the deployer's. @param {string} href */
export const linked = (href) =>
  new Promise((loaded) => {
    const link = document.createElement("link");
    Object.assign(link, { rel: "stylesheet", href, onload: loaded, onerror: loaded });
    document.head.insertBefore(link, document.getElementById("overlay"));
  });
