/** Bars in groups, as SVG. */

import { html, nothing, render, svg } from "../../vendor/lit-html/lit-html.js";
import { formatCompact, shortDates } from "../../js/format.js";
import { axisOf, chartFrame } from "../../js/chart.js";
import { drawing } from "../../js/drawing.js";
import { plural, t } from "../../js/texts.js";
import { heightOf, lying } from "./horizontal.js";
import { barLabel } from "./label.js";

const HEIGHT = 260;
const EDGE = { top: 12, right: 8, bottom: 30, left: 48 };
const CHAR_PX = 6.6;

export function draw(props, { isStreaming }) {
  const { title, categories, series, x_label: xLabel } = props;
  const chart = {
    kind: t("Bar chart"),
    title,
    counted: (/** @type {number} */ count) => plural(count, "{count} bar", "{count} bars"),
    head: xLabel ?? t("Category"),
    keys: categories,
    series,
    isStreaming,
    marksGaps: true,
  };
  return chartFrame(chart, bars(props));
}

const bars = drawing((element) => ({
  draw(props) {
    const height = props.horizontal ? heightOf(props) : HEIGHT;
    element.style.height = `${height}px`;
    const view = props.horizontal ? lying : picture;
    render(view(props, element.clientWidth, height), element);
  },
}));

function picture({ categories, series, y_label: yLabel, x_label: named }, width) {
  const slot = (width - EDGE.left - EDGE.right) / categories.length;
  const dates = shortDates(categories);
  const { labels, shared } = dates ?? fitting(categories, slot);
  const every = Math.ceil((dates ? widest(labels) : LABEL_PX) / slot);
  const xLabel = named ?? shared;
  const values = series.flatMap(({ data }) => data.filter((value) => value !== null));
  const bottom = HEIGHT - EDGE.bottom - (xLabel ? 16 : 0);
  const top = EDGE.top + (yLabel ? 18 : 0);
  const { ticks, at: y } = axisOf([0, ...values], bottom, top);
  const room = roomOf(slot * every);
  const end = dates ? width - 2 : Infinity;
  const below = (label, i) => {
    if (i % every) return nothing;
    const x = EDGE.left + slot * (i + 0.5);
    return categoryLabel(label, categories[i], { x, y: bottom + 18, room, end });
  };
  return html`<svg
    viewBox="0 0 ${width} ${HEIGHT}"
    width=${width}
    height=${HEIGHT}
    aria-hidden="true"
  >
    ${ticks.map((tick) => gridLine(tick, y(tick), width))}
    ${series.map((item, i) => group(item, i, series.length, { categories, slot, y, top, bottom }))}
    <line class="axis" x1=${EDGE.left} x2=${width - EDGE.right} y1=${y(0)} y2=${y(0)}></line>
    ${labels.map(below)}
    ${yLabel ? svg`<text class="axis-name" x="2" y="12">${yLabel}</text>` : nothing}
    ${
      xLabel
        ? svg`<text class="axis-name" text-anchor="middle"
            x=${width / 2} y=${HEIGHT - 4}>${xLabel}</text>`
        : nothing
    }
  </svg>`;
}

const gridLine = (tick, y, width) => svg`
  <line class="grid" x1=${EDGE.left} x2=${width - EDGE.right} y1=${y} y2=${y}></line>
  <text class="tick" text-anchor="end" x=${EDGE.left - 8} y=${y + 4}>${formatCompact(tick)}</text>
`;

/** A value that is missing is an empty frame as high as the chart: no bar, and no 0. */
function group({ name, data }, index, count, { categories, slot, y, top, bottom }) {
  const width = Math.max(1, Math.min(52, (slot * 0.72) / count));
  return data.slice(0, categories.length).map((value, i) => {
    const isMissing = value === null;
    const x = EDGE.left + slot * (i + 0.5) + width * (index - count / 2);
    const [from, to] = isMissing ? [top, bottom] : value < 0 ? [y(0), y(value)] : [y(value), y(0)];
    const look = isMissing ? "no-value" : `s${(index % 8) + 1}`;
    return svg`<rect class=${look} x=${x} y=${from} width=${Math.max(1, width - 2)}
      height=${Math.max(0.5, to - from)} rx="3"
      ><title>${barLabel(categories[i], name, data, value)}</title></rect>`;
  });
}

const LABEL_PX = 26;
const widest = (labels) => Math.max(...labels.map(({ length }) => length + 3)) * CHAR_PX;
const roomOf = (px) => Math.max(3, Math.floor(px / CHAR_PX));

/** Labels that do not fit lose the words that all of them begin with: these name the axis. */
function fitting(categories, slot) {
  const shared = sharedWords(categories);
  const isLong = categories.some(
    (category) => category.length > roomOf(slot * Math.ceil(LABEL_PX / slot)),
  );
  if (!isLong || !shared) return { labels: categories };
  return { labels: categories.map((item) => item.slice(shared.length)), shared: shared.trim() };
}

function sharedWords([first, ...others]) {
  if (!others.length) return "";
  let end = first.lastIndexOf(" ") + 1;
  while (end && !others.every((other) => other.startsWith(first.slice(0, end)))) {
    end = first.lastIndexOf(" ", end - 2) + 1;
  }
  return first.slice(0, end);
}

function categoryLabel(label, category, { x, y, room, end }) {
  const text = label.length > room ? `${label.slice(0, room - 1)}…` : label;
  const middle = Math.min(x, end - (text.length * CHAR_PX) / 2);
  return svg`<text class="tick" text-anchor="middle" x=${middle} y=${y}
    >${text}<title>${category}</title></text>`;
}
