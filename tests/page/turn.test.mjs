/** A turn while its run is read. */

import assert from "node:assert/strict";
import test from "node:test";
import "./browser.mjs";
import { newAnswer } from "../../static/js/messages.js";
import { Turn } from "../../static/js/turn.js";

const call = (toolCallId) => ({
  type: "tool-call",
  toolCallId,
  toolName: "echo",
  argsText: "{}",
  args: {},
  state: "result",
  result: 1,
  status: { type: "complete" },
});

test("a call shows how long its tool ran once its step has said so", () => {
  const turn = new Turn(newAnswer(), 0);
  const see = (chunk) => turn.see({ chunk: { path: [], ...chunk } }, 900);
  see({ type: "step-start", stepId: "s" });
  for (const number of [0, 1]) {
    see({ type: "part-start", part: { type: "tool-call" } });
    see({ type: "result", path: [number], end: "result" });
  }
  turn.take({ parts: [call("a"), call("b")], status: { type: "running" } });
  const shown = () => turn.shown().parts.map(({ ms }) => ms);
  assert.deepEqual(shown(), [undefined, undefined]);
  see({
    type: "step-finish",
    usage: { inputTokens: 1, outputTokens: 1 },
    timing: { firstTokenMs: 1, modelMs: 2, toolMs: { b: 40 } },
  });
  assert.deepEqual(shown(), [undefined, 40]);
});
