/** Rows and columns in a box that scrolls. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { withDates } from "./dates.js";
import { formatterOf, isDate } from "./format.js";

/**
 * @param {string} name @param {string[]} heads @param {any[][]} rows @param {boolean[]} isRight
 * @param {{by: number | null, isDown: boolean, all: any[][], onSort: (column: number) => void}}
 *   [sorting]  the heads are buttons; `all`: the rows of which `rows` are some
 */
export function grid(name, heads, rows, isRight, sorting) {
  const known = sorting?.all ?? rows;
  const formats = heads.map((heading, i) =>
    formatterOf(
      heading,
      known.map((row) => row[i]),
    ),
  );
  return html`
    <div class="scroller" tabindex="0" role="region" aria-label=${name}>
      <table>
        <thead>
          <tr>
            ${heads.map((words, i) => head(words, i, isRight[i], sorting))}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row) =>
              html`<tr>
                ${row.map((value, i) => cell(value, isRight[i], formats[i]))}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  `;
}

function head(words, column, isRight, sorting) {
  const look = isRight ? "right" : "";
  if (!sorting) return html`<th scope="col" class=${look}>${withDates(words)}</th>`;
  const isSorted = sorting.by === column;
  const order = sorting.isDown ? "descending" : "ascending";
  return html`<th scope="col" class=${look} aria-sort=${isSorted ? order : nothing}>
    <button type="button" class="quiet" @click=${() => sorting.onSort(column)}>
      ${withDates(words)}${isSorted ? mark(sorting.isDown) : nothing}
    </button>
  </th>`;
}

const mark = (isDown) => html`<span aria-hidden="true">${isDown ? "↓" : "↑"}</span>`;

function cell(value, isRight, format) {
  const look = [isRight && "right", isDate(value) && "iso"].filter(Boolean).join(" ");
  const title = value === null ? "No value" : nothing;
  const words = typeof value === "string" ? withDates(value) : format(value);
  return html`<td class=${look} title=${title}>${words}</td>`;
}
