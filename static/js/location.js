/** The open thread's id in the page's address. */

export const currentId = () => new URLSearchParams(location.search).get("thread");

export const urlOf = (id) =>
  id === null ? location.pathname : `${location.pathname}?${new URLSearchParams({ thread: id })}`;

export function showId(id, { replace = false } = {}) {
  if (currentId() === id) return;
  if (replace) history.replaceState(null, "", urlOf(id));
  else history.pushState(null, "", urlOf(id));
}
