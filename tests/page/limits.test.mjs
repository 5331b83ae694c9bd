/** The sentence for a limit that was reached. */

import assert from "node:assert/strict";
import { table } from "./tables.mjs";

process.env.TZ = "Europe/Berlin";
const { limitWords } = await import("../../static/js/limits.js");

const NOW = new Date(2026, 2, 30, 12, 0, 30);
const LIMIT = { limit: "requests_per_minute", value: 5, detail: "Too many." };
const WHICH = "You have reached your limit of requests per minute (5).";

table(
  "a limit is named with the time to try again",
  [
    [LIMIT, 1, `${WHICH} Try again in 1 second.`],
    [LIMIT, 42, `${WHICH} Try again in 42 seconds.`],
    [LIMIT, 90, `${WHICH} Try again in 90 seconds.`],
    [LIMIT, 91, `${WHICH} Try again at 12:03.`],
    [LIMIT, 7200, `${WHICH} Try again at 14:01.`],
    [LIMIT, 90_000, `${WHICH} Try again on March 31 at 13:01.`],
    [LIMIT, null, `${WHICH} Try again later.`],
    [
      { limit: "tokens", value: 100_000 },
      null,
      "You have reached your limit of tokens (100,000). Try again later.",
    ],
    [{ limit: "Runs" }, null, "You have reached your limit of runs. Try again later."],
    [{ detail: "Too many." }, 5, "Too many. Try again in 5 seconds."],
    [{}, 5, "Try again in 5 seconds."],
  ],
  (body, seconds, words) => assert.equal(limitWords(body, seconds, NOW), words),
);
