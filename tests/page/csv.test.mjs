/** Rows as CSV. */

import assert from "node:assert/strict";
import test from "node:test";
import "./browser.mjs";
import { toCsv } from "../../static/js/csv.js";
import { table } from "./tables.mjs";

table(
  "a cell is written so that it is read as it was",
  [
    ["plain", "plain"],
    ["a,b", '"a,b"'],
    ['say "a"', '"say ""a"""'],
    ["two\nlines", '"two\nlines"'],
    ["two\r\nlines", '"two\r\nlines"'],
    ["", ""],
    [null, ""],
    [undefined, ""],
    [1200.5, "1200.5"],
    [0, "0"],
    [false, "false"],
  ],
  (value, text) => assert.equal(toCsv([[value]]), text),
);

table(
  "a text that a spreadsheet would run as a formula is a text there",
  [
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["\t=1", "'\t=1"],
    ["\r=1", '"\'\r=1"'],
    ['=HYPERLINK("x")', '"\'=HYPERLINK(""x"")"'],
    ["a=1", "a=1"],
  ],
  (value, text) => assert.equal(toCsv([[value]]), text),
);

test("a negative number stays a number", () => assert.equal(toCsv([[-1, -0.5]]), "-1,-0.5"));

test("rows end with CR and LF, but for the last one", () =>
  assert.equal(
    toCsv([
      ["a", "b"],
      [1, 2],
    ]),
    "a,b\r\n1,2",
  ));
