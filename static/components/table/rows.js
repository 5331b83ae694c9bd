/** Rows of a table: those that have some words, and in the order of a column. */

import { LOCALE } from "../../js/settings.js";

/** @typedef {string | number | boolean | null} Cell */

/**
 * Each word stands somewhere in the row, as it came or as it is shown, in capitals or not.
 *
 * @param {Cell[][]} rows @param {string} words
 * @param {((value: Cell) => string)[]} formats  of the columns
 */
export function found(rows, words, formats) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return rows;
  return rows.filter((row) => {
    const shown = row.map((value, i) => formats[i](value));
    const text = [...row, ...shown].join("\n").toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

/**
 * Numbers by their size, texts as people order them; what is missing comes last, either way.
 *
 * @param {Cell[][]} rows @param {number | null} column @param {boolean} isDown
 */
export function ordered(rows, column, isDown) {
  if (column === null) return rows;
  const sign = isDown ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [a, b] = [one[column], other[column]];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * compared(a, b);
  });
}

const texts = new Intl.Collator(LOCALE, { numeric: true });

/** @param {Cell} one @param {Cell} other */
const compared = (one, other) =>
  typeof one === "number" && typeof other === "number"
    ? one - other
    : texts.compare(String(one), String(other));
