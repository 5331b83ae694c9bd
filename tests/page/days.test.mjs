/** The days of a list, by the clock of the reader. */

import assert from "node:assert/strict";
import test from "node:test";
import "./language.mjs";
import { table } from "./tables.mjs";

// Its clocks went forward in the night before NOW: the day before has 23 hours.
process.env.TZ = "Europe/Berlin";
const { byDay, dayOf, shortMoment } = await import("../../static/js/days.js");

const NOW = new Date(2026, 2, 30, 0, 30);
const at = (...parts) => new Date(...parts).toISOString();

table(
  "a thread stands under the day of its last turn",
  [
    [[2026, 2, 30, 0, 10], "Today", "00:10"],
    [[2026, 2, 30, 0, 0], "Today", "00:00"],
    [[2026, 2, 29, 0, 1], "Yesterday", "00:01"],
    [[2026, 2, 28, 23, 59], "Previous 7 days", "Mar 28"],
    [[2026, 2, 23, 0, 0], "Previous 7 days", "Mar 23"],
    [[2026, 2, 22, 12], "Previous 30 days", "Mar 22"],
    [[2026, 2, 1], "Previous 30 days", "Mar 1"],
    [[2026, 1, 28], "Previous 30 days", "Feb 28"],
    [[2026, 1, 27, 23, 59], "February 2026", "Feb 27"],
    [[2026, 1, 3], "February 2026", "Feb 3"],
    [[2025, 11, 31], "December 2025", "Dec 31, 2025"],
  ],
  (parts, day, moment) => {
    assert.equal(dayOf(at(...parts), NOW), day);
    assert.equal(shortMoment(at(...parts), NOW), moment);
  },
);

test("a text that is no instant has no time", () => assert.equal(shortMoment("soon", NOW), ""));

test("pinned threads come first, archived ones stand under their days", () => {
  const today = at(2026, 2, 30, 0, 10);
  const older = at(2026, 1, 3);
  const threads = [
    { id: "a", pinned: true, updated_at: older },
    { id: "b", updated_at: today },
    { id: "c", pinned: true, archived: true, updated_at: older },
    { id: "d", updated_at: older },
  ];
  const listed = byDay(threads, NOW).map(([heading, under]) => [
    heading,
    under.map(({ id }) => id),
  ]);
  assert.deepEqual(listed, [
    ["Pinned", ["a"]],
    ["Today", ["b"]],
    ["February 2026", ["c", "d"]],
  ]);
});
