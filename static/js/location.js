/** The open thread's id in the page's address, and the version of it that is looked at. */

export const currentId = () => new URLSearchParams(location.search).get("thread");

export const currentVersion = () => new URLSearchParams(location.search).get("version");

export const urlOf = (id, version = null, message = null) => {
  if (id === null) return location.pathname;
  const named = Object.entries({ thread: id, version, message }).filter(([, value]) => value !== null);
  return `${location.pathname}?${new URLSearchParams(named)}`;
};

/** A message that a link leads to, once: after that the address is that of the thread. */
export function takeMessage() {
  const message = new URLSearchParams(location.search).get("message");
  if (message === null) return null;
  history.replaceState(null, "", urlOf(currentId(), currentVersion()));
  return { message, words: [], text: "" };
}

export function showId(id, { replace = false } = {}) {
  if (currentId() === id) return;
  if (replace) history.replaceState(null, "", urlOf(id));
  else history.pushState(null, "", urlOf(id));
}

/** Who looks at versions walks to no other place: there is one step back, out of the thread. */
export function showVersion(version) {
  if (currentVersion() !== version) history.replaceState(null, "", urlOf(currentId(), version));
}
