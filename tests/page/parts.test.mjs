/** Parts as a snapshot tells them, as the accumulator holds them, as the page shows them. */

import assert from "node:assert/strict";
import test from "node:test";
import {
  fromAccumulated,
  imagesOf,
  partsOf,
  textOf,
  toAccumulated,
  withSettled,
} from "../../static/js/parts.js";
import { table } from "./tables.mjs";

const call = (rest) => ({
  type: "tool-call",
  toolCallId: "c",
  toolName: "echo",
  argsText: '{"a": 1}',
  args: { a: 1 },
  ...rest,
});
const running = (rest = {}) => call({ state: "call", status: { type: "running" }, ...rest });
const complete = (rest) =>
  call({ state: "result", result: 7, isError: false, status: { type: "complete" }, ...rest });
const fromSnapshot = (part, timing) => partsOf({ parts: [part], timing })[0];
/** Without what the reader of partial JSON notes under a symbol. */
const plain = (args) => Object.fromEntries(Object.entries(args));

table(
  "a call has the state in which it stands",
  [
    [running({ state: "partial-call" }), true, {}, "writing"],
    [running(), true, {}, "running"],
    [call({ state: "call", status: { type: "complete" } }), true, {}, "pending"],
    [running(), false, {}, "pending"],
    [running(), true, { isGated: true }, "pending"],
    [running({ approval: { id: "c" } }), true, {}, "pending"],
    [complete({}), true, {}, "result"],
    [complete({ isError: true }), false, {}, "error"],
    [complete({ isError: true }), false, { end: "timeout" }, "timeout"],
    [complete({ end: "shown" }), false, {}, "shown"],
  ],
  (part, isLive, told, state) => assert.equal(fromAccumulated(part, isLive, told).state, state),
);

test("the arguments that somebody approves are read from their whole text", () => {
  const given = '{"a": 1, "b": 12}';
  assert.deepEqual(fromAccumulated(running({ argsText: given }), true, { isGated: true }).args, {
    a: 1,
    b: 12,
  });
  assert.deepEqual(fromAccumulated(running({ argsText: given }), true).args, { a: 1 });
  assert.deepEqual(fromAccumulated(running({ argsText: '{"a": ' }), true, { isGated: true }).args, {
    a: 1,
  });
});

test("a call that is over says how long its tool ran, as the server has measured it", () => {
  const measured = { timing: { startedAt: 5, completedAt: 25 } };
  assert.equal(fromAccumulated(complete(measured), true, { ms: 3 }).ms, 3);
  assert.equal(fromAccumulated(complete(measured), true).ms, undefined);
  const over = call({ state: "result", result: 7 });
  assert.equal(fromSnapshot(over, { toolMs: { c: 0 } }).ms, 0);
  assert.equal(fromSnapshot(over, { toolMs: { other: 3 } }).ms, undefined);
  assert.equal(
    fromAccumulated(toAccumulated(fromSnapshot(over, { toolMs: { c: 3 } })), true).ms,
    3,
  );
});

test("a text is open only while its run is live", () => {
  const text = { type: "text", text: "Hi", status: { type: "running" } };
  assert.deepEqual(fromAccumulated(text, true), { type: "text", text: "Hi", open: true });
  assert.equal(fromAccumulated(text, false).open, false);
  assert.equal(fromAccumulated({ ...text, status: { type: "complete" } }, true).open, false);
});

table(
  "a pending call of a loaded thread waits for its approval, or runs on it",
  [
    [{ disposition: "approval", approval: { id: "c" } }, "pending"],
    [{ disposition: "approval", approval: { id: "c", approved: true } }, "running"],
    [{ disposition: "approval", approval: { id: "c", approved: false } }, "declined"],
    // A graph of another's own asks by an interrupt.
    [{ disposition: "server", approval: { id: "c", approved: true } }, "pending"],
  ],
  (told, state) => assert.equal(fromSnapshot(call({ state: "pending", ...told })).state, state),
);

test("arguments that were cut off are shown as far as they came", () => {
  assert.deepEqual(
    plain(fromSnapshot(call({ state: "pending", argsText: '{"a": 1, "b": "te', args: {} })).args),
    { a: 1, b: "te" },
  );
  assert.deepEqual(
    plain(fromSnapshot(call({ state: "pending", argsText: "", args: {} })).args),
    {},
  );
});

test("a part at rest is shown as it is", () => {
  for (const part of [{ type: "text", text: "Hi" }, call({ state: "result", result: 7 })])
    assert.equal(fromSnapshot(part), part);
});

test("a live run goes on from the parts of the snapshot", () => {
  assert.deepEqual(toAccumulated({ type: "text", text: "Hi" }), {
    type: "text",
    text: "Hi",
    status: { type: "running" },
  });
  const partial = toAccumulated(call({ state: "pending", argsText: '{"a": 1, "b' }));
  assert.deepEqual(
    [partial.state, plain(partial.args), partial.status.isArgsComplete],
    ["partial-call", { a: 1 }, false],
  );
  const whole = toAccumulated(call({ state: "pending" }));
  assert.deepEqual([whole.state, whole.status.isArgsComplete], ["call", true]);
  const over = toAccumulated(call({ state: "timeout", result: {}, isError: true }));
  assert.deepEqual([over.state, over.end, over.isError], ["result", "timeout", true]);
  assert.equal(fromAccumulated(over, true).state, "timeout");
});

test("a call comes to its end once", () => {
  const settled = { tool_call_id: "c", end: "result", result: 1, duration_ms: 1500 };
  const [ended, other] = withSettled(
    [call({ state: "running" }), call({ toolCallId: "d", state: "running" })],
    settled,
  );
  assert.deepEqual(
    [ended.state, ended.result, ended.isError, ended.ms],
    ["result", 1, false, 1500],
  );
  assert.equal(other.state, "running");
  assert.equal(withSettled([ended], { ...settled, end: "error", result: 2 })[0], ended);
});

table(
  "only a result and what is shown are no errors",
  [
    ["result", false],
    ["shown", false],
    ["error", true],
    ["timeout", true],
    ["cancelled", true],
    ["declined", true],
  ],
  (end, isError) =>
    assert.equal(
      withSettled([call({})], { tool_call_id: "c", end, result: 1 })[0].isError,
      isError,
    ),
);

test("the text of a message leaves out its thoughts, calls and images", () => {
  const text = (words) => ({ type: "text", text: words });
  const parts = [
    { type: "reasoning", text: "Hm" },
    text("One"),
    call({}),
    { type: "image", image: "data:" },
    text("Two"),
  ];
  assert.equal(textOf({ parts }), "One\n\nTwo");
  assert.deepEqual(imagesOf({ parts }), [parts[3]]);
});
