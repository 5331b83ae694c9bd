/** Rows and columns in a box that scrolls. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { withDates } from "./dates.js";
import { formatterOf, isDate } from "./format.js";

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
