/** Questions of a graph, and the answers that it takes. */

import assert from "node:assert/strict";
import test from "node:test";
import {
  decisionOf,
  jsonKind,
  jsonOf,
  keyed,
  requestOf,
  reviewAnswer,
} from "../../static/js/interrupts.js";
import { Turn } from "../../static/js/turn.js";
import { table } from "./tables.mjs";

const MAIL = { to: "ann@example.org", body: "It is done." };
const DEFAULT =
  "Tool execution requires approval\n\nTool: send_email\nArgs: {'to': 'ann@example.org'}";
const CALL = {
  type: "tool_approval",
  tool_call_id: "c1",
  name: "send_email",
  args: MAIL,
  description: DEFAULT,
};
const ALL = ["approve", "edit", "reject", "respond"];

const action = (allowed, rest = {}) => ({
  name: "send_email",
  args: MAIL,
  description: "Tool execution requires approval",
  allowed,
  ...rest,
});
const batch = (requests, configs) => ({ action_requests: requests, review_configs: configs });
const branch = (decision) => ({ properties: { type: { const: decision } } });

table(
  "an interrupt is the request that its value makes",
  [
    [undefined, { kind: "pause" }],
    ["How old?", { kind: "question", prompt: "How old?" }],
    ["", { kind: "question", prompt: "" }],
    [{ question: "Ok?" }, { kind: "question", prompt: "Ok?" }],
    [
      { message: "Ok?", n: 7 },
      { kind: "question", prompt: "Ok?", rest: { n: 7 } },
    ],
    [
      { message: "b", prompt: "a" },
      { kind: "question", prompt: "a", rest: { message: "b" } },
    ],
    [
      { question: " ", n: 7 },
      { kind: "value", value: { question: " ", n: 7 } },
    ],
    [{ question: 7 }, { kind: "value", value: { question: 7 } }],
    [[1], { kind: "value", value: [1] }],
    [null, { kind: "value", value: null }],
    [0, { kind: "value", value: 0 }],
  ],
  (value, request) => assert.deepEqual(requestOf({ value }), request),
);

table(
  "a call that the browser answers asks for its result, by the schema of the call",
  [
    [
      { type: "object", title: "Seat", description: "Which?", properties: {} },
      { title: "Seat", prompt: "Which?", isBare: false, type: "object" },
    ],
    [{ type: "string" }, { title: "choose", prompt: "", isBare: true, type: "object" }],
    [{}, { title: "choose", prompt: "", isBare: true, type: "object" }],
    [{ type: "object" }, { title: "choose", prompt: "", isBare: true, type: "object" }],
  ],
  (own, { type, ...expected }) => {
    const value = { type: "tool", toolCall: { id: "c1", name: "choose", args: {} } };
    const response_schema = { type: "object", properties: { c1: own }, $defs: { a: {} } };
    const { schema, ...request } = requestOf({ value, response_schema });
    assert.deepEqual(request, { kind: "result", id: "c1", ...expected });
    assert.equal(schema.type, type);
    assert.deepEqual(schema.$defs, { a: {} });
    assert.equal(requestOf({ value }).kind, "value");
  },
);

test("calls that wait together are reviewed together, each with the decisions that it allows", () => {
  const value = batch(
    [
      CALL,
      { name: "ask_user", args: {} },
      { name: "drop", args: {}, description: "Deletes data." },
    ],
    [
      { action_name: "drop", allowed_decisions: ["reject", "approve", "explode"] },
      { action_name: "ask_user", allowed_decisions: ["respond"] },
      { action_name: "send_email", allowed_decisions: ["edit"] },
    ],
  );
  assert.deepEqual(requestOf({ value }), {
    kind: "review",
    isBatch: true,
    actions: [
      action(["edit"]),
      action(["respond"], { name: "ask_user", args: {}, description: "" }),
      action(["approve", "reject"], { name: "drop", args: {}, description: "Deletes data." }),
    ],
  });
});

table(
  "calls that cannot be decided on are shown as JSON",
  [
    [batch([], [])],
    [batch("x", [])],
    [batch([{ name: "a" }], [{ action_name: "a", allowed_decisions: ["approve"] }])],
    [batch([CALL], [])],
    [batch([CALL], { x: null })],
    [batch([CALL], [{ action_name: "send_email", allowed_decisions: ["explode"] }])],
    [{ type: "tool_approval", name: "send_email" }],
  ],
  (value) => assert.deepEqual(requestOf({ value }), { kind: "value", value }),
);

table(
  "a call that waits alone offers the decisions of its schema, or all if that names none",
  [
    [undefined, ALL],
    [{ oneOf: [branch("approve"), branch("reject")] }, ["approve", "reject"]],
    [{ anyOf: [branch("respond"), branch("explode")] }, ["respond"]],
    [{ oneOf: [{ properties: { type: { enum: ["edit"] } } }] }, ["edit"]],
    [branch("approve"), ["approve"]],
    // As LangChain writes it: a branch for each decision, by reference.
    [
      {
        $defs: { A: branch("approve"), R: branch("reject") },
        oneOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/R" }],
      },
      ["approve", "reject"],
    ],
    [{ oneOf: [{ $ref: "#/$defs/Missing" }] }, ALL],
    [{ oneOf: [] }, ALL],
  ],
  (schema, allowed) => {
    const request = { kind: "review", isBatch: false, actions: [action(allowed)] };
    assert.deepEqual(requestOf({ value: CALL, response_schema: schema }), request);
  },
);

