/** Numbers, times and values as a person reads them. */

import assert from "node:assert/strict";
import test from "node:test";
import { table } from "./tables.mjs";

process.env.TZ = "Europe/Berlin";
const {
  formatDate,
  formatInstant,
  formatMoment,
  formatMs,
  formatValue,
  formatterOf,
  isDate,
  paragraphs,
  shortDates,
} = await import("../../static/js/format.js");

table(
  "years, codes and ids are written without separators, quantities with them",
  [
    ["error_code", [3105, 12007], ["3105", "12007"]],
    ["Error code", [3105], ["3105"]],
    ["errorCode", [3105], ["3105"]],
    ["Number of codes", [3105], ["3,105"]],
    ["number_of_codes", [3105], ["3,105"]],
    ["code count", [3105], ["3,105"]],
    ["kWh", [3105, 1], ["3,105", "1"]],
    ["year", [2024, 2025], ["2024", "2025"]],
    ["Energy this year", [31050], ["31,050"]],
    ["Saved per year", [2050], ["2,050"]],
    ["kWh / year", [2050], ["2,050"]],
    ["", [2019, 2020, 2021], ["2019", "2020", "2021"]],
    ["", [2019, 2101], ["2,019", "2,101"]],
    ["", [1500, 2, 3, 4], ["1,500", "2", "3", "4"]],
    ["id", [1234.5], ["1,234.5"]],
    ["valid", [3105], ["3,105"]],
    ["zip", [12007, null, "x"], ["12007", "–", "x"]],
  ],
  (heading, values, texts) => assert.deepEqual(values.map(formatterOf(heading, values)), texts),
);

table(
  "a cell shows a number with separators, and a dash for nothing",
  [
    [1200.5, "1,200.5"],
    [0.12345678, "0.123457"],
    [0, "0"],
    [null, "–"],
    [undefined, "–"],
    ["", ""],
    [false, "false"],
  ],
  (value, text) => assert.equal(formatValue(value), text),
);

table(
  "a duration has the unit of its size",
  [
    [0.4, "0 ms"],
    [999, "999 ms"],
    [1000, "1.0 s"],
    [1500, "1.5 s"],
    [60_000, "1 min 0 s"],
    [125_400, "2 min 5 s"],
  ],
  (ms, text) => assert.equal(formatMs(ms), text),
);

table(
  "plain dates are known, with or without a time, and without a zone",
  [
    ["2024-03-31", true],
    ["2024-03-31T01:00", true],
    ["2024-03-31 01:00:30.5", true],
    ["2024-03-31T01:00Z", false],
    ["2024-03", false],
    ["on 2024-03-31", false],
    [20240331, false],
  ],
  (value, expected) => assert.equal(isDate(value), expected),
);

table(
  "dates of an axis are as short as they can be told apart",
  [
    [["2024-03-01", "2024-03-02"], { labels: ["1 Mar", "2 Mar"], shared: "2024" }],
    [
      ["2024-03-31T01:00:30", "2024-03-31T02:30"],
      { labels: ["01:00", "02:30"], shared: "Mar 31, 2024" },
    ],
    [["2024-03-31T01:00", "2024-04-01T01:00"], { labels: ["31 Mar", "1 Apr"], shared: "2024" }],
    [["2023-12-31", "2024-01-01"], { labels: ["2023-12-31", "2024-01-01"] }],
    [
      ["2024-03-31T01:00", "2024-03-31T02:00", "2024-04-01T01:00"],
      { labels: ["2024-03-31 01:00", "2024-03-31 02:00", "2024-04-01 01:00"] },
    ],
    [["2024-13-01", "2024-13-02"], { labels: ["2024-13-01", "2024-13-02"] }],
    [["2024-03-01", "March"], null],
    [["2024-03-01"], null],
  ],
  (texts, labels) => assert.deepEqual(shortDates(texts), labels),
);

test("a plain date is that day in every time zone, and no date stays as it is", () => {
  assert.equal(formatDate("2024-01-20"), "Jan 20, 2024");
  assert.equal(formatDate("soon"), "soon");
});

test("a moment is told by the clock of the reader, without the day if that is today", () => {
  const now = new Date(2026, 2, 30, 12);
  assert.equal(formatMoment("2026-03-30T07:05:09Z", now), "09:05");
  assert.equal(formatMoment("2026-03-28T23:30:00Z", now), "Mar 29, 2026, 00:30");
  assert.equal(formatInstant("2026-03-30T07:05:09Z", now), "09:05:09");
  assert.equal(formatInstant("2026-03-28T23:30:00Z", now), "Mar 29, 2026, 00:30:00");
  assert.equal(formatMoment("soon", now), "");
});

test("paragraphs leave out what is empty", () => {
  assert.equal(paragraphs("One", " \n", "", "Two"), "One\n\nTwo");
  assert.equal(paragraphs("", ""), "");
});
