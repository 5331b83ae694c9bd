/** The slices of a pie chart. */

import assert from "node:assert/strict";
import test from "node:test";
import "./browser.mjs";

const { slicesOf } = await import("../../static/components/pie_chart/draw.js");
const pie = (...data) => ({ categories: ["a", "b", "c"], series: [{ name: "n", data }] });

test("slices follow each other, each with its value and its share", () => {
  assert.deepEqual(slicesOf(pie(1, 2, 1)), [
    { from: 0, to: 0.25, words: "a: 1 (25%)" },
    { from: 0.25, to: 0.75, words: "b: 2 (50%)" },
    { from: 0.75, to: 1, words: "c: 1 (25%)" },
  ]);
});

test("a pie of nothing has slices without a share", () => {
  assert.deepEqual(
    slicesOf(pie(0, 0)).map(({ words }) => words),
    ["a: 0 (0%)", "b: 0 (0%)"],
  );
});
