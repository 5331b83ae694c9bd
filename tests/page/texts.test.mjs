/** Texts of a catalogue, and what stands in for those that it lacks. */

import assert from "node:assert/strict";
import test from "node:test";

const told = (settings) => ({ getElementById: () => ({ textContent: JSON.stringify(settings) }) });
globalThis.document = told({
  locale: "pl",
  texts: {
    Send: "Wyślij",
    "by {name}": "przez {name}",
    "problem.queue_full": "Czeka już {value} wiadomości.",
    "problem.thread_not_found": "Nie ma tego wątku.",
    "{count} steps": { one: "{count} krok", few: "{count} kroki", other: "{count} kroków" },
  },
});
const { plural, t } = await import("../../static/js/texts.js");
const { Problem } = await import("../../static/js/api.js");
const { formatDate, formatNumber } = await import("../../static/js/format.js");

test("a text is that of the catalogue, with its values", () => {
  assert.equal(t("Send"), "Wyślij");
  assert.equal(t("by {name}", { name: "{name}" }), "przez {name}");
  assert.equal(t("Stop"), "Stop");
});

test("a number has the form that its language has for it", () => {
  const steps = (count) => plural(count, "{count} step", "{count} steps");
  assert.deepEqual([1, 3, 5].map(steps), ["1 krok", "3 kroki", "5 kroków"]);
  const rows = (count) => plural(count, "{count} row", "{count} rows");
  assert.deepEqual([0, 1, 2].map(rows), ["0 rows", "1 row", "2 rows"]);
});

test("a problem has the text of its code, with fields that the problem has", () => {
  const refused = (body) => new Problem(409, { detail: "In English.", ...body }).message;
  assert.equal(refused({ code: "queue_full", value: 1200 }), "Czeka już 1200 wiadomości.");
  assert.equal(refused({ code: "queue_full" }), "In English.");
  assert.equal(refused({ code: "thread_not_found" }), "Nie ma tego wątku.");
  assert.equal(refused({ code: "unknown_message" }), "In English.");
});

test("dates and numbers are written as the language does", () => {
  assert.equal(formatNumber(12345.5).replace(/\s/, " "), "12 345,5");
  assert.equal(formatDate("2026-03-01"), "1 mar 2026");
});
