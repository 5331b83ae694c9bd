/** Calls that wait, or waited, for an approval. */

import assert from "node:assert/strict";
import test from "node:test";
import {
  decisionOf,
  decisionsBut,
  isOnItsWay,
  isUndecided,
  stateOf,
  undecided,
  withApproval,
} from "../../static/js/approvals.js";
import { table } from "./tables.mjs";

const call = (id, approval, state = "pending") => ({
  type: "tool-call",
  toolCallId: id,
  state,
  approval,
});
const failed = (code) => ({ error: { code } });

table(
  "a decision is named with who made it and why",
  [
    [
      { approved: true, by: "Ann" },
      undefined,
      { words: "Approved", by: "Ann", reason: undefined, isApproved: true },
    ],
    [
      { approved: true, reason: "Go on" },
      failed("tool_failed"),
      { words: "Approved", by: undefined, reason: "Go on", isApproved: true },
    ],
    [
      { approved: true, args: {} },
      undefined,
      {
        words: "Approved with changed arguments",
        by: undefined,
        reason: undefined,
        isApproved: true,
      },
    ],
    [
      { approved: false, by: "Ann", reason: "No." },
      failed("declined"),
      { words: "Declined", by: "Ann", reason: "No.", isApproved: false },
    ],
    [{}, failed("not_answered"), { words: "Not answered", isApproved: null }],
    [{}, failed("approval_expired"), { words: "Nobody decided in time", isApproved: null }],
    [{}, undefined, { words: "Not answered", isApproved: null }],
  ],
  (approval, result, words) => assert.deepEqual(decisionOf({ approval, result }), words),
);

test("a call waits for a decision until the server has one", () => {
  assert.equal(isUndecided(call("c", { id: "c" })), true);
  assert.equal(isUndecided(call("c", { id: "c", approved: false })), false);
  assert.equal(isUndecided(call("c", undefined)), false);
  assert.equal(isUndecided(call("c", { id: "c" }, "result")), false);
  assert.equal(isUndecided({ type: "text", text: "" }), false);
});

test("a call without a result waits, runs or is declined as was decided", () => {
  assert.deepEqual([{}, { approved: true }, { approved: false }].map(stateOf), [
    "pending",
    "running",
    "declined",
  ]);
});

test("a decision on one call leaves the others as they are", () => {
  const parts = [call("a", { id: "a" }), call("b", { id: "b" })];
  const [first, second] = withApproval(parts, {
    tool_call_id: "b",
    approval: { id: "b", approved: true },
  });
  assert.equal(first, parts[0]);
  assert.deepEqual([second.state, second.approval.approved], ["running", true]);
});

test("a decision is for the question of its id alone", () => {
  const message = { parts: [call("a", { id: "a.2" }), call("b", { id: "b", approved: true })] };
  assert.equal(undecided(message, "a.2"), message.parts[0]);
  assert.equal(undecided(message, "a"), undefined);
  assert.equal(undecided(message, "b"), undefined);
  assert.equal(undefined, undecided(undefined, "a"));
});

test("a decision is on its way while it waits and while it is sent", () => {
  const decisions = { a: { state: "waiting" }, b: { state: "sending" }, c: { state: "failed" } };
  assert.deepEqual(Object.values(decisions).map(isOnItsWay), [true, true, false]);
  assert.equal(isOnItsWay(undefined), false);
  assert.deepEqual(Object.keys(decisionsBut(decisions, "sending")), ["a", "c"]);
});
