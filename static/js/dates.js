/** Dates in texts, and months. A line may break after a hyphen, but not after those of a date. */

import { html } from "../vendor/lit-html/lit-html.js";

export const DATE = /(\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?|(?<!\d-?)\d{4}-[01]\d(?!-?\d))/g;

/** The text, for a template. */
export const withDates = (text) =>
  String(text)
    .split(DATE)
    .map((piece, i) => (i % 2 ? html`<span class="iso">${piece}</span>` : piece));
