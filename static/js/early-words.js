/**
 * What is written before it is known who writes: kept in the tab's storage, so that a reload takes
 * nothing of it. Messages that could not be sent then are sent only when it is known.
 */

const PREFIX = "early-words:";
const keys = () => Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX));
const parsed = (key) => JSON.parse(sessionStorage.getItem(key) ?? "{}");

/**
 * @returns {{draft?: string, edit?: Record<string, any>, forms?: Record<string, any>, outbox?:
 *   Record<string, any>[], isNew?: boolean}}
 */
export const earlyOf = (id) => parsed(PREFIX + (id ?? ""));

/**
 * Images cannot be attached yet.
 *
 * @param {string | null} id @param {any} changes
 */
export function keepEarly(id, { images: _, ...changes }) {
  try {
    sessionStorage.setItem(PREFIX + (id ?? ""), JSON.stringify({ ...earlyOf(id), ...changes }));
  } catch {
    // There is no room: it is on the page alone.
  }
}

/** All of it, by the id of its thread: it is kept elsewhere from now on. */
export function takeEarly() {
  const taken = keys().map((key) => [key.slice(PREFIX.length) || null, parsed(key)]);
  forgetEarly();
  return taken;
}

export const forgetEarly = () => {
  for (const key of keys()) sessionStorage.removeItem(key);
};
