/** Rows as CSV (RFC 4180); a text that a spreadsheet would run as a formula is made harmless. */

import { html } from "../vendor/lit-html/lit-html.js";
import { download, fileName } from "./clipboard.js";
import { icons } from "./icons.js";
import { t } from "./texts.js";

export function toCsv(rows) {
  return rows.map((row) => row.map(cell).join(",")).join("\r\n");
}

function cell(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : `${value}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @param {string} title @param {() => unknown[][]} rows  with the heads as first row */
export const csvButton = (title, rows, disabled) => html`
  <button
    type="button"
    class="quiet"
    ?disabled=${disabled}
    @click=${() => download(fileName(title, "csv"), "text/csv", toCsv(rows()))}
  >
    ${icons.down} ${t("CSV")}
  </button>
`;
