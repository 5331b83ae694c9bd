/** Lines drawn by uPlot: axes, dashes and the values under the pointer. */

import { formatCompact, formatterOf, isDate, shortDates } from "../../js/format.js";
import { colour } from "../../js/theme.js";
import { layersOf, nameOf } from "../../js/chart.js";
import { settings } from "../../js/settings.js";

const HEIGHT = 260;
const MAX_LABEL = 16;
const DASH_PX = 7;
const FONT = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

export class LinePlot {
  #element;
  #uPlot;
  #plot;
  /** What the plot was made for: other values are only set. */
  #shape = "";
  #props;
  #labels = [];

  constructor(element, uPlot) {
    this.#element = element;
    this.#uPlot = uPlot;
  }

  show(props) {
    this.#props = props;
    const axis = axisOf(props.x);
    const layers = layersOf(props.series);
    const shape = JSON.stringify([
      axis.kind,
      layers,
      props.series.map(nameOf),
      props.x_label,
      props.y_label,
    ]);
    const size = { width: this.#element.clientWidth, height: HEIGHT };
    if (shape !== this.#shape) this.#open(shape, axis, size, layers);
    else this.#plot.setSize(size);
    this.#labels = axis.labels;
    this.#plot.setData([
      axis.values,
      ...props.series.map((item) => padded(item.data, props.x.length)),
    ]);
  }

  /** The colours are others. */
  restyle() {
    this.#shape = "";
  }

  close() {
    this.#plot?.destroy();
  }

  #open(shape, axis, size, layers) {
    this.#plot?.destroy();
    this.#shape = shape;
    this.#labels = axis.labels;
    const { series, x_label: xLabel, y_label: yLabel } = this.#props;
    const look = { stroke: colour("--muted"), font: FONT, labelFont: FONT, labelSize: 18 };
    const grid = { stroke: colour("--line"), width: 1 };
    const tip = readout(this.#element);
    this.#plot = new this.#uPlot(
      {
        ...size,
        tzDate: (seconds) => this.#uPlot.tzDate(new Date(seconds * 1000), "UTC"),
        scales: { x: { time: axis.kind === "time" } },
        legend: { show: false },
        cursor: { points: { size: 7 }, drag: { x: true, y: false } },
        series: [{}, ...series.map((item, i) => line(item, i, layers))],
        axes: [
          {
            ...look,
            grid,
            ticks: grid,
            label: xLabel,
            size: axis.kind === "time" ? 50 : 36,
            ...(axis.kind === "names" ? this.#named() : {}),
            ...(axis.kind === "time" ? { values: timeLabels } : {}),
            ...(axis.kind === "numbers"
              ? { values: written(xLabel ?? "", this.#props.x), ...wholeSteps(this.#props.x) }
              : {}),
          },
          {
            ...look,
            grid,
            ticks: { show: false },
            label: yLabel,
            size: 56,
            values: (_, splits) =>
              splits.map((value) => (value === null ? "" : formatCompact(value))),
          },
        ],
        hooks: { setCursor: [(plot) => tip(plot, this.#props)] },
      },
      [[], ...series.map(() => [])],
      this.#element,
    );
  }

  #named() {
    const whole = (value) => (Number.isInteger(value) ? (this.#labels[value] ?? "") : "");
    return {
      values: (_, splits) => splits.map((value) => short(whole(value))),
      incrs: [1, 2, 5, 10, 20, 50, 100],
      space: 70,
    };
  }
}

const short = (label) => (label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL - 1)}…` : label);

/** Between whole numbers there are no others on the axis: no 2020.5. */
const wholeSteps = (x) => (x.every(Number.isInteger) ? { incrs: WHOLE_STEPS } : {});
const WHOLE_STEPS = Array.from({ length: 14 }, (_, power) =>
  [1, 2, 5].map((factor) => factor * 10 ** power),
).flat();

const written = (label, x) => {
  const format = formatterOf(label, x);
  return (_, splits) => splits.map((value) => (value === null ? "" : format(value)));
};

const timeOfDay = new Intl.DateTimeFormat(settings.locale ?? "en-GB", {
  timeStyle: "short",
  timeZone: "UTC",
});
const dayOfMonth = new Intl.DateTimeFormat(settings.locale ?? "en-GB", {
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});
const monthOfYear = new Intl.DateTimeFormat(settings.locale ?? "en-GB", {
  month: "short",
  timeZone: "UTC",
});
const DAY = 86_400;

/** Two lines at most: the time, and below it the day wherever a new one begins; or day and year. */
function timeLabels(_plot, splits, _axis, _space, step) {
  const [fine, coarse] = formatsOf(step);
  let last;
  return splits.map((seconds) => {
    const date = new Date(seconds * 1000);
    const whole = coarse(date);
    const below = whole === last ? "" : `\n${whole}`;
    last = whole;
    return `${fine(date)}${below}`;
  });
}

function formatsOf(step) {
  const year = (date) => String(date.getUTCFullYear());
  if (step < DAY) return [(date) => timeOfDay.format(date), (date) => dayOfMonth.format(date)];
  if (step < 28 * DAY) return [(date) => dayOfMonth.format(date), year];
  return step < 360 * DAY ? [(date) => monthOfYear.format(date), year] : [year, () => ""];
}

/** What lies on others has gaps in which they are seen; its points are rings inside theirs. */
function line(item, index, layers) {
  const stroke = colour(`--s${(index % 8) + 1}`);
  const layer = layers[index];
  const top = Math.max(...layers);
  const dash = layer ? [DASH_PX * (top + 1 - layer), DASH_PX * layer] : undefined;
  const size = 5 + (top - layer) * 4;
  return { label: nameOf(item, index), stroke, width: 2, dash, points: { size, fill: stroke } };
}

const padded = (data, length) =>
  Array.from({ length }, (_, i) => (data[i] === undefined ? null : data[i]));

/** Numbers in order stay numbers, ISO times are plant-local wall clock, the rest is counted. */
export function axisOf(x) {
  const rises = (values) => values.every((value, i) => i === 0 || value > values[i - 1]);
  if (x.every((value) => typeof value === "number") && rises(x)) {
    return { kind: "numbers", values: x, labels: [] };
  }
  const texts = x.map(String);
  if (texts.every(isDate)) {
    const times = texts.map(
      (value) => Date.parse(`${value.replace(" ", "T")}${value.length > 10 ? "Z" : ""}`) / 1000,
    );
    if (rises(times)) return { kind: "time", values: times, labels: [] };
  }
  return {
    kind: "names",
    values: texts.map((_, i) => i),
    labels: shortDates(texts)?.labels ?? texts,
  };
}

/** The values under the pointer, in a box that follows it. */
function readout(element) {
  const box = document.createElement("div");
  box.className = "chart-tip";
  box.hidden = true;
  return (plot, { x, series }) => {
    const { idx, left, top } = plot.cursor;
    box.hidden = idx === null || idx === undefined || left < 0;
    if (box.hidden) return;
    if (!box.isConnected) plot.over.append(box);
    const values = series.map(
      (item, i) => `${nameOf(item, i)}: ${formatterOf(nameOf(item, i), item.data)(item.data[idx])}`,
    );
    box.textContent = [String(x[idx]).replace("T", " "), ...values].join("\n");
    const isRight = left > element.clientWidth / 2;
    box.style.left = `${isRight ? left - box.offsetWidth - 12 : left + 12}px`;
    box.style.top = `${Math.max(0, Math.min(top - 10, HEIGHT - 90))}px`;
  };
}
