/** The props of the components, checked again in the browser. */

import assert from "node:assert/strict";
import test from "node:test";
import { isComponent, partial, whole } from "../../static/js/components/props.js";
import { table } from "./tables.mjs";

const SERIES = [{ name: "a", data: [1, null] }];
const LINES = { x: [1, 2], series: SERIES };
const BARS = { categories: ["a", "b"], series: SERIES };
const TABLE = { columns: [{ key: "k", label: "K" }], rows: [{ k: 1, l: "x", m: null, n: true }] };
const CARDS = {
  cards: [
    { label: "Yield", value: 1, unit: "kW", delta: "+1" },
    { label: "Faults", value: null },
  ],
};
const times = (count, value) => Array(count).fill(value);

table(
  "props that fit are drawn",
  [
    ["line_chart", LINES],
    ["line_chart", { x: times(500, 1), series: times(8, { name: "a", data: times(500, 1) }) }],
    ["bar_chart", { ...BARS, title: "T", x_label: "x", y_label: "y" }],
    ["table", TABLE],
    ["table", { ...TABLE, rows: [] }],
    ["metric_cards", CARDS],
    ["report", { markdown: "" }],
    ["alert", { message: "On", tone: "danger" }],
  ],
  (component, props) =>
    assert.deepEqual(
      { ...whole(component, props), tone: props.tone },
      { ...props, tone: props.tone },
    ),
);

table(
  "props that do not fit are not drawn",
  [
    ["pie_chart", {}],
    ["constructor", {}],
    [["line_chart"], LINES],
    ["line_chart", null],
    ["line_chart", [LINES]],
    ["line_chart", { ...LINES, title: 7 }],
    ["line_chart", { ...LINES, x: [1] }],
    ["line_chart", { ...LINES, x: [1, 2, 3] }],
    ["line_chart", { ...LINES, series: [] }],
    ["line_chart", { ...LINES, series: [{ name: "a", data: [1, "2"] }] }],
    ["line_chart", { ...LINES, series: [{ data: [1, 2] }] }],
    ["line_chart", { x: times(501, 1), series: [{ name: "a", data: times(501, 1) }] }],
    ["line_chart", { ...LINES, series: times(9, SERIES[0]) }],
    ["line_chart", { ...LINES, x: [1, Infinity] }],
    ["bar_chart", { ...BARS, categories: [1, 2] }],
    ["table", { ...TABLE, columns: "k" }],
    ["table", { ...TABLE, columns: [] }],
    ["table", { ...TABLE, rows: [{ k: { deep: 1 } }] }],
    ["table", { ...TABLE, rows: times(201, {}) }],
    ["metric_cards", { cards: [{ label: "a", value: true }] }],
    ["metric_cards", { cards: times(13, CARDS.cards[1]) }],
    ["report", { markdown: 7 }],
    ["report", { markdown: "", title: 7 }],
    ["alert", {}],
  ],
  (component, props) => assert.equal(whole(component, props), null),
);

test("an unknown tone is none", () => {
  assert.equal(whole("alert", { message: "On", tone: 'danger" onclick=' }).tone, undefined);
  assert.equal(partial("alert", { message: "On", tone: "toString" }).tone, undefined);
  assert.equal(partial("alert", { message: "On", tone: "info" }).tone, "info");
});

test("a component is one of ours", () => {
  assert.deepEqual(["report", "hasOwnProperty", "", undefined].map(isComponent), [
    true,
    false,
    false,
    false,
  ]);
});

table(
  "props that still stream are drawn as soon as there is something to draw",
  [
    ["line_chart", {}, null],
    ["line_chart", { x: [1, 2] }, null],
    ["line_chart", { x: [1, 2], series: [{ name: "a", data: [] }] }, null],
    ["line_chart", { x: [1], series: [{ name: "a", data: [1] }] }, null],
    [
      "line_chart",
      { title: "T", x: [1, 2], series: [{ data: [1, "x"] }] },
      { title: "T", x: [1, 2], series: [{ name: "", data: [1] }] },
    ],
    [
      "bar_chart",
      { categories: ["a"], series: SERIES, evil: 1 },
      { categories: ["a"], series: SERIES },
    ],
    ["table", { columns: TABLE.columns }, null],
    [
      "table",
      { columns: TABLE.columns, rows: [{ k: 1 }, "x"] },
      { columns: TABLE.columns, rows: [{ k: 1 }] },
    ],
    ["metric_cards", { cards: [{ label: "Yield" }] }, null],
    ["metric_cards", { cards: [CARDS.cards[0], { label: "Fau" }] }, { cards: [CARDS.cards[0]] }],
    ["report", { title: 7, markdown: "## O" }, { markdown: "## O" }],
    ["alert", {}, null],
    ["pie_chart", { x: [1, 2] }, null],
    ["report", undefined, null],
  ],
  (component, props, drawn) => {
    const { tone: _, ...shown } = partial(component, props) ?? { nothing: true };
    assert.deepEqual(shown, drawn ?? { nothing: true });
  },
);
