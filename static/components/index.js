/** Our components: `docs/components.md` says what their folders hold. */

import alertSchema from "./alert/schema.json" with { type: "json" };
import barChartSchema from "./bar_chart/schema.json" with { type: "json" };
import lineChartSchema from "./line_chart/schema.json" with { type: "json" };
import metricCardsSchema from "./metric_cards/schema.json" with { type: "json" };
import pieChartSchema from "./pie_chart/schema.json" with { type: "json" };
import reportSchema from "./report/schema.json" with { type: "json" };
import scatterChartSchema from "./scatter_chart/schema.json" with { type: "json" };
import tableSchema from "./table/schema.json" with { type: "json" };
import { draw as alert, drawsTitle } from "./alert/draw.js";
import { draw as barChart } from "./bar_chart/draw.js";
import { draw as lineChart } from "./line_chart/draw.js";
import { draw as metricCards } from "./metric_cards/draw.js";
import { draw as pieChart } from "./pie_chart/draw.js";
import { draw as report } from "./report/draw.js";
import { draw as scatterChart } from "./scatter_chart/draw.js";
import { draw as table } from "./table/draw.js";
import { text as alertText } from "./alert/text.js";
import { text as barChartText } from "./bar_chart/text.js";
import { text as lineChartText } from "./line_chart/text.js";
import { text as metricCardsText } from "./metric_cards/text.js";
import { text as pieChartText } from "./pie_chart/text.js";
import { text as reportText } from "./report/text.js";
import { text as scatterChartText } from "./scatter_chart/text.js";
import { text as tableText } from "./table/text.js";

/**
 * A component: `draw` gives a template of props that fit the schema, `text` their Markdown; `below`
 * gives what stands below the drawing of a component of the deployer.
 *
 * @typedef {{schema: Record<string, any>, draw: (props: any, page: any) => unknown,
 *   text?: (props: any, writing: any) => string, drawsTitle?: boolean,
 *   below?: (props: any, isStreaming: boolean) => unknown}} Component
 */

/** @type {Record<string, Component>} */
export const OURS = {
  alert: { schema: alertSchema, draw: alert, text: alertText, drawsTitle },
  bar_chart: { schema: barChartSchema, draw: barChart, text: barChartText },
  line_chart: { schema: lineChartSchema, draw: lineChart, text: lineChartText },
  metric_cards: { schema: metricCardsSchema, draw: metricCards, text: metricCardsText },
  pie_chart: { schema: pieChartSchema, draw: pieChart, text: pieChartText },
  report: { schema: reportSchema, draw: report, text: reportText },
  scatter_chart: { schema: scatterChartSchema, draw: scatterChart, text: scatterChartText },
  table: { schema: tableSchema, draw: table, text: tableText },
};
