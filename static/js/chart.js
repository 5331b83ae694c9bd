/** What both kinds of chart have: a summary in words, a key, the data as a table, CSV. */

import { AsyncDirective, directive } from "../vendor/lit-html/async-directive.js";
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { formatterOf } from "./format.js";
import { csvButton } from "./csv.js";
import { grid } from "./grid.js";
import { plural, t } from "./texts.js";

/** @typedef {{name: string, data: (number | null)[]}} Series */

export const REDRAW_MS = 125;
export const nameOf = (series, index) => series.name || t("Series {number}", { number: index + 1 });

/**
 * The figure around a drawing.
 *
 * @param {{kind, title, counted, head, keys, series, isStreaming, marksGaps?, named?}} chart
 *   `keys`: what its values stand over; `counted`: so many of them, in words; `marksGaps`: the
 *   drawing shows where a value is missing; `named`: what its colours stand for, if not the series
 * @param {Record<string, any>} drawing  of the element that it draws in
 */
export function chartFrame(
  { kind, title, counted, head, keys, series, isStreaming, marksGaps = false, named },
  drawing,
) {
  const summary = summaryOf(kind, title, counted(keys.length), series);
  const heads = [head, ...series.map(nameOf)];
  const rows = keys.map((key, i) => [key, ...series.map(({ data }) => data[i] ?? null)]);
  const isRight = heads.map((_, i) => i > 0);
  const hasGaps = marksGaps && series.some(({ data }) => gapsIn(data) > 0);
  const isKeyed = series.length > 1 || hasGaps;
  const colours = named ?? (isKeyed ? series.map((_, i) => keyOf(series, i)) : []);
  return html`
    <div class="chart" role="img" aria-label=${summary} ${drawing}></div>
    ${
      colours.length
        ? html`<ul class="chart-key" aria-hidden="true">
            ${colours.map(
              (words, i) => html`<li><span class="swatch s${(i % 8) + 1}"></span>${words}</li>`,
            )}
            ${hasGaps ? noValue() : nothing}
          </ul>`
        : nothing
    }
    <p class="visually-hidden">${summary}</p>
    <div class="component-bar">
      <details class="chart-data">
        <summary class="quiet">${t("Data")}</summary>
        ${whenOpened(() =>
          grid(t("Data of {title}", { title: title ?? kind }), heads, rows, isRight),
        )}
      </details>
      ${csvButton(title, () => [heads, ...rows], isStreaming)}
    </div>
  `;
}

/**
 * The figure of points over numbers, times or names: of a line chart, or of a scatter chart.
 *
 * @param {string} kind
 * @param {{title?: string, x: any[], series: Series[], x_label?: string}} props
 * @param {boolean} isStreaming
 * @param {Record<string, any>} drawing
 */
export function chartOfPoints(kind, { title, x, series, x_label: xLabel }, isStreaming, drawing) {
  const counted = (/** @type {number} */ count) => plural(count, "{count} point", "{count} points");
  const points = { keys: x, series, head: xLabel ?? "x", counted };
  return chartFrame({ kind, title, isStreaming, ...points }, drawing);
}

/** What stands in a `<details>`, made when that is opened first: thousands of cells take long. */
const whenOpened = directive(
  class extends AsyncDirective {
    /** @type {() => unknown} */
    #view = () => nothing;
    /** @type {HTMLDetailsElement | null} */
    #details = null;
    #isSeen = false;

    update(part, [view]) {
      this.#view = view;
      if (!this.#details) {
        this.#details = part.parentNode;
        this.#details.addEventListener("toggle", () => this.#toggled());
      }
      return this.render(view);
    }

    render(view) {
      return this.#isSeen ? view() : nothing;
    }

    #toggled() {
      if (this.#isSeen) return;
      this.#isSeen = true;
      this.setValue(this.#view());
    }
  },
);

const noValue = () => html`<li><span class="swatch no-value"></span>${t("No value")}</li>`;

const gapsIn = (data) => data.filter((value) => value === null).length;

/** "Line chart: Power. 24 points, 2 series. Plant A: 0 to 42, 1 without a value." */
function summaryOf(kind, title, count, series) {
  const ranges = series.map(
    (item, i) => `${nameOf(item, i)}: ${rangeOf(item.data, nameOf(item, i))}.`,
  );
  const named = title ? `${kind}: ${title}.` : `${kind}.`;
  const lines = plural(series.length, "{count} series", "{count} series");
  return `${named} ${count}, ${lines}. ${ranges.join(" ")}`;
}

function rangeOf(data, name) {
  const numbers = data.filter((value) => value !== null);
  if (!numbers.length) return t("no values");
  const format = formatterOf(name, numbers);
  const gaps = gapsIn(data);
  const range = t("{low} to {high}", {
    low: format(Math.min(...numbers)),
    high: format(Math.max(...numbers)),
  });
  return gaps
    ? plural(gaps, "{range}, {count} without a value", "{range}, {count} without a value", {
        range,
      })
    : range;
}

const isEqual = (one, other) => one.data.length > 0 && String(one.data) === String(other.data);

/**
 * Whether two series lie on each other: two points in a row are the same, or one to which no line
 * leads.
 */
function isOver({ data: one }, { data: other }) {
  const isSame = (i) => one[i] === other[i] && (one[i] ?? null) !== null;
  const isAlone = (data, i) => (data[i - 1] ?? data[i + 1] ?? null) === null;
  return one.some((_, i) => isSame(i) && (isSame(i - 1) || isAlone(one, i) || isAlone(other, i)));
}

/**
 * For each series how many earlier ones lie below it: that many parts of its dashes are left out.
 */
export const layersOf = (series) =>
  series.map((item, i) => series.slice(0, i).filter((other) => isOver(item, other)).length);

/** The name of a series, and which earlier one it is equal to. */
function keyOf(series, index) {
  const twin = series.findIndex((other, i) => i < index && isEqual(series[index], other));
  const name = nameOf(series[index], index);
  return twin < 0
    ? name
    : t("{name} (equal to {other})", { name, other: nameOf(series[twin], twin) });
}

/** Round values that enclose both; at least two. @param {number} low @param {number} high */
export function ticksOf(low, high) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const first = Math.floor(low / step);
  const last = Math.max(first + 1, Math.ceil(high / step));
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

/**
 * An axis of round values around numbers, from one place of a drawing to another.
 *
 * @param {number[]} numbers @param {number} from @param {number} to
 */
export function axisOf(numbers, from, to) {
  const ticks = ticksOf(Math.min(...numbers), Math.max(...numbers));
  const [low, high] = [ticks[0], ticks.at(-1)];
  const at = (/** @type {number} */ value) => from + ((value - low) / (high - low)) * (to - from);
  return { ticks, at };
}
