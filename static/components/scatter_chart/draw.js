/** Points over two axes of numbers, as SVG. */

import { html, nothing, render, svg } from "../../vendor/lit-html/lit-html.js";
import { axisOf, chartOfPoints, nameOf } from "../../js/chart.js";
import { drawing } from "../../js/drawing.js";
import { formatCompact, formatNumber } from "../../js/format.js";
import { t } from "../../js/texts.js";

const HEIGHT = 260;
const EDGE = { top: 12, right: 16, bottom: 30, left: 52 };
const LARGE = 4;
const SMALL = 2.5;
/** More of them are small, without tooltips, and those of a series are one path. */
const MANY = 200;

/**
 * @typedef {import("../../js/chart.js").Series} Series
 * @typedef {{title?: string, x: number[], series: Series[], x_label?: string, y_label?: string}}
 *   Props
 */

/** @param {Props} props @param {{isStreaming: boolean}} page */
export const draw = (props, { isStreaming }) =>
  chartOfPoints(t("Scatter chart"), props, isStreaming, points(props));

const points = drawing((element) => ({
  draw: (/** @type {Props} */ props) => render(picture(props, element.clientWidth), element),
}));

/** @param {Props} props @param {number} width */
function picture({ x, series, x_label: xLabel, y_label: yLabel }, width) {
  const values = series.flatMap(({ data }) => data.filter((value) => value !== null));
  const across = axisOf(x, EDGE.left, width - EDGE.right);
  const top = EDGE.top + (yLabel ? 18 : 0);
  const bottom = HEIGHT - EDGE.bottom - (xLabel ? 16 : 0);
  const up = axisOf(values.length ? values : [0], bottom, top);
  const isDense = values.length > MANY;
  const dots = (/** @type {Series} */ item, /** @type {number} */ index) => {
    const colour = `s${(index % 8) + 1}`;
    const there = item.data
      .slice(0, x.length)
      .flatMap((value, i) => (value === null ? [] : [{ key: x[i], value }]));
    if (isDense)
      return svg`<path class=${colour}
        d=${there.map(({ key, value }) => disc(across.at(key), up.at(value))).join("")}></path>`;
    return there.map(
      ({ key, value }) => svg`<circle class=${colour} r=${LARGE} cx=${across.at(key)}
        cy=${up.at(value)}>${titled(nameOf(item, index), key, value)}</circle>`,
    );
  };
  return html`<svg
    viewBox="0 0 ${width} ${HEIGHT}"
    width=${width}
    height=${HEIGHT}
    aria-hidden="true"
  >
    ${up.ticks.map(
      (tick) => svg`
        <line class="grid" x1=${EDGE.left} x2=${width - EDGE.right}
          y1=${up.at(tick)} y2=${up.at(tick)}></line>
        <text class="tick" text-anchor="end" x=${EDGE.left - 8} y=${up.at(tick) + 4}
          >${formatCompact(tick)}</text>`,
    )}
    ${across.ticks.map(
      (tick) => svg`
        <line class="grid" x1=${across.at(tick)} x2=${across.at(tick)}
          y1=${top} y2=${bottom}></line>
        <text class="tick" text-anchor="middle" x=${across.at(tick)} y=${bottom + 18}
          >${formatCompact(tick)}</text>`,
    )}
    ${series.map(dots)}
    ${yLabel ? svg`<text class="axis-name" x="2" y="12">${yLabel}</text>` : nothing}
    ${
      xLabel
        ? svg`<text class="axis-name" text-anchor="middle"
            x=${width / 2} y=${HEIGHT - 4}>${xLabel}</text>`
        : nothing
    }
  </svg>`;
}

/** @param {string} name @param {number} x @param {number} y */
const titled = (name, x, y) => svg`<title>${name}: ${formatNumber(x)}, ${formatNumber(y)}</title>`;

/** A small point, as a part of a path. @param {number} x @param {number} y */
const disc = (x, y) =>
  `M${(x - SMALL).toFixed(1)} ${y.toFixed(1)}` +
  `a${SMALL} ${SMALL} 0 1 0 ${2 * SMALL} 0a${SMALL} ${SMALL} 0 1 0 ${-2 * SMALL} 0`;
