/** Steps that interleave, that are withdrawn, and that several nodes speak in. */

import assert from "node:assert/strict";
import test from "node:test";
import { speakerOf, speakersOf, Steps } from "../../static/js/steps.js";
import { Turn } from "../../static/js/turn.js";
import { table } from "./tables.mjs";

const started = (stepId, node, ...namespace) => ({ stepId, node, namespace });
const spoken = (...stepIds) => stepIds.map((stepId) => ({ type: "text", stepId }));

/**
 * Steps of a run, of which these chunks were seen: `["start", id]`, `["part", id?]`, `["withdraw",
 * id, ...parts]`.
 */
function seen(chunks, { known = [], partCount = 0 } = {}) {
  const steps = new Steps(
    known.map((stepId) => ({ stepId })),
    partCount,
  );
  for (const [kind, stepId, ...parts] of chunks) {
    if (kind === "start") steps.start({ stepId });
    else if (kind === "part") steps.startPart({ stepId });
    else steps.withdraw({ step_id: stepId, parts });
  }
  return steps;
}

table(
  "parts stand step by step, in the order in which the steps started",
  [
    [[["start", "a"], ["part"], ["start", "b"], ["part"]], 2, [0, 1]],
    [[["start", "a"], ["part"], ["start", "b"], ["part"], ["part", "a"]], 3, [0, 2, 1]],
    [
      [
        ["start", "a"],
        ["start", "b"],
        ["part", "b"],
        ["part", "a"],
      ],
      2,
      [1, 0],
    ],
    [[["part", "x"], ["start", "a"], ["part"], ["part", "x"]], 3, [0, 2, 1]],
    // A step that is withdrawn starts anew behind those that started meanwhile.
    [
      [
        ["start", "a"],
        ["part"],
        ["start", "b"],
        ["part"],
        ["withdraw", "a", 0],
        ["start", "a"],
        ["part"],
      ],
      3,
      [1, 2],
    ],
    [[["start", "a"], ["part"], ["part"], ["withdraw", "a", 0, 1]], 2, []],
  ],
  (chunks, count, order) => assert.deepEqual(seen(chunks).order(count), order),
);

test("a part without a step belongs to the one that started last", () => {
  const steps = seen([["start", "a"], ["start", "b"], ["part"], ["part", "a"]]);
  assert.deepEqual([steps.ownerOf(0), steps.ownerOf(1)], ["b", "a"]);
  assert.equal(seen([["part"]], { known: ["a", "b"], partCount: 3 }).ownerOf(3), "b");
});

table(
  "a run that is read from its middle is unsure once its parts cannot be told apart",
  [
    [[["part", "a"]], { partCount: 2, known: ["a"] }, true],
    [[["part"]], { partCount: 2, known: ["a"] }, false],
    [
      [
        ["start", "a"],
        ["part", "a"],
      ],
      {},
      false,
    ],
  ],
  (chunks, before, isUnsure) => assert.equal(seen(chunks, before).isUnsure, isUnsure),
);

test("a chunk of a part that was not seen to start leaves the order unsure", () => {
  const steps = seen([["start", "a"], ["part"]]);
  steps.seePart(0);
  assert.equal(steps.isUnsure, false);
  steps.seePart(1);
  assert.equal(steps.isUnsure, true);
});

test("a step keeps its node when it has ended, and its use of tokens", () => {
  const steps = new Steps([]);
  steps.start(started("a", "agent", "team:1"));
  steps.start(started("b", "writer"));
  steps.finish({ stepId: "a", usage: 1, model: "m" });
  steps.finish({ usage: 2 });
  assert.deepEqual(steps.list, [
    { stepId: "a", node: "agent", namespace: ["team:1"], usage: 1, model: "m" },
    { stepId: "b", node: "writer", namespace: [], usage: 2 },
  ]);
});

test("a node is named with the subgraphs around it", () => {
  assert.equal(speakerOf(started("a", "writer", "team:1", "desk:2")), "team · desk · writer");
  assert.equal(speakerOf({ node: "agent" }), "agent");
});

test("a speaker is named where the speaker changes", () => {
  const steps = [started("a", "researcher", "team:1"), started("b", "writer", "team:1", "desk:2")];
  const parts = spoken("a", "a", "b", "a");
  assert.deepEqual(speakersOf({ parts, steps }), [
    "team · researcher",
    undefined,
    "team · desk · writer",
    "team · researcher",
  ]);
});

