/**
 * Keys of the whole page. Letters mean something where nobody types; a person can switch them off, since
 * who speaks to a computer may strike some by accident. No browser and no screen reader has the one
 * with Shift and Control, or the Mac's Command.
 */

import { isComposing } from "./keys.js";

export const IS_MAC = /mac|iphone|ipad/i.test(navigator.userAgentData?.platform ?? navigator.platform);

const LETTERS = {
  n: "onNew",
  s: "onSearch",
  t: "onThreads",
  m: "onField",
  c: "onCopy",
  e: "onEditLast",
  "?": "onKeys",
};
const TYPED_IN = "input, textarea, select, [contenteditable]";
const KEPT = "letter-keys";

export const lettersOn = () => localStorage.getItem(KEPT) !== "off";
export const setLetters = (isOn) => (isOn ? localStorage.removeItem(KEPT) : localStorage.setItem(KEPT, "off"));

/** @param {object} actions  by the names in `LETTERS` */
export function listenForKeys(actions) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.repeat || isComposing(event) || document.querySelector("dialog[open]")) return;
    const name = isSearch(event) ? "onSearch" : letterOf(event);
    if (!name) return;
    event.preventDefault();
    actions[name]();
  });
}

function isSearch({ key, shiftKey, ctrlKey, metaKey, altKey }) {
  const [held, other] = IS_MAC ? [metaKey, ctrlKey] : [ctrlKey, metaKey];
  return held && shiftKey && !other && !altKey && key.toLowerCase() === "f";
}

function letterOf({ key, target, ctrlKey, metaKey, altKey }) {
  if (ctrlKey || metaKey || altKey || target.closest?.(TYPED_IN) || !lettersOn()) return undefined;
  return Object.hasOwn(LETTERS, key) ? LETTERS[key] : undefined;
}
