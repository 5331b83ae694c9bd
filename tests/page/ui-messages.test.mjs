/** LangGraph's UI messages, as calls that draw components. */

import assert from "node:assert/strict";
import test from "node:test";
import { afterState, uiIn, withEvent, withUi } from "../../static/js/ui-messages.js";

const pushed = (id, props, metadata = {}) => ({ type: "ui", id, name: "table", props, metadata });
const [A, B] = [pushed("a", { n: 1 }, { message_id: "m1" }), pushed("b", { n: 2 })];
const reply = (id) => ({ id, role: "assistant", parts: [], steps: [{ stepId: id }] });

test("the messages of a state are those of its lists; what is none is left out", () => {
  const state = { ui: [A, { type: "ui", id: 7 }, null], plan: { type: "ui" }, todos: ["x"] };
  const found = { id: "a", name: "table", props: { n: 1 }, message: "m1", key: "ui" };
  assert.deepEqual(uiIn(state), [found]);
  assert.deepEqual(uiIn(undefined), []);
});

test("an event adds a message, changes its props, or takes it away", () => {
  const one = withEvent([], A);
  const merged = withEvent(one, pushed("a", { m: 2 }, { merge: true }));
  assert.deepEqual(merged[0].props, { n: 1, m: 2 });
  assert.deepEqual(withEvent(one, pushed("a", { m: 2 }))[0].props, { m: 2 });
  assert.deepEqual(withEvent(one, { type: "remove-ui", id: "a" }), []);
  assert.equal(withEvent(one, "a text"), one);
});

test("values of the state hold; a message that is as it was stays the same object", () => {
  const known = uiIn({ ui: [A] });
  const [first, second] = afterState(known, { ui: [A, B] });
  assert.equal(first, known[0]);
  assert.equal(second.id, "b");
  assert.equal(afterState(known, { plan: [1] }), known);
  assert.deepEqual(afterState(known, { ui: [] }), []);
  assert.deepEqual(afterState(known, { plan: [1] }, true), []);
  const ids = afterState(known, { more: [B] }).map(({ id }) => id);
  assert.deepEqual(ids, ["a", "b"], "what another key has stays");
  const told = withEvent(known, B);
  assert.equal(afterState(told, { plan: [1] }), told);
  assert.deepEqual(afterState(told, { ui: [A] }), known);
});

test("each stands behind the answer that it names, else behind the last", () => {
  const messages = [reply("m1"), { id: "u", role: "user", parts: [] }, reply("m2")];
  const ui = uiIn({ ui: [A, B, pushed("c", {}, { message_id: "not loaded" })] });
  const [first, user, last] = withUi(messages, ui);
  const shown = { component: "table", props: { n: 1 } };
  assert.deepEqual(first.parts[0].result, shown);
  assert.equal(first.parts[0].state, "shown");
  assert.equal(user, messages[1]);
  assert.deepEqual(
    last.parts.map(({ result }) => result.props),
    [{ n: 2 }],
  );
  assert.equal(withUi(messages, ui)[0], first, "what is the same is not painted again");
  assert.equal(withUi(messages, []), messages);
});
