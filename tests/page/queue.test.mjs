/** Messages that wait for the end of a reply. */

import assert from "node:assert/strict";
import test from "node:test";
import { newBrowser, Tab } from "./browser.mjs";
import {
  alone,
  atOnce,
  basedOn,
  changed,
  following,
  holdOf,
  ordered,
  queued,
  seenIn,
  unseen,
} from "../../static/js/queue.js";
import { EMPTY } from "../../static/js/thread-state.js";
import { table } from "./tables.mjs";

const item = (id, rest = {}) => ({ id, body: { thread_id: "t1" }, ...rest });
const ids = (items) => items.map(({ id }) => id);
const user = { role: "user", parts: [] };
const answer = (rest = {}) => ({ role: "assistant", parts: [], ...rest });

test("messages to be sent at once go before queued ones, each kind in its order", () => {
  const items = [queued(item("a"), "r1"), item("b"), queued(item("c"), "r1"), item("d")];
  assert.deepEqual(ids(ordered(items)), ["b", "d", "a", "c"]);
  assert.equal(atOnce(items[0]).queued, undefined);
});

table(
  "queued messages wait, and say why, until a run has ended well",
  [
    [{ messages: [user, answer()] }, null],
    [{ messages: [] }, null],
    [{ run: { id: "r1" }, messages: [user], problem: {} }, null],
    [{ messages: [user, answer({ parts: [{ state: "pending" }] })] }, "asked"],
    [{ messages: [user, answer()], interrupts: [{ id: "i" }] }, "asked"],
    [{ messages: [user, answer()], runState: "waiting" }, "asked"],
    [{ messages: [user, answer({ error: {} })] }, "failed"],
    [{ messages: [user, answer()], runState: "failed" }, "failed"],
    [{ messages: [user, answer({ ended: {} })] }, "stopped"],
    [{ messages: [user, answer()], runState: "stopped" }, "stopped"],
    [{ messages: [user, answer()], runState: "interrupted" }, "interrupted"],
    [{ messages: [user] }, "interrupted"],
    [{ messages: [user, answer()], problem: {} }, "problem"],
    // An answer is what a person can do next, whatever else has happened.
    [
      {
        messages: [user, answer({ error: {}, parts: [{ state: "pending" }] })],
        runState: "stopped",
      },
      "asked",
    ],
  ],
  (state, reason) => assert.equal(holdOf({ ...EMPTY, ...state }), reason),
);

test("a message whose author has not seen the last run is queued, and says which one was seen", () => {
  const seen = seenIn({ run: null, loading: false, version: "r2" }, item("a"));
  const before = seenIn({ run: null, loading: false, version: "r1" }, item("b"));
  const meanwhile = seenIn({ run: { id: "r2" }, loading: false, version: "r2" }, item("c"));
  const loading = seenIn({ run: null, loading: true, version: "r2" }, item("d"));
  const items = unseen([before, seen, meanwhile, loading], { version: "r2" });
  assert.deepEqual(ids(items), ["a", "b", "c", "d"]);
  assert.deepEqual(
    items.map(({ queued: isQueued }) => Boolean(isQueued)),
    [false, true, true, true],
  );
  assert.equal(items[1].after, "r2");
  assert.deepEqual(
    unseen(items, { version: "r3" }).map(({ after }) => after),
    ["r3", "r2", "r2", "r2"],
  );
});

test("a queued message is for the thread that its author saw, and goes out again as it went first", () => {
  const waiting = queued(item("a"), "r1");
  assert.equal(basedOn(waiting).body.based_on, "r1");
  const [later] = following([basedOn(waiting)], "r2");
  assert.equal(later.after, "r2");
  assert.equal(basedOn(later).body.based_on, "r1");
  assert.equal(basedOn(following([waiting], "r2")[0]).body.based_on, "r2");
  assert.equal(basedOn(queued(item("a"), null)).body.based_on, undefined);
  assert.equal(basedOn(item("a")).body.based_on, undefined);
});

test("a change that another tab has made is made here, and what this tab has changed stays", () => {
  const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => item(id));
  assert.deepEqual(ids(changed([a, b], [a], [a, c])), ["a", "c", "b"]);
  assert.deepEqual(ids(changed([a, b], [a, b], [b])), ["b"]);
  // It was taken back here meanwhile: the other tab's list does not bring it back.
  assert.deepEqual(ids(changed([b], [a, b], [a, b])), ["b"]);
  assert.deepEqual(ids(changed([a, d], [a], [])), ["d"]);
  assert.deepEqual(ids(changed([], [], [queued(a, "r1"), b])), ["b", "a"]);
});

test("the images of a message, and that it is on its way, are what this tab knows of it", () => {
  const images = [{ key: "k", dataUrl: "data:" }];
  const [shown] = changed(
    [item("a", { images, isSending: true })],
    [item("a")],
    [item("a", { queued: true, images: [{ key: "k" }] })],
  );
  assert.deepEqual(shown, item("a", { queued: true, images, isSending: true }));
});

/** The module of another tab: what it holds in variables is its own. */
const elsewhere = await import("../../static/js/queue.js?another-tab");

test("one tab at a time sends what waits in a thread", async () => {
  const tab = newBrowser();
  const other = new Tab();
  const sent = [];
  let finish;
  const here = tab.run(() =>
    alone("t1", () => {
      sent.push("here");
      return new Promise((done) => {
        finish = done;
      });
    }),
  );
  await new Promise(setImmediate);
  await other.run(() => elsewhere.alone("t1", () => sent.push("there")));
  await other.run(() => elsewhere.alone("t2", () => sent.push("in another thread")));
  assert.deepEqual(sent, ["here", "in another thread"]);
  finish();
  await here;
  await other.run(() => elsewhere.alone("t1", () => sent.push("later")));
  assert.deepEqual(sent, ["here", "in another thread", "later"]);
});

test("a second sending of one tab waits until the first lets others send", async () => {
  newBrowser();
  const steps = [];
  let finish;
  const first = alone("t1", (done) => {
    steps.push("first begins");
    setImmediate(() => {
      steps.push("first is taken");
      done();
    });
    return new Promise((end) => {
      finish = end;
    }).then(() => steps.push("first ends"));
  });
  // The first begins before anything that is scheduled.
  for (let n = 0; n < 10; n += 1) await Promise.resolve();
  await alone("t1", () => steps.push("second"));
  assert.deepEqual(steps, ["first begins", "first is taken", "second"]);
  finish();
  await first;
  assert.equal(steps.at(-1), "first ends");
});

test("a sending that fails lets the next one begin", async () => {
  newBrowser();
  await assert.rejects(
    alone("t1", () => Promise.reject(new Error("away"))),
    /away/,
  );
  const sent = [];
  await alone("t1", () => sent.push("next"));
  assert.deepEqual(sent, ["next"]);
});
