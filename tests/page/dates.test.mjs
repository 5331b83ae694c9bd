/** Dates in texts, which no line break may cut. */

import assert from "node:assert/strict";
import test from "node:test";
import "./browser.mjs";
import { withDates } from "../../static/js/dates.js";
import { table } from "./tables.mjs";

const shown = (text) =>
  withDates(text)
    .filter((piece) => typeof piece === "object")
    .map(({ values: [date] }) => date);
const words = (text) =>
  withDates(text)
    .map((piece) => (typeof piece === "object" ? piece.values[0] : piece))
    .join("");

table(
  "dates and months are found, and no other number",
  [
    ["2024-03-31", ["2024-03-31"]],
    ["From 2024-03-31T01:00 to 2024-04-01.", ["2024-03-31T01:00", "2024-04-01"]],
    ["2024-03-31T01:00:00.5Z", ["2024-03-31T01:00:00.5Z"]],
    ["2024-03, 2024-12-31 and (2024-04)", ["2024-03", "2024-12-31", "2024-04"]],
    ["Call 030-2024-05", []],
    ["12024-03", []],
    ["2024-03155", []],
    ["2024-03-1", []],
    ["2024-23", []],
    ["2024", []],
  ],
  (text, dates) => assert.deepEqual(shown(text), dates),
);

test("the words around dates stay as they are", () => {
  const text = "From 2024-03-31T01:00 to 2024-04, and on. ";
  assert.equal(words(text), text);
  assert.deepEqual(withDates(7), ["7"]);
});
