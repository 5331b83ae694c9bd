/** Messages that wait to be sent. */

import assert from "node:assert/strict";
import test from "node:test";
import "./browser.mjs";
import { bodyOf, isWhole, marked, newItem, notSaid, without } from "../../static/js/outbox.js";

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
