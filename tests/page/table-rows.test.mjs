/** Rows of a table, as a person filters and sorts them. */

import assert from "node:assert/strict";
import test from "node:test";
import { found, ordered } from "../../static/components/table/rows.js";

const ROWS = [
  ["Plant 10", 5, true],
  ["plant 9", null, false],
  ["Roof", -1, null],
];
const names = (rows) => rows.map(([name]) => name);

test("a row is found when each word stands in one of its cells", () => {
  assert.deepEqual(names(found(ROWS, "")), ["Plant 10", "plant 9", "Roof"]);
  assert.deepEqual(names(found(ROWS, " PLANT ")), ["Plant 10", "plant 9"]);
  assert.deepEqual(names(found(ROWS, "plant 5")), ["Plant 10"]);
  assert.deepEqual(names(found(ROWS, "garden")), []);
});

test("numbers are ordered by size, texts as people do it, and gaps come last either way", () => {
  assert.deepEqual(names(ordered(ROWS, 0, false)), ["plant 9", "Plant 10", "Roof"]);
  assert.deepEqual(names(ordered(ROWS, 0, true)), ["Roof", "Plant 10", "plant 9"]);
  assert.deepEqual(names(ordered(ROWS, 1, false)), ["Roof", "Plant 10", "plant 9"]);
  assert.deepEqual(names(ordered(ROWS, 1, true)), ["Plant 10", "Roof", "plant 9"]);
  assert.equal(ordered(ROWS, null, true), ROWS);
});
