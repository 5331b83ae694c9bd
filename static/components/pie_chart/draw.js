/** Shares of a whole, as SVG. */

import { html, render, svg } from "../../vendor/lit-html/lit-html.js";
import { chartFrame } from "../../js/chart.js";
import { drawing } from "../../js/drawing.js";
import { formatterOf } from "../../js/format.js";
import { plural, t } from "../../js/texts.js";

const SIZE = 220;
const RADIUS = 106;

/**
 * @typedef {{title?: string, categories: string[], series: {name: string, data: number[]}[]}} Props
 */

/** @param {Props} props @param {{isStreaming: boolean}} page */
export function draw(props, { isStreaming }) {
  const { title, categories, series } = props;
  const chart = {
    kind: t("Pie chart"),
    title,
    counted: (/** @type {number} */ count) => plural(count, "{count} slice", "{count} slices"),
    head: t("Category"),
    keys: categories,
    series,
    isStreaming,
    named: slicesOf(props).map(({ words }) => words),
  };
  return chartFrame(chart, pie(props));
}

const pie = drawing((element) => ({
  draw: (/** @type {Props} */ props) => render(picture(props), element),
}));

/** Where a slice begins and ends, as parts of the whole. @param {Props} props */
export function slicesOf({ categories, series: [{ name, data }] }) {
  const whole = data.reduce((sum, value) => sum + value, 0);
  const format = formatterOf(name, data);
  let end = 0;
  return data.slice(0, categories.length).map((value, i) => {
    const share = whole ? value / whole : 0;
    const from = end;
    end += share;
    return { from, to: end, words: `${categories[i]}: ${format(value)} (${percent(share)})` };
  });
}

/** @param {number} share */
const percent = (share) =>
  share.toLocaleString("en", { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 });

/** @param {Props} props */
const picture = (props) =>
  html`<svg viewBox="0 0 ${SIZE} ${SIZE}" width="100%" height=${SIZE} aria-hidden="true">
    ${slicesOf(props).map(
      ({ from, to, words }, i) =>
        svg`<path class="s${(i % 8) + 1}" d=${outline(from, to)}><title>${words}</title></path>`,
    )}
  </svg>`;

/** @param {number} from @param {number} to */
function outline(from, to) {
  // An arc that ends where it begins is none.
  const end = Math.min(to, from + 0.99999);
  const isLarge = end - from > 0.5 ? 1 : 0;
  return `M${point(0, 0)} L${point(from)} A${RADIUS} ${RADIUS} 0 ${isLarge} 1 ${point(end)} Z`;
}

/** A place on the edge; the whole begins at the top. @param {number} part */
function point(part, radius = RADIUS) {
  const angle = 2 * Math.PI * part;
  const x = SIZE / 2 + radius * Math.sin(angle);
  const y = SIZE / 2 - radius * Math.cos(angle);
  return `${x.toFixed(2)} ${y.toFixed(2)}`;
}
