/** Messages on their way to the server. */

import assert from "node:assert/strict";
import test from "node:test";
import { newBrowser } from "./browser.mjs";
import { Problem } from "../../static/js/api.js";
import { newItem } from "../../static/js/outbox.js";
import { Posts } from "../../static/js/posts.js";
import { Sender } from "../../static/js/sender.js";
import { EMPTY } from "../../static/js/thread-state.js";

const settled = () => new Promise(setImmediate);
const AWAY = new Problem(0, { code: "unreachable", detail: "Away." });
const MESSAGE = { runId: "r2", id: "m2", parts: [{ type: "text", text: "Hi" }], problem: null };
const LIVE = { run: { id: "r1" } };

/**
 * A thread whose server answers posts with `answer`; `done` is what it was told to do, in order,
 * and `bodies` are the texts of the posts.
 */
function threadOf(state, answer = () => new Promise(() => {})) {
  newBrowser();
  const [done, bodies] = [[], []];
  globalThis.fetch = async (_, { body }) => {
    bodies.push(body);
    return answer();
  };
  const note =
    (name) =>
    (...given) =>
      done.push([name, ...given]);
  const thread = {
    state: { ...EMPTY, id: "t1", version: "r1", ...state },
    named: {},
    get busy() {
      return thread.state.run !== null;
    },
    set(changes) {
      thread.state = { ...thread.state, ...changes };
    },
    fail: (error, retry) => done.push(["fail", error.code, retry]),
    reload: note("reload"),
    refresh: note("refresh"),
    run: {
      begin: () => ({ turn: null, signal: new AbortController().signal }),
      refused() {},
    },
    queue: { look: note("look"), add: note("add"), withdraw: async () => done.push(["withdraw"]) },
    listeners: {},
  };
  thread.listeners = {
    onRequest() {},
    isKept: () => true,
    onWaits: note("waits"),
    onRefused: note("refused"),
    onOutbox: (id, after, before) => done.push(["keep", id, ids(after), ids(before)]),
  };
  thread.posts = new Posts(thread);
  thread.sender = new Sender(thread);
  return { thread, sender: thread.sender, done, bodies };
}

const ids = (items) => items.map(({ id }) => id);
const of = (done, name) => done.filter(([one]) => one === name);

test("a message is the same text each time that it is sent, under one key", async () => {
  for (const [id, outbox] of [
    ["t1", [newItem("Hi", "t1")]],
    ["t1", [newItem("Hi", null, undefined, { graph: "writer" })]],
  ]) {
    outbox[0].body.thread_id = id;
    const { thread, sender, bodies } = threadOf({ ...LIVE, outbox }, () => Promise.reject(AWAY));
    await sender.flush();
    await settled();
    thread.set({ run: null });
    sender.flush();
    await settled();
    await settled();
    assert.equal(bodies.length, 2);
    assert.equal(bodies[0], bodies[1]);
  }
});

test("what waits behind the first message of a thread may not begin the thread again", () => {
  const first = newItem("Hi", null);
  const { thread, sender } = threadOf({ ...LIVE, outbox: [] });
  const behind = newItem("And?", null, first);
  thread.set({ id: first.body.thread_id, run: { id: null }, outbox: [first, behind] });
  sender.begun(first, true);
  assert.deepEqual(ids(thread.state.outbox), [behind.id]);
  assert.deepEqual(thread.state.outbox[0].body, { ...behind.body, must_exist: true });
});

test("a message that is to begin now is kept before the server gives it up", async () => {
  const { thread, sender, done, bodies } = threadOf({ queue: [MESSAGE] });
  sender.sendNow(MESSAGE);
  sender.sendNow(MESSAGE);
  await settled();
  await settled();
  assert.equal(of(done, "withdraw").length, 1);
  assert.deepEqual(
    done.slice(0, 2).map(([name, , after]) => [name, after]),
    [
      ["keep", ["m2"]],
      ["withdraw", undefined],
    ],
  );
  const [{ message, thread_id: threadId }] = bodies.map(JSON.parse);
  assert.deepEqual([threadId, message], ["t1", { id: "m2", parts: MESSAGE.parts }]);
  assert.deepEqual(ids(thread.state.outbox), ["m2"]);
});

test("a message that is to begin now does not follow into another thread", async () => {
  const { thread, sender, done, bodies } = threadOf({ queue: [MESSAGE] });
  thread.queue.withdraw = async () => thread.set({ ...EMPTY, id: "t2" });
  await sender.sendNow(MESSAGE);
  assert.deepEqual(bodies, []);
  assert.deepEqual(thread.state.outbox, []);
  assert.deepEqual(of(done, "keep").at(-1), ["keep", "t1", ["m2"], []]);
});

test("a message is not sent before it is known whether the server has given it up", async () => {
  const { thread, sender, done, bodies } = threadOf({ queue: [MESSAGE] });
  thread.queue.withdraw = () => Promise.reject(AWAY);
  await sender.sendNow(MESSAGE);
  assert.deepEqual(bodies, []);
  assert.deepEqual(ids(thread.state.outbox), ["m2"]);
  const [[, code, retry]] = of(done, "fail");
  assert.equal(code, "unreachable");
  retry();
  assert.equal(of(done, "reload").length, 1);
});

test("a message that has begun, or was withdrawn by somebody else, is not sent", async () => {
  const { thread, sender, done, bodies } = threadOf({ queue: [MESSAGE] });
  const gone = new Problem(404, { code: "not_queued", detail: "Begun." });
  thread.queue.withdraw = () => Promise.reject(gone);
  await assert.rejects(sender.sendNow(MESSAGE), { code: "not_queued" });
  assert.deepEqual([bodies, thread.state.outbox], [[], []]);
  assert.deepEqual(of(done, "refused"), []);
});

test("a message that the live run leaves no place for is sent when it is over", async () => {
  const busy = { code: "run_in_progress", detail: "Busy." };
  const answer = () => new Response(JSON.stringify(busy), { status: 409 });
  const { thread, sender, done } = threadOf({ ...LIVE, outbox: [newItem("Hi", "t1")] }, answer);
  await sender.flush();
  assert.deepEqual(of(done, "reload"), []);
  assert.equal(thread.state.outbox.length, 1);
  assert.equal(thread.state.outbox[0].isSending, false);
});

test("a message that stops the live run stops no later one", async () => {
  const item = { ...newItem("Hi", "t1"), stops: true };
  const { thread, sender } = threadOf({ ...LIVE, outbox: [item] }, () => Promise.reject(AWAY));
  await sender.flush();
  assert.equal(thread.state.outbox[0].stops, false);
});
