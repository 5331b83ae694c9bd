/** Messages that wait to be sent. */

import assert from "node:assert/strict";
import test from "node:test";
import { newBrowser, Tab } from "./browser.mjs";
import {
  alone,
  bodyOf,
  changed,
  isHeld,
  isWhole,
  marked,
  newItem,
  notSaid,
  seenIn,
  without,
} from "../../static/js/outbox.js";
import { EMPTY } from "../../static/js/thread-state.js";
import { table } from "./tables.mjs";

const IMAGE = { key: "k", alt: " A leaf ", dataUrl: "data:image/png;base64,AA==" };

test("a message has an id and an idempotency key of its own from the beginning", () => {
  const [one, other] = [newItem("Hi", "t1"), newItem("Hi", "t1")];
  assert.match(one.id, /^msg_[0-9a-f]{16}$/);
  assert.equal(one.body.message.id, one.id);
  assert.notEqual(one.id, other.id);
  assert.equal(new Set([one.key, other.key, one.id]).size, 3);
});

test("a message to a thread says that the thread must exist", () => {
  const { body } = newItem("Hi", "t1", undefined, { model: "m" });
  assert.deepEqual(body, {
    thread_id: "t1",
    must_exist: true,
    message: { id: body.message.id, parts: [{ type: "text", text: "Hi" }] },
    on_busy: "queue",
    model: "m",
  });
});

test("a message that begins a thread names it, and those behind it go into the same one", () => {
  const first = newItem("Hi", null);
  assert.match(first.body.thread_id, /^thread_[0-9a-f]{20}$/);
  assert.equal(first.body.must_exist, undefined);
  assert.equal(newItem("And?", null, first).body.thread_id, first.body.thread_id);
  assert.notEqual(newItem("Else", null).body.thread_id, first.body.thread_id);
});

test("a message that begins a thread names its graph, and those behind it the same one", () => {
  const first = newItem("Hi", null, undefined, { graph: "writer", model: "m" });
  assert.equal(first.body.graph, "writer");
  assert.equal(newItem("And?", null, first, { graph: "critic" }).body.graph, "writer");
  assert.equal("graph" in newItem("Hi", "t1", undefined, { graph: "writer" }).body, false);
  const plain = newItem("Hi", null, undefined, { graph: null });
  assert.equal("graph" in plain.body, false);
  assert.equal("graph" in newItem("And?", null, plain, { graph: "critic" }).body, false);
});

test("images are in the body that is sent, before the text, and not in the one that is kept", () => {
  const item = newItem("Look", "t1", undefined, {}, [IMAGE, { key: "lost", alt: "" }]);
  assert.equal(item.body.message.parts.length, 1);
  assert.deepEqual(bodyOf(item).message.parts, [
    { type: "image", image: IMAGE.dataUrl, alt: "A leaf" },
    { type: "text", text: "Look" },
  ]);
  assert.equal(bodyOf(item).message.id, item.id);
  assert.equal(item.body.message.parts.length, 1);
});

test("a message of images alone has no part for its text", () => {
  assert.deepEqual(
    bodyOf(newItem("", "t1", undefined, {}, [{ ...IMAGE, alt: " " }])).message.parts,
    [{ type: "image", image: IMAGE.dataUrl }],
  );
});

test("a message is whole if all of its images are here", () => {
  assert.equal(isWhole(newItem("Hi", "t1")), true);
  assert.equal(isWhole({ id: "kept by an earlier page" }), true);
  assert.equal(isWhole(newItem("Hi", "t1", undefined, {}, [IMAGE])), true);
  assert.equal(isWhole(newItem("Hi", "t1", undefined, {}, [IMAGE, { key: "lost" }])), false);
});

test("a message that is seen in the thread waits no more", () => {
  const [one, other] = [newItem("One", "t1"), newItem("Two", "t1")];
  assert.deepEqual(notSaid([one, other], [{ id: "older" }, { id: one.id }]), [other]);
  assert.deepEqual(without([one, other], other.id), [one]);
});

test("a message on its way keeps its place, or goes ahead of those that wait", () => {
  const [one, other, fresh] = [newItem("One", "t1"), newItem("Two", "t1"), newItem("New", "t1")];
  assert.deepEqual(marked([one, other], other, true), [one, { ...other, isSending: true }]);
  assert.deepEqual(marked([one, other], fresh, true), [{ ...fresh, isSending: true }, one, other]);
  assert.deepEqual(marked([{ ...one, isSending: true }], one, false), [
    { ...one, isSending: false },
  ]);
});

const item = (id, rest = {}) => ({ id, body: { thread_id: "t1" }, ...rest });
const ids = (items) => items.map(({ id }) => id);
const asked = { messages: [{ role: "assistant", parts: [{ state: "pending" }] }], version: "r2" };

table(
  "a message closes no question that its author has not seen",
  [
    [asked, { run: null, loading: false, version: "r2" }, false],
    [asked, { run: null, loading: false, version: "r1" }, true],
    [asked, { run: { id: "r2" }, loading: false, version: "r2" }, true],
    [asked, { run: null, loading: true, version: "r2" }, true],
    [{ ...asked, run: { id: "r3" } }, { run: null, loading: false, version: "r1" }, false],
    [{ messages: [], version: "r2" }, { run: null, loading: false, version: "r1" }, false],
    [
      { messages: [], version: "r2", interrupts: [{ id: "i" }] },
      { run: null, loading: false, version: "r1" },
      true,
    ],
  ],
  (state, written, isTrue) =>
    assert.equal(isHeld({ ...EMPTY, ...state }, seenIn(written, item("a"))), isTrue),
);

test("a change that another tab has made is made here, and what this tab has changed stays", () => {
  const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => item(id));
  assert.deepEqual(ids(changed([a, b], [a], [a, c])), ["a", "c", "b"]);
  assert.deepEqual(ids(changed([a, b], [a, b], [b])), ["b"]);
  // It was taken back here meanwhile: the other tab's list does not bring it back.
  assert.deepEqual(ids(changed([b], [a, b], [a, b])), ["b"]);
  assert.deepEqual(ids(changed([a, d], [a], [])), ["d"]);
});

test("the images of a message, and that it is on its way, are what this tab knows of it", () => {
  const images = [{ key: "k", dataUrl: "data:" }];
  const [shown] = changed(
    [item("a", { images, isSending: true, stops: true })],
    [item("a")],
    [item("a", { seen: "r1", images: [{ key: "k" }] })],
  );
  assert.deepEqual(shown, item("a", { seen: "r1", images, isSending: true, stops: true }));
});

/** The module of another tab: what it holds in variables is its own. */
const elsewhere = await import("../../static/js/outbox.js?another-tab");

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
  const there = other.run(() => elsewhere.alone("t1", () => sent.push("there")));
  await other.run(() => elsewhere.alone("t2", () => sent.push("in another thread")));
  assert.deepEqual(sent, ["here", "in another thread"]);
  finish();
  await Promise.all([here, there]);
  assert.deepEqual(sent, ["here", "in another thread", "there"]);
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
