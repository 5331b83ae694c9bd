/** Rows and columns; numbers to the right. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { csvButton } from "../../js/csv.js";
import { plural } from "../../js/format.js";
import { grid } from "../../js/grid.js";

export function draw({ title, columns, rows }, { isStreaming }) {
  const heads = columns.map(({ key, label }) => label ?? key);
  const cells = (row) => columns.map(({ key }) => (Object.hasOwn(row, key) ? row[key] : null));
  const isRight = columns.map(
    ({ key, align }) => align === "right" || (!align && isNumeric(rows, key)),
  );
  return html`
    ${grid(title ?? "Table", heads, rows.map(cells), isRight)}
    <div class="component-bar">
      <span class="muted">${plural(rows.length, "row")}</span>
      ${csvButton(title, () => [heads, ...rows.map(cells)], isStreaming)}
    </div>
  `;
}

const isNumeric = (rows, key) =>
  rows.length > 0 && rows.every((row) => row[key] === null || typeof row[key] === "number");
