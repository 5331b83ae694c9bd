/** Bars from left to right, a line for each category: for names that are long or many. */

import { html, nothing, svg } from "../../vendor/lit-html/lit-html.js";
import { axisOf } from "../../js/chart.js";
import { formatCompact } from "../../js/format.js";
import { barLabel } from "./label.js";

const BAR = 16;
const GAP = 12;
const CHAR_PX = 6.6;
const EDGE = { top: 8, right: 16, bottom: 26 };
const MAX_LABELS = 0.4;

/**
 * @typedef {import("../../js/chart.js").Series} Series
 * @typedef {{categories: string[], series: Series[], y_label?: string}} Props
 */

/** Of so many categories and series, in pixels. @param {Props} props */
export const heightOf = ({ categories, series, y_label: valueLabel }) =>
  categories.length * (series.length * BAR + GAP) + EDGE.top + EDGE.bottom + (valueLabel ? 16 : 0);

/**
 * The axes of upright bars change their places: `y_label` names the values, below.
 *
 * @param {Props} props @param {number} width @param {number} height
 */
export function lying({ categories, series, y_label: valueLabel }, width, height) {
  const longest = Math.max(...categories.map(({ length }) => length)) * CHAR_PX;
  const left = Math.min(longest, width * MAX_LABELS) + 10;
  const room = Math.max(3, Math.floor((left - 10) / CHAR_PX));
  const values = series.flatMap(({ data }) => data.filter((value) => value !== null));
  const { ticks, at } = axisOf([0, ...values], left, width - EDGE.right);
  const bottom = height - EDGE.bottom - (valueLabel ? 16 : 0);
  const slot = (bottom - EDGE.top) / categories.length;
  const bars = (/** @type {Series} */ { name, data }, /** @type {number} */ index) =>
    data.slice(0, categories.length).map((value, i) => {
      const [from, to] = value === null ? [left, width - EDGE.right] : sorted(at(0), at(value));
      const y = EDGE.top + slot * (i + 0.5) + BAR * (index - series.length / 2);
      const look = value === null ? "no-value" : `s${(index % 8) + 1}`;
      return svg`<rect class=${look} x=${from} y=${y} rx="3" height=${BAR - 2}
        width=${Math.max(0.5, to - from)}
        ><title>${barLabel(categories[i], name, data, value)}</title></rect>`;
    });
  return html`<svg
    viewBox="0 0 ${width} ${height}"
    width=${width}
    height=${height}
    aria-hidden="true"
  >
    ${ticks.map(
      (tick) => svg`
        <line class="grid" x1=${at(tick)} x2=${at(tick)} y1=${EDGE.top} y2=${bottom}></line>
        <text class="tick" text-anchor="middle" x=${at(tick)} y=${bottom + 18}
          >${formatCompact(tick)}</text>`,
    )}
    ${series.map(bars)}
    <line class="axis" x1=${at(0)} x2=${at(0)} y1=${EDGE.top} y2=${bottom}></line>
    ${categories.map(
      (category, i) => svg`<text class="tick" text-anchor="end" x=${left - 8}
        y=${EDGE.top + slot * (i + 0.5) + 4}>${cut(category, room)}<title>${category}</title
        ></text>`,
    )}
    ${
      valueLabel
        ? svg`<text class="axis-name" text-anchor="middle"
            x=${width / 2} y=${height - 4}>${valueLabel}</text>`
        : nothing
    }
  </svg>`;
}

/** @param {number} one @param {number} other */
const sorted = (one, other) => (one < other ? [one, other] : [other, one]);
/** @param {string} text @param {number} room */
const cut = (text, room) => (text.length > room ? `${text.slice(0, room - 1)}…` : text);
