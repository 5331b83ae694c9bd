/**
 * A message that a search has found: which version has it, and how it is marked. Loaded when one is
 * opened.
 */

import * as api from "./api.js";

const MAX_VERSIONS = 20;
const MARGIN_PX = 16;
/** How much of the height is above words that stand far down in a long message. */
const ABOVE = 0.3;
const LETTER = "[\\p{sc=Latin}\\p{sc=Greek}\\p{sc=Cyrillic}\\p{N}]";

/**
 * A version, of those that the thread's messages name, that has a message which the thread has
 * left; or null.
 */
export async function versionWith(message, { id, messages }) {
  const left = messages.flatMap(({ version, versions = [] }) =>
    versions.filter((other) => other !== version),
  );
  for (const version of left.slice(0, MAX_VERSIONS)) {
    const branch = await api.thread(id, { version });
    if (branch.messages.some((one) => one.id === message)) return version;
  }
  return null;
}

/**
 * Mark a message, and the words in it, until somebody goes on.
 *
 * @param {HTMLElement} article
 * @param {string[]} words
 * @param {{height: number, isFree: boolean}} about  `height`: of what is seen; `isFree`: the
 *   message may have the focus
 * @returns {number}  how far above its top the message begins, so that the first of the words is
 *   seen
 */
export function markFound(article, words, { height, isFree }) {
  /** @type {HTMLElement | null} */
  const unfold = article.querySelector(".unfold[aria-expanded=false]");
  unfold?.click();
  const ranges = words.length ? rangesOf(article, words) : [];
  CSS.highlights?.set("found", new Highlight(...ranges));
  article.classList.add("is-found");
  const unmark = () => {
    article.classList.remove("is-found");
    article.removeAttribute("tabindex");
    CSS.highlights?.delete("found");
  };
  if (isFree) {
    article.tabIndex = -1;
    article.focus({ preventScroll: true });
    article.addEventListener("blur", unmark, { once: true });
  } else {
    for (const type of ["keydown", "pointerdown"])
      addEventListener(type, unmark, { once: true, capture: true });
  }
  if (!ranges.length) return -MARGIN_PX;
  const down = ranges[0].getBoundingClientRect().bottom - article.getBoundingClientRect().top;
  return down + MARGIN_PX < height ? -MARGIN_PX : down - height * ABOVE;
}

/** Words that markdown has cut in two are not among them. */
function rangesOf(article, words) {
  const escaped = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const pattern = new RegExp(`(?<!${LETTER})(?:${escaped.join("|")})(?!${LETTER})`, "giu");
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  const ranges = [];
  while (walker.nextNode()) {
    const { data } = /** @type {Text} */ (walker.currentNode);
    for (const { index, 0: word } of data.matchAll(pattern)) {
      const range = new Range();
      range.setStart(walker.currentNode, index);
      range.setEnd(walker.currentNode, index + word.length);
      ranges.push(range);
    }
  }
  return ranges;
}
