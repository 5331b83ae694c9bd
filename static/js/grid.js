/** Rows and columns in a box that scrolls. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { withDates } from "./dates.js";
import { formatterOf, isDate } from "./format.js";
import { t } from "./texts.js";

/** How the cells of each column are written.
 *
 * @param {string[]} heads @param {any[][]} rows
 */
export const formatsOf = (heads, rows) =>
  heads.map((heading, i) =>
    formatterOf(
      heading,
      rows.map((row) => row[i]),
    ),
  );

/**
 * @param {string} name @param {string[]} heads @param {any[][]} rows @param {boolean[]} isRight
 * @param {{by: number | null, isDown: boolean, onSort: (column: number) => void,
 *   formats: ((value: any) => string)[]}} [sorting]  the heads are buttons; `formats`: those of all
 *   rows, of which `rows` are some
 */
export function grid(name, heads, rows, isRight, sorting) {
  const formats = sorting?.formats ?? formatsOf(heads, rows);
  return html`
    <div class="scroller" tabindex="0" role="group" aria-label=${name}>
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
  const title = value === null ? t("No value") : nothing;
  const words = typeof value === "string" ? withDates(value) : format(value);
  const written = typeof value === "string" ? html`<bdi>${words}</bdi>` : words;
  return html`<td class=${look} title=${title}>${written}</td>`;
}