test("nobody is named where one node of the graph itself speaks", () => {
  const steps = [started("a", "agent"), started("b", "agent")];
  assert.deepEqual(speakersOf({ parts: spoken("a", "b"), steps }), []);
  assert.deepEqual(speakersOf({ parts: spoken("a", "b") }), []);
  assert.deepEqual(
    speakersOf({ parts: spoken("a", "b"), steps: [{ stepId: "a" }, { stepId: "b" }] }),
    [],
  );
});

test("one node of a subgraph is named", () => {
  assert.deepEqual(
    speakersOf({ parts: spoken("a", "a"), steps: [started("a", "agent", "team:1")] }),
    ["team · agent", undefined],
  );
});

test("two nodes of the graph itself are named", () => {
  const steps = [started("a", "agent"), started("b", "writer")];
  assert.deepEqual(speakersOf({ parts: spoken("a", "b"), steps }), ["agent", "writer"]);
});

test("parts of unknown steps name nobody, and the next speaker is named if it is to be", () => {
  assert.deepEqual(
    speakersOf({ parts: spoken(undefined, "a"), steps: [started("a", "agent")] }),
    [],
  );
  const steps = [started("b", "writer", "team:1")];
  assert.deepEqual(speakersOf({ parts: spoken(undefined, "b"), steps }), [
    undefined,
    "team · writer",
  ]);
});

/** A turn that has seen these chunks, with the texts that the accumulator has of the run. */
function turnOf(chunks, texts, message = { parts: [], steps: [] }) {
  const turn = new Turn(message, 10);
  for (const chunk of chunks) turn.see({ chunk }, 5);
  turn.take({
    parts: texts.map((text) => ({ type: "text", text, status: { type: "complete" } })),
    status: { type: "complete" },
  });
  return turn;
}
const step = (stepId) => ({ type: "step-start", stepId, path: [] });
const begin = (stepId) => ({
  type: "part-start",
  part: { type: "text" },
  path: [],
  ...(stepId ? { stepId } : {}),
});
const data = (name, value) => ({ type: "data", data: [{ name, data: value }], path: [] });

test("a turn shows the parts of earlier runs, then those of this one, and keeps their keys", () => {
  const chunks = [step("a"), begin(), step("b"), begin(), begin("a")];
  const turn = turnOf(chunks, ["One", "Two", "one more"], {
    parts: [{ type: "text", text: "Before" }],
    steps: [],
  });
  const shown = turn.shown();
  assert.deepEqual(
    shown.parts.map(({ text }) => text),
    ["Before", "One", "one more", "Two"],
  );
  assert.deepEqual(
    shown.parts.map(({ key }) => key),
    [undefined, 1, 3, 2],
  );
  assert.equal(turn.isStale, false);
});

test("a withdrawn step is not shown", () => {
  const withdrawn = data("step-withdrawn", { step_id: "a", parts: [0] });
  const { parts } = turnOf(
    [step("a"), begin(), withdrawn, step("a"), begin()],
    ["Plan", "Planned"],
  ).shown();
  assert.deepEqual(
    parts.map(({ text }) => text),
    ["Planned"],
  );
});

test("messages that the graph has removed are known only to the server", () => {
  assert.equal(turnOf([data("messages-removed", { ids: ["m0"] })], []).isStale, true);
  assert.equal(turnOf([data("history-shortened", { ids: ["m0"] })], []).isStale, true);
});

test("a message whose order is unsure is known only to the server", () => {
  const chunks = [step("a"), begin(), { type: "text-delta", textDelta: "x", path: [1] }];
  assert.equal(turnOf(chunks.slice(0, 2), ["One"]).isStale, false);
  assert.equal(turnOf(chunks, ["One"]).isStale, true);
});

test("a turn says how it ended, and what it used in all of its steps", () => {
  const usage = { inputTokens: 2, outputTokens: 3 };
  const chunks = [
    step("a"),
    { type: "step-finish", path: [], usage },
    step("b"),
    { type: "step-finish", path: [], usage },
  ];
  const turn = turnOf([...chunks, data("run-ended", { reason: "stopped" })], []);
  assert.deepEqual([turn.shown().running, turn.shown().finishReason], [true, undefined]);
  turn.finish(30);
  const shown = turn.shown();
  assert.deepEqual(shown.usage, { inputTokens: 4, outputTokens: 6 });
  assert.deepEqual(
    [shown.running, shown.finishReason, shown.ended],
    [false, "stop", { reason: "stopped" }],
  );
  assert.deepEqual(shown.timing, { totalMs: 20, firstMs: undefined });
});
