/** Dates in texts, and months. A line may break after a hyphen, but not after those of a date. */

import { html } from "../vendor/lit-html/lit-html.js";
import { legible, LIMITS } from "./bounds.js";

const DATE = /(\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?|(?<!\d-?)\d{4}-[01]\d(?!-?\d))/g;

/** The text in pieces, each second one a date. A text with very many dates is one piece. */
export function splitAtDates(text) {
  const pieces = text.split(DATE);
  return pieces.length > 2 * LIMITS.dates ? [text] : pieces;
}

/** The text, for a template. */
export const withDates = (text) =>
  splitAtDates(legible(String(text))).map((piece, i) =>
    i % 2 ? html`<span class="iso">${piece}</span>` : piece,
  );
