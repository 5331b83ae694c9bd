/** What subagents do under the calls of a run, as the page builds it of the stream. */

import assert from "node:assert/strict";
import test from "node:test";
import "./browser.mjs";
import { isOfSubstep, Substeps } from "../../static/js/substeps.js";

const call = (toolCallId, more = {}) => ({ type: "tool-call", toolCallId, ...more });

function told(...given) {
  const substeps = new Substeps();
  for (const [callId, chunk] of given) substeps.take({ tool_call_id: callId, chunk });
  return substeps;
}

const start = (stepId, agent) => ({ type: "step-start", stepId, agent, path: [] });
const part = (type, more = {}) => ({ type: "part-start", part: { type, ...more }, path: [] });
const delta = (number, textDelta) => ({ type: "text-delta", textDelta, path: [number] });
const end = (type, number, more = {}) => ({ type, path: [number], ...more });

test("two subagents at once stay under their calls", () => {
  const substeps = told(
    ["a", start("s1", "moss")],
    ["b", start("s2", "fern")],
    ["a", part("text")],
    ["b", part("text")],
    ["b", delta(0, "two")],
    ["a", delta(0, "one")],
  );
  const shown = ["a", "b"].map((id) => substeps.under(call(id)).messages);
  assert.deepEqual(
    shown.map(([{ agent, parts }]) => [agent, parts[0].text]),
    [
      ["moss", "one"],
      ["fern", "two"],
    ],
  );
});

test("a subagent of a subagent stands under the call of the other", () => {
  const substeps = told(
    ["a", start("s1")],
    ["a", part("tool-call", { toolCallId: "below", toolName: "ask" })],
    ["a", delta(0, '{"x": 1}')],
    ["a", end("tool-call-args-text-finish", 0)],
    ["below", start("s2")],
    ["below", part("text")],
    ["below", delta(0, "deep")],
    ["below", end("part-finish", 0)],
    ["a", end("result", 0, { result: 2, isError: false, end: "result" })],
  );
  const [inner] = substeps.under(call("a")).messages[0].parts;
  assert.deepEqual(inner.args, { x: 1 });
  assert.equal(inner.state, "result");
  assert.deepEqual(inner.messages[0].parts[0], { type: "text", text: "deep", open: false });
});

test("steps of earlier runs come first, with the ends of their calls, without those cut", () => {
  const waiting = { ...call("w"), state: "pending" };
  const earlier = [
    { id: "e1", parts: [] },
    { id: "e2", parts: [waiting] },
  ];
  const substeps = told(
    ["a", { type: "data", data: [{ name: "step-withdrawn", data: { step_id: "e1" } }] }],
    [
      "a",
      {
        type: "data",
        data: [{ name: "tool-settled", data: { tool_call_id: "w", end: "result", result: 1 } }],
      },
    ],
    ["a", start("s1")],
  );
  const { messages, messagesCut } = substeps.under(call("a", { messages: earlier }));
  assert.deepEqual(
    messages.map(({ id }) => id),
    ["e2", "s1"],
  );
  assert.equal(messages[0].parts[0].state, "result");
  assert.equal(messagesCut, 1);
});

test("a step that is told again was not cut", () => {
  const withdrawn = { name: "step-withdrawn", data: { step_id: "s1" } };
  const substeps = told(
    ["a", start("s1")],
    ["a", { type: "data", data: [withdrawn] }],
    ["a", start("s1")],
  );
  const { messages, messagesCut } = substeps.under(call("a"));
  assert.deepEqual([messages.length, messagesCut], [1, 0]);
});

test("calls below a call that has its end are not open", () => {
  const waiting = { ...call("w"), state: "pending" };
  const messages = [{ id: "e1", parts: [waiting] }];
  const shown = (state) => told().under(call("a", { messages, state })).messages[0].parts[0].state;
  assert.equal(shown("running"), "pending");
  assert.equal(shown("cancelled"), "cancelled");
});

test("a call without subagents is left as it is", () => {
  const part = call("a");
  assert.equal(told(["b", start("s1")]).under(part), part);
});

test("an event of a subagent is told from one of the answer", () => {
  const data = (name) => ({ chunk: { type: "data", data: [{ name }] } });
  assert.ok(isOfSubstep(data("substep")));
  assert.ok(!isOfSubstep(data("custom")));
  assert.ok(!isOfSubstep({ chunk: null }));
});
