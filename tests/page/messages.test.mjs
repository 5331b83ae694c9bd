/** The messages of a thread as the page holds them. */

import assert from "node:assert/strict";
import test from "node:test";
import {
  hydrated,
  joined,
  newAnswer,
  newQuestion,
  restored,
  settledIn,
  upTo,
} from "../../static/js/messages.js";

const said = (id, rest = {}) => ({
  id,
  role: "assistant",
  parts: [{ type: "text", text: id }],
  steps: [],
  ...rest,
});
const ids = (messages) => messages.map(({ id }) => id);
const keys = (messages) => messages.map(({ key }) => key);

test("a message that is known keeps its key and what only the page knows", () => {
  const [first] = hydrated([said("a")], []);
  const [again, other] = hydrated([said("a"), said("b")], [{ ...first, timing: { totalMs: 5 } }]);
  assert.equal(again.key, first.key);
  assert.deepEqual([again.timing, other.timing], [{ totalMs: 5 }, undefined]);
  assert.notEqual(other.key, first.key);
});

test("another version of a message has nothing of what was measured for the first", () => {
  const shown = hydrated([said("a", { version: "v1" })], []).map((message) => ({
    ...message,
    timing: { totalMs: 5 },
  }));
  const [other] = hydrated([said("a", { version: "v2" })], shown);
  assert.equal(other.key, shown[0].key);
  assert.equal(other.timing, undefined);
});

test("speakers are kept over a load, which names none, as long as the parts are the same", () => {
  const shown = [
    said("a", {
      key: "k",
      parts: [{ type: "text", text: "a", stepId: "s" }],
      steps: [{ stepId: "s", node: "writer", usage: 1 }],
    }),
  ];
  const loaded = said("a", { steps: [{ stepId: "s", usage: 2 }] });
  const [message] = hydrated([loaded], shown);
  assert.deepEqual(message.steps, [
    { stepId: "s", node: "writer", namespace: undefined, usage: 2 },
  ]);
  assert.equal(message.parts[0].stepId, "s");
  const [longer] = hydrated([{ ...loaded, parts: [...loaded.parts, ...loaded.parts] }], shown);
  assert.deepEqual([longer.parts[0].stepId, longer.steps[0].node], [undefined, undefined]);
});

test("the newest messages join the earlier ones that are shown, or take their place if there may be a gap", () => {
  const shown = hydrated(
    ["a", "b", "c"].map((id) => said(id)),
    [],
  );
  const snapshot = (has_earlier, ...newest) => ({
    messages: newest.map((id) => said(id)),
    has_earlier,
  });
  const together = joined(snapshot(true, "b", "c", "d"), shown, false);
  assert.deepEqual([ids(together.messages), together.hasEarlier], [["a", "b", "c", "d"], false]);
  assert.equal(together.messages[0], shown[0]);
  assert.deepEqual(keys(together.messages).slice(0, 3), keys(shown));
  const apart = joined(snapshot(true, "x", "y"), shown, false);
  assert.deepEqual([ids(apart.messages), apart.hasEarlier], [["x", "y"], true]);
  // All messages of the thread: what was shown before them is gone.
  const all = joined(snapshot(false, "b", "c"), shown, true);
  assert.deepEqual([ids(all.messages), all.hasEarlier], [["b", "c"], false]);
});

test("messages of a moment ago come back with those that were loaded before them meanwhile", () => {
  const [a, b, c] = hydrated(
    ["a", "b", "c"].map((id) => said(id)),
    [],
  );
  assert.deepEqual(ids(restored([b, c], [a, b])), ["a", "b", "c"]);
  assert.deepEqual(ids(restored([c], [a, b])), ["c"]);
});

test("all messages stand before an unknown one", () => {
  const messages = ["a", "b", "c"].map((id) => said(id));
  assert.deepEqual([ids(upTo(messages, "b")), ids(upTo(messages, "x"))], [["a"], ["a", "b", "c"]]);
});

test("only the message of a call that has ended is another object", () => {
  const call = { type: "tool-call", toolCallId: "c", state: "running" };
  const messages = [said("a"), said("b", { parts: [call] })];
  const [first, second] = settledIn(messages, { tool_call_id: "c", end: "result", result: 1 });
  assert.equal(first, messages[0]);
  assert.deepEqual([second.parts[0].state, messages[1].parts[0].state], ["result", "running"]);
});

test("new messages have no id yet, but a key of their own", () => {
  const question = newQuestion("Hi", [{ type: "image", image: "data:" }]);
  assert.deepEqual(
    [question.id, question.role, question.parts.map(({ type }) => type)],
    [null, "user", ["image", "text"]],
  );
  assert.deepEqual(newQuestion("").parts, []);
  assert.notEqual(question.key, newAnswer().key);
});