test("the schema of an answer comes along from the stream to the form", () => {
  const schema = { oneOf: [branch("approve")] };
  const turn = new Turn({ parts: [] });
  const data = [
    { name: "interrupt", data: { id: "i1", node: "n", value: CALL, response_schema: schema } },
  ];
  turn.see({ chunk: { type: "data", path: [], data } });
  const [held] = keyed(turn.interrupts, []);
  assert.deepEqual(requestOf(held).actions, [action(["approve"])]);
});

table(
  "the description that LangChain makes of a call is shown without the call, any other whole",
  [
    [DEFAULT, "Tool execution requires approval"],
    ["Deletes data.", "Deletes data."],
    [`${DEFAULT}\nReally?`, `${DEFAULT}\nReally?`],
    [DEFAULT.replace("send_email", "other"), DEFAULT.replace("send_email", "other")],
    [7, ""],
    [undefined, ""],
  ],
  (description, shown) =>
    assert.equal(requestOf({ value: { ...CALL, description } }).actions[0].description, shown),
);

table(
  "a decision is sent as LangChain takes it, or gets a sentence",
  [
    [{ choice: "approve" }, { decision: { type: "approve" } }],
    [{ choice: "reject", reason: " " }, { decision: { type: "reject" } }],
    [
      { choice: "reject", reason: " Too risky " },
      { decision: { type: "reject", message: "Too risky" } },
    ],
    [
      { choice: "respond", message: " Tomorrow " },
      { decision: { type: "respond", message: "Tomorrow" } },
    ],
    [
      { choice: "respond", message: " " },
      { problem: "Write the reply that stands in for the tool's result." },
    ],
    [
      { choice: "edit", args: '{"to": "bob"}' },
      { decision: { type: "edit", edited_action: { name: "send_email", args: { to: "bob" } } } },
    ],
    [
      { choice: "edit", args: '{"to"' },
      { problem: "The arguments are not valid JSON. Correct them, or choose another decision." },
    ],
    [
      { choice: "edit", args: '["bob"]' },
      { problem: "The arguments have to be a JSON object: {…}." },
    ],
    [{}, { problem: "Choose one of the decisions." }],
  ],
  (typed, decision) => assert.deepEqual(decisionOf({ name: "send_email" }, typed), decision),
);

test("a review of several calls is answered together, that of one call alone", () => {
  const decisions = [{ type: "approve" }];
  assert.deepEqual(reviewAnswer({ isBatch: true }, decisions), { decisions });
  assert.deepEqual(reviewAnswer({ isBatch: false }, decisions), { type: "approve" });
});

test("typed text belongs to one question, though a graph asks another under the same id", () => {
  const [first] = keyed([{ id: "i1", value: "Delete it?" }], []);
  const [again] = keyed([{ id: "i1", value: "Delete it?", node: "other" }], [first]);
  const [next] = keyed([{ id: "i1", value: "The backup too?" }], [first]);
  assert.equal(again, first);
  assert.notEqual(next.key, first.key);
});

test("of one id the latest question is open", () => {
  const open = keyed(
    [
      { id: "i1", value: "a" },
      { id: "i2", value: "b" },
      { id: "i1", value: "c" },
    ],
    [],
  );
  assert.deepEqual(
    open.map(({ id, value }) => [id, value]),
    [
      ["i1", "c"],
      ["i2", "b"],
    ],
  );
  assert.equal(new Set(open.map(({ key }) => key)).size, 2);
});

test("a text that is no JSON is told apart from null", () => {
  assert.equal(jsonOf("null"), null);
  assert.equal(jsonOf("nul"), undefined);
});

table(
  "a text that may be sent as JSON says which kind it is",
  [
    ["42", "number"],
    ["true", "true or false"],
    ['"a"', null],
    ["red", null],
    ["", null],
  ],
  (text, kind) =>
    kind === null
      ? assert.equal(jsonKind(text), null)
      : assert.match(jsonKind(text), new RegExp(kind)),
);

const asksFor = (rest) => ({ type: "elicitation", message: "Where to?", server: "trips", ...rest });

table(
  "a question of a tool's server is a form, or an address of the web",
  [
    [
      { mode: "form", requested_schema: {} },
      { kind: "form", prompt: "Where to?", by: "trips", schema: {} },
    ],
    [
      { mode: "url", url: "https://a.example/x" },
      { kind: "address", prompt: "Where to?", by: "trips", url: "https://a.example/x" },
    ],
  ],
  (rest, request) => assert.deepEqual(requestOf({ value: asksFor(rest) }), request),
);

for (const url of ["javascript:alert(1)", "mailto:a@b.example", "https://me:pw@a.example/", "/x"]) {
  test(`${url} is no address to open`, () => {
    assert.equal(requestOf({ value: asksFor({ mode: "url", url }) }).kind, "question");
  });
}
