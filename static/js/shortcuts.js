/**
 * Keys of the whole page. What is typed where nothing else takes it goes to the message field; the
 * commands have letters in the list of keys, which Control and "/" opens. No browser and no screen
 * reader uses this combination, nor that of the search. Safari uses Command and "/", so it is
 * Control on a Mac too.
 */

import { isComposing } from "./keys.js";

const { userAgentData } = /** @type {any} */ (navigator);
export const IS_MAC = /mac|iphone|ipad/i.test(userAgentData?.platform ?? navigator.platform);

const TYPED_IN = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";

/** @param {any} target */
const isTypedIn = (target) => Boolean(target.closest?.(TYPED_IN));

/** @param {{onSearch, onKeys, onField}} actions */
export function listenForKeys(actions) {
  /** The list of keys is being loaded; a key that is struck meanwhile is for it. */
  let isLoading = false;
  let early = null;
  const run = async (command) => {
    isLoading = command === "onKeys";
    try {
      await actions[command]();
      if (early) document.activeElement.dispatchEvent(new KeyboardEvent("keydown", early));
    } finally {
      isLoading = false;
      early = null;
    }
  };
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open], :popover-open")) return;
    const command = commandOf(event);
    if (command) {
      event.preventDefault();
      run(command);
    } else if (isLoading && isTyped(event)) {
      event.preventDefault();
      early = event;
    } else if (isTyped(event) && !isTypedIn(event.target)) {
      // The field gets what this very key writes, since it has the focus by then.
      actions.onField();
    }
  });
}

function commandOf(event) {
  if (event.repeat || isComposing(event)) return null;
  if (isSearch(event)) return "onSearch";
  return isKeys(event) ? "onKeys" : null;
}

function isSearch({ key, shiftKey, ctrlKey, metaKey, altKey }) {
  const [held, other] = IS_MAC ? [metaKey, ctrlKey] : [ctrlKey, metaKey];
  return held && shiftKey && !other && !altKey && key.toLowerCase() === "f";
}

/** On some keyboards "/" needs Shift. */
const isKeys = ({ key, ctrlKey, metaKey, altKey }) => key === "/" && ctrlKey && !metaKey && !altKey;

/**
 * A key that writes a character, or begins one; on a Mac with Option too. The space bar scrolls and
 * presses buttons.
 */
function isTyped(event) {
  const { key, ctrlKey, metaKey, altKey } = event;
  const isCommand = ctrlKey || metaKey || (altKey && !IS_MAC);
  if (isCommand && !event.getModifierState("AltGraph")) return false;
  return isComposing(event) || key === "Dead" || (key !== " " && [...key].length === 1);
}
