/** What both kinds of chart have: a summary in words, a key, the data as a table, CSV. */

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { formatNumber, plural } from "../format.js";
import { csvButton } from "./csv.js";
import { grid } from "./table.js";

export const REDRAW_MS = 125;
export const nameOf = (series, index) => series.name || `Series ${index + 1}`;

/** The figure around a drawing: `canvas` is the element that the chart draws in. */
export function chartFrame({ kind, title, heads, rows, series, summary, streaming }, canvas) {
  const isRight = heads.map((_, i) => i > 0);
  return html`
    ${canvas}
    ${series.length > 1
      ? html`<ul class="chart-key" aria-hidden="true">
          ${series.map((item, i) => html`<li><span class="swatch s${(i % 8) + 1}"></span>${nameOf(item, i)}</li>`)}
        </ul>`
      : nothing}
    <p class="visually-hidden">${summary}</p>
    <div class="component-bar">
      <details class="chart-data">
        <summary class="quiet">Data</summary>
        ${grid(`Data of ${title ?? kind}`, heads, rows, isRight)}
      </details>
      ${csvButton(title, () => [heads, ...rows], streaming)}
    </div>
  `;
}

/** "Line chart: Power. 24 points, 2 series. Plant A: 0 to 42." */
export function summaryOf(kind, title, count, noun, series) {
  const ranges = series.map((item, i) => `${nameOf(item, i)}: ${rangeOf(item.data)}.`);
  const named = title ? `${kind}: ${title}.` : `${kind}.`;
  return `${named} ${plural(count, noun)}, ${series.length} series. ${ranges.join(" ")}`;
}

function rangeOf(data) {
  const numbers = data.filter((value) => value !== null);
  if (!numbers.length) return "no values";
  return `${formatNumber(Math.min(...numbers))} to ${formatNumber(Math.max(...numbers))}`;
}
