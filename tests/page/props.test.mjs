/** The props of the components, checked again in the browser. */

import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";
import { partial, whole, withTitle } from "../../static/js/props.js";
import { table } from "./tables.mjs";

const schemaOf = (component) => {
  const path = new URL(`../../static/components/${component}/schema.json`, import.meta.url);
  return withTitle(JSON.parse(fs.readFileSync(path)));
};

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
  (component, props) => assert.equal(whole(schemaOf(component), props), props),
);

table(
  "props that do not fit are not drawn",
  [
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
    ["alert", { message: "On", tone: 'danger" onclick=' }],
    ["alert", { message: "On", extra: 1 }],
    ["alert", { message: "x".repeat(2001) }],
  ],
  (component, props) => assert.equal(whole(schemaOf(component), props), null),
);

table(
  "props that still stream are drawn as soon as there is something to draw",
  [
    ["line_chart", {}, null],
    ["line_chart", { x: [1, 2] }, null],
    ["line_chart", { x: [1, 2], series: [] }, null],
    ["line_chart", { x: [1, 2], series: [{ data: [1] }] }, null],
    ["line_chart", { x: [1], series: [{ name: "a", data: [1] }] }, null],
    [
      "line_chart",
      { title: "T", x: [1, 2], series: [{ name: "a", data: [1, "x"] }] },
      { title: "T", x: [1, 2], series: [{ name: "a", data: [1] }] },
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
    ["alert", { message: "On", tone: "dan" }, { message: "On" }],
    ["report", undefined, null],
  ],
  (component, props, drawn) => assert.deepEqual(partial(schemaOf(component), props), drawn),
);

test("props that a schema says nothing of may be nested to any depth", () => {
  let deep = 1;
  for (let level = 0; level < 20_000; level++) deep = [deep];
  const props = { deep };
  assert.equal(whole({ type: "object", properties: {} }, props), props);
  assert.deepEqual(partial({ type: "object", properties: {} }, props), props);
});

const OBJECT = (value) => ({ type: "object", properties: { value }, required: ["value"] });

table(
  "a schema says what fits, as on the server",
  [
    [{ type: "integer", minimum: 1 }, [1, 2.0], [0, 1.5, "1", true, null]],
    [{ type: ["number", "null"], maximum: 2 }, [2, null, -1], [3, "1"]],
    [{ type: "string", minLength: 1, maxLength: 2 }, ["a", "😀😀"], ["", "abc", 1]],
    [{ enum: ["a"] }, ["a"], ["b", null, ["a"]]],
    [{ type: "boolean" }, [true], [0, "true"]],
    [{ type: "object", additionalProperties: { type: "number" } }, [{}, { a: 1 }], [{ a: "1" }]],
    [{ type: "object" }, [{}, { a: [1] }], [[], null]],
  ],
  (schema, fitting, others) => {
    for (const value of fitting) assert.ok(whole(OBJECT(schema), { value }), String(value));
    for (const value of others) assert.equal(whole(OBJECT(schema), { value }), null);
  },
);
