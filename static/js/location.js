/** The open thread's id in the page's address, and the version of it that is looked at. */

export const currentId = () => new URLSearchParams(location.search).get("thread");

export const currentVersion = () => new URLSearchParams(location.search).get("version");

export const urlOf = (id, version = null, message = null) => {
  if (id === null) return location.pathname;
  const named = Object.entries({ thread: id, version, message }).filter(
    ([, value]) => value !== null,
  );
  return `${location.pathname}?${new URLSearchParams(named)}`;
};

/** A message that a link leads to, once: after that the address is that of the thread. */
export function takeMessage() {
  const message = new URLSearchParams(location.search).get("message");
  if (message === null) return null;
  history.replaceState(null, "", urlOf(currentId(), currentVersion()));
  return { message, words: [], text: "" };
}

/** In the tab's storage: the thread that has begun here last, until another one is opened. */
const BEGUN = "begun-thread";

/**
 * A new thread has its id. A reload that is on its way by now still goes to the address before this
 * one.
 */
export function showBegun(id) {
  try {
    sessionStorage.setItem(BEGUN, id);
  } catch {
    // There is no room: such a reload shows a new thread, and the list has this one.
  }
  showId(id);
}

export const leaveBegun = () => sessionStorage.removeItem(BEGUN);

/** The thread to open when the page is loaded; null: a new one. */
export function firstId() {
  const begun = sessionStorage.getItem(BEGUN);
  const [load] = /** @type {PerformanceNavigationTiming[]} */ (
    performance.getEntriesByType("navigation")
  );
  const isReload = load?.type === "reload";
  if (currentId() === null && begun !== null && isReload) showId(begun, { replace: true });
  return currentId();
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
