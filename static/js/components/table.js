/** Rows and columns; numbers to the right. */

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { withDates } from "../dates.js";
import { formatterOf, isDate, plural } from "../format.js";
import { csvButton } from "./csv.js";

export function table({ title, columns, rows }, streaming) {
  const heads = columns.map(({ key, label }) => label ?? key);
  const cells = (row) => columns.map(({ key }) => (Object.hasOwn(row, key) ? row[key] : null));
  const isRight = columns.map(
    ({ key, align }) => align === "right" || (!align && isNumeric(rows, key)),
  );
  return html`
    ${grid(title ?? "Table", heads, rows.map(cells), isRight)}
    <div class="component-bar">
      <span class="muted">${plural(rows.length, "row")}</span>
      ${csvButton(title, () => [heads, ...rows.map(cells)], streaming)}
    </div>
  `;
}

/** A table in its own scroller. */
export function grid(name, heads, rows, isRight) {
  const formats = heads.map((head, i) =>
    formatterOf(
      head,
      rows.map((row) => row[i]),
    ),
  );
  return scroller(name, heads, rows, { isRight, formats });
}

const scroller = (name, heads, rows, { isRight, formats }) => html`
  <div class="scroller" tabindex="0" role="region" aria-label=${name}>
    <table>
      <thead>
        <tr>
          ${heads.map(
            (head, i) =>
              html`<th scope="col" class=${isRight[i] ? "right" : ""}>${withDates(head)}</th>`,
          )}
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

function cell(value, isRight, format) {
  const look = [isRight && "right", isDate(value) && "iso"].filter(Boolean).join(" ");
  const title = value === null ? "No value" : nothing;
  const words = typeof value === "string" ? withDates(value) : format(value);
  return html`<td class=${look} title=${title}>${words}</td>`;
}

const isNumeric = (rows, key) =>
  rows.length > 0 && rows.every((row) => row[key] === null || typeof row[key] === "number");
