/** What keys mean, which depends on what they are struck on. */

const TOUCH = matchMedia("(hover: none) and (pointer: coarse)");

/** A key that belongs to a word of an input method is not a key of ours (229: older browsers). */
export const isComposing = (event) => event.isComposing || event.keyCode === 229;

/** Enter sends; on the keyboard of a screen it begins a new line, as no other key there does. */
export function sends(event) {
  if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return false;
  return event.ctrlKey || event.metaKey || !TOUCH.matches;
}

/** What the screen's keyboard calls its Enter key. */
export const enterHint = () => (TOUCH.matches ? "enter" : "send");
