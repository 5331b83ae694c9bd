/** Rows of a table, as a person filters and sorts them. */

import assert from "node:assert/strict";
import test from "node:test";
import { formatterOf } from "../../static/js/format.js";
import { found, ordered } from "../../static/components/table/rows.js";

const ROWS = [
  ["Plant 10", 5, true],
  ["plant 9", null, false],
  ["Roof", -1, null],
];
const names = (rows) => rows.map(([name]) => name);
const FORMATS = [String, String, String];
const named = (words) => names(found(ROWS, words, FORMATS));

test("a row is found when each word stands in one of its cells", () => {
  assert.deepEqual(named(""), ["Plant 10", "plant 9", "Roof"]);
  assert.deepEqual(named(" PLANT "), ["Plant 10", "plant 9"]);
  assert.deepEqual(named("plant 5"), ["Plant 10"]);
  assert.deepEqual(named("garden"), []);
});

test("a row is found by a number as it is shown, and as it came", () => {
  const format = formatterOf("kW", [1200.5]);
  const rows = [[1200.5], [7]];
  for (const words of ["1,200.5", "1200.5"])
    assert.deepEqual(found(rows, words, [format]), [[1200.5]]);
});

test("numbers are ordered by size, texts as people do it, and gaps come last either way", () => {
  assert.deepEqual(names(ordered(ROWS, 0, false)), ["plant 9", "Plant 10", "Roof"]);
  assert.deepEqual(names(ordered(ROWS, 0, true)), ["Roof", "Plant 10", "plant 9"]);
  assert.deepEqual(names(ordered(ROWS, 1, false)), ["Roof", "Plant 10", "plant 9"]);
  assert.deepEqual(names(ordered(ROWS, 1, true)), ["Plant 10", "Roof", "plant 9"]);
  assert.equal(ordered(ROWS, null, true), ROWS);
});
