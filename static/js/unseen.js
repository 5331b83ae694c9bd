/**
 * Characters that are not seen, that reorder those around them, or that look like a space and are
 * none. They are shown as escapes where somebody relies on what is there: in what is approved, and
 * in titles. JSON with escapes is the same JSON.
 *
 * The server leaves the same characters out of titles (`server/storage/titles.py`).
 */

import { LIMITS } from "./bounds.js";

/** Controls, blanks other than the usual ones, and whatever else leaves no trace. */
const TRACELESS =
  "(?![ \\t\\n\\r])" +
  "[\\p{C}\\p{Z}\\p{Default_Ignorable_Code_Point}\\u2800\\u{1d159}\\u{13441}\\u{13442}]";

/** Those, and marks beyond what any script puts on a letter. */
const UNSEEN = `${TRACELESS}|(?<=\\p{M}{${LIMITS.marks}})\\p{M}`;

/**
 * Joiners that are seen: in Persian words between letters, in the scripts of India behind a virama.
 */
const SPELLED =
  "(?<=[\\u0620-\\u06ff])\\u200c(?=[\\u0620-\\u06ff])" +
  "|(?<=[\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca])[\\u200c\\u200d]";

const PATTERN = pattern();

/**
 * Emoji stay as they are with all that they are made of, as Unicode lists them. Engines of before
 * 2023 have no such list.
 */
function pattern() {
  try {
    return new RegExp(`\\p{RGI_Emoji}|${SPELLED}|(?<unseen>${UNSEEN})`, "gv");
  } catch {
    return new RegExp(`${SPELLED}|(?<unseen>${UNSEEN})`, "gu");
  }
}

/** Most texts have none; `PATTERN` takes ten times as long. */
const CANDIDATE = new RegExp(`${TRACELESS}|\\p{M}{${LIMITS.marks + 1}}`, "u");

/** The text with escapes for what is not seen. */
export const visible = (text) => (CANDIDATE.test(text) ? text.replace(PATTERN, shown) : text);

const shown = (found, unseen) => (unseen ? found.split("").map(escaped).join("") : found);

const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
