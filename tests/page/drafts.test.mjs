/** Words that are not sent, in the storage of the browser and of its tabs. */

import assert from "node:assert/strict";
import test from "node:test";
import { deletedDatabases, newBrowser, Tab } from "./browser.mjs";
import { Drafts, IMAGES, mentions } from "../../static/js/drafts.js";

/** The drafts of a tab, in which each call is made; `heard` gets what other tabs have changed. */
function draftsIn(tab, heard = []) {
  const drafts = tab.run(() => new Drafts((...change) => heard.push(change)));
  const inTab = (value) =>
    typeof value === "function" ? (...given) => tab.run(() => value.apply(drafts, given)) : value;
  return new Proxy(drafts, { get: (_, name) => inTab(tab.run(() => drafts[name])) });
}

/** The drafts of a tab whose user is known. */
function openDrafts(tab, { owner = "ann", openId = null, heard } = {}) {
  const drafts = draftsIn(tab, heard);
  drafts.start(owner, openId);
  return drafts;
}

const item = (id, threadId = "t1", rest = {}) => ({
  id,
  text: id,
  body: { thread_id: threadId },
  key: `key of ${id}`,
  ...rest,
});
const waiting = (drafts, threadId) => drafts.of(threadId).outbox.map(({ id }) => id);
const keys = (storage) => Object.keys(storage).filter((key) => key.startsWith("words:"));
const settled = () => new Promise(setImmediate);

test("a draft of one thread is not shown in another", () => {
  const drafts = openDrafts(newBrowser());
  drafts.keep("t1", { draft: "Of the first" });
  drafts.keep(null, { draft: "Of a new one" });
  assert.equal(drafts.of("t1").draft, "Of the first");
  assert.equal(drafts.of(null).draft, "Of a new one");
  assert.equal(drafts.of("t2").draft, "");
});

test("kept words outlive a reload", () => {
  const tab = newBrowser();
  const drafts = openDrafts(tab);
  drafts.keep("t1", { draft: "Hello" });
  drafts.keep("t1", { edit: { id: "m1", text: "In other words" } });
  drafts.keep("t1", { forms: { f1: { x: "1" } } });
  drafts.keepOutbox("t1", [item("a")], []);
  tab.reload();
  const { draft, edit, forms, outbox } = openDrafts(tab).of("t1");
  assert.deepEqual([draft, edit.text, forms], ["Hello", "In other words", { f1: { x: "1" } }]);
  assert.deepEqual(outbox, [item("a")]);
});

test("two tabs of a thread have a draft each, and a new tab gets the one that was written last", () => {
  const tab = newBrowser();
  const other = new Tab();
  const [here, there] = [openDrafts(tab), openDrafts(other)];
  here.keep("t1", { draft: "Here" });
  there.keep("t1", { draft: "There" });
  assert.equal(here.of("t1").draft, "Here");
  assert.equal(there.of("t1").draft, "There");
  assert.equal(openDrafts(new Tab()).of("t1").draft, "There");
  other.reload();
  assert.equal(openDrafts(other).of("t1").draft, "There");
});

test("an open edit and forms are in their tab alone", () => {
  const tab = newBrowser();
  openDrafts(tab).keep("t1", { edit: { id: "m1", text: "x" }, forms: { f: { x: "1" } } });
  assert.deepEqual(keys(localStorage), []);
  const { edit, forms } = openDrafts(new Tab()).of("t1");
  assert.deepEqual([edit, forms], [null, {}]);
});

test("a draft that is sent comes back nowhere and leaves nothing in the storage", () => {
  const tab = newBrowser();
  const drafts = openDrafts(tab);
  drafts.keep("t1", { draft: "Hello", images: [{ key: "k" }] });
  drafts.keep("t1", { draft: "", images: [] });
  assert.equal(openDrafts(new Tab()).of("t1").draft, "");
  assert.deepEqual([keys(localStorage), keys(tab.session)], [[], []]);
});

test("images are kept by their keys alone", () => {
  const drafts = openDrafts(newBrowser());
  drafts.keep("t1", {
    draft: "",
    images: [{ key: "k", alt: "A leaf", dataUrl: "data:image/png;base64,AA==" }],
  });
  assert.deepEqual(drafts.of("t1").images, [{ key: "k", alt: "A leaf" }]);
  assert.equal(mentions("base64"), false);
  assert.equal(mentions('"k"'), true);
});

test("another user gets nothing of what was written, and no image", () => {
  const tab = newBrowser();
  const drafts = openDrafts(tab, { owner: "ann" });
  drafts.keep("t1", { draft: "Secret", edit: { id: "m1", text: "Secret" } });
  drafts.keepOutbox("t1", [item("a")], []);
  deletedDatabases.length = 0;
  tab.reload();
  const theirs = openDrafts(tab, { owner: "bob" });
  assert.deepEqual(theirs.of("t1"), { draft: "", images: [], edit: null, forms: {}, outbox: [] });
  assert.deepEqual(keys(tab.session), []);
  assert.equal(theirs.unsent.size, 0);
  assert.deepEqual(deletedDatabases, [IMAGES]);
});

test("the same user gets everything back, with the images", () => {
  const tab = newBrowser();
  openDrafts(tab).keep("t1", { draft: "Hello" });
  deletedDatabases.length = 0;
  tab.reload();
  assert.equal(openDrafts(tab).of("t1").draft, "Hello");
  assert.deepEqual(deletedDatabases, []);
});

test("after a logout nothing is kept any more", () => {
  const tab = newBrowser();
  const drafts = openDrafts(tab);
  drafts.keep("t1", { draft: "Hello" });
  deletedDatabases.length = 0;
  drafts.clear();
  drafts.keep("t1", { draft: "Typed meanwhile" });
  drafts.keepOutbox("t1", [item("a")], []);
  assert.deepEqual([Object.keys(localStorage), Object.keys(tab.session)], [[], []]);
  assert.deepEqual(deletedDatabases, [IMAGES]);
});

test("after a logout nothing is heard of what others write", () => {
  const tab = newBrowser();
  const heard = [];
  openDrafts(tab, { heard }).clear();
  openDrafts(new Tab(), { owner: "bob" }).keepOutbox("t1", [item("a")], []);
  assert.deepEqual(heard, []);
});

test("words whose author never was known are gone with the logout", () => {
  const tab = newBrowser();
  const drafts = draftsIn(tab);
  drafts.keep("t1", { draft: "Early" });
  drafts.clear();
  assert.deepEqual(Object.keys(tab.session), []);
});

// Before it is known who writes

test("words whose author is not known yet are in the tab alone, and outlive a reload", () => {
  const tab = newBrowser();
  const drafts = draftsIn(tab);
  drafts.keep("t1", { draft: "Early" });
  drafts.keep("t1", { edit: { id: "m1", text: "x" } });
  assert.deepEqual(Object.keys(localStorage), []);
  tab.reload();
  assert.equal(draftsIn(tab).of("t1").draft, "Early");
  assert.equal(draftsIn(new Tab()).of("t1").draft, "");
});

test("nothing of an earlier visit is shown before it is known who writes", () => {
  const tab = newBrowser();
  const drafts = openDrafts(tab);
  drafts.keep("t1", { draft: "Older" });
  drafts.keepOutbox("t1", [item("a")], []);
  tab.reload();
  const early = draftsIn(tab);
  assert.deepEqual([early.of("t1").draft, early.of("t1").outbox, early.unsent.size], ["", [], 0]);
});

test("an early draft stands behind the draft of an earlier visit", () => {
  const tab = newBrowser();
  openDrafts(tab).keep("t1", { draft: "Older", forms: { f: { x: "1" } } });
  tab.reload();
  const drafts = draftsIn(tab);
  drafts.keep("t1", { draft: "Early", forms: { g: { y: "2" } } });
  drafts.start("ann", "t2");
  assert.equal(drafts.of("t1").draft, "Older\n\nEarly");
  assert.deepEqual(drafts.of("t1").forms, { f: { x: "1" }, g: { y: "2" } });
  tab.reload();
  assert.equal(openDrafts(tab).of("t1").draft, "Older\n\nEarly");
});

test("an early edit takes the place of the one of an earlier visit", () => {
  const tab = newBrowser();
  openDrafts(tab).keep("t1", { edit: { id: "m1", text: "Older" } });
  tab.reload();
  const drafts = draftsIn(tab);
  drafts.keep("t1", { edit: { id: "m2", text: "Early" } });
  drafts.start("ann", "t1");
  assert.equal(drafts.of("t1").edit.text, "Early");
});

test("an early draft of the open thread is left to the field, which has it", () => {
  const tab = newBrowser();
  openDrafts(tab).keep("t1", { draft: "Older" });
  tab.reload();
  const drafts = draftsIn(tab);
  drafts.keep("t1", { draft: "Early" });
  drafts.keep(null, { draft: "Early" });
  drafts.start("ann", "t1");
  assert.equal(drafts.of("t1").draft, "Older");
  assert.equal(drafts.of(null).draft, "Early");
});

test("an early draft of a new thread is left to the field, too", () => {
  const tab = newBrowser();
  openDrafts(tab).keep(null, { draft: "Older" });
  tab.reload();
  const drafts = draftsIn(tab);
  drafts.keep(null, { draft: "Early" });
  drafts.start("ann", null);
  assert.equal(drafts.of(null).draft, "Older");
});

test("messages that were sent early wait, also one that begins a thread", async () => {
  const tab = newBrowser();
  const drafts = draftsIn(tab);
  assert.equal(drafts.keepOutbox("t1", [item("a")], []), true);
  drafts.keepOutbox(null, [item("b", "thread_new")], []);
  assert.deepEqual(waiting(drafts, "t1"), []);
  tab.reload();
  const known = openDrafts(tab);
  assert.deepEqual([waiting(known, "t1"), waiting(known, "thread_new")], [["a"], ["b"]]);
  assert.deepEqual(known.notBegun, ["thread_new"]);
  await known.own("thread_new");
});

// Messages that wait

test("messages that two tabs have for a thread are all kept", () => {
  const tab = newBrowser();
  const [here, there] = [openDrafts(tab), openDrafts(new Tab())];
  here.keepOutbox("t1", [item("a")], []);
  there.keepOutbox("t1", [item("b")], []);
  assert.deepEqual(waiting(here, "t1").sort(), ["a", "b"]);
  here.keepOutbox("t1", [], [item("a")]);
  assert.deepEqual(waiting(there, "t1"), ["b"]);
});

test("a message that one tab has sent is not kept again by another", () => {
  const tab = newBrowser();
  const [here, there] = [openDrafts(tab), openDrafts(new Tab())];
  here.keepOutbox("t1", [item("a")], []);
  there.keepOutbox("t1", [], [item("a")]);
  assert.equal(here.isKept(item("a")), false);
  here.keepOutbox("t1", [item("a"), item("b")], [item("a")]);
  assert.deepEqual(waiting(here, "t1"), ["b"]);
});

test("a tab hears what others have changed, not what it has itself, and nothing of a former user", () => {
  const tab = newBrowser();
  const other = new Tab();
  const [heard, own] = [[], []];
  const early = [];
  draftsIn(new Tab(), early);
  openDrafts(tab, { heard });
  openDrafts(other, { heard: own }).keepOutbox("t1", [item("a")], []);
  assert.deepEqual(heard, [["t1", [], [item("a")]]]);
  other.run(() => localStorage.setItem("model", "x"));
  assert.equal(heard.length, 1);
  assert.deepEqual([own, early], [[], []]);
});

test("threads in which messages wait are known, and no others", () => {
  const drafts = openDrafts(newBrowser());
  drafts.keep("t1", { draft: "Hello" });
  drafts.keepOutbox("t2", [item("a", "t2")], []);
  drafts.keepOutbox(null, [item("b", "thread_new")], []);
  assert.deepEqual([...drafts.unsent].sort(), ["t2", "thread_new"]);
  assert.deepEqual(drafts.notBegun, ["thread_new"]);
});

test("messages that begin a thread are kept under its id, and the thread has begun once a message follows there", () => {
  const drafts = openDrafts(newBrowser());
  drafts.keepOutbox(null, [item("a", "thread_1"), item("b", "thread_1")], []);
  drafts.keepOutbox(null, [item("c", "thread_2")], []);
  assert.deepEqual(
    [waiting(drafts, "thread_1"), waiting(drafts, "thread_2"), waiting(drafts, null)],
    [["a", "b"], ["c"], []],
  );
  drafts.keepOutbox(
    "thread_1",
    [item("b", "thread_1")],
    [item("a", "thread_1"), item("b", "thread_1")],
  );
  assert.deepEqual(waiting(drafts, "thread_1"), ["b"]);
  assert.deepEqual(drafts.notBegun, ["thread_2"]);
});

test("messages that wait for a new thread belong to one tab until it is closed", async () => {
  const tab = newBrowser();
  const other = new Tab();
  const [here, there] = [openDrafts(tab), openDrafts(other)];
  here.keepOutbox(null, [item("a", "thread_1")], []);
  await here.own("thread_1");
  let isTheirs = false;
  const owned = there.own("thread_1").then(() => {
    isTheirs = true;
  });
  await settled();
  assert.equal(isTheirs, false);
  assert.equal(there.own("thread_1"), there.own("thread_1"));
  tab.close();
  await owned;
});

test("a tab that has gone elsewhere waits for no new thread, and may wait again later", async () => {
  const tab = newBrowser();
  const [here, there] = [openDrafts(tab), openDrafts(new Tab())];
  here.keepOutbox(null, [item("a", "thread_1")], []);
  await settled();
  const leaving = new AbortController();
  const owned = there.own("thread_1", leaving.signal);
  leaving.abort();
  await assert.rejects(owned);
  const again = there.own("thread_1", new AbortController().signal);
  tab.close();
  await again;
});

test("messages that an older page kept in one place move to their threads, once", () => {
  const tab = newBrowser();
  openDrafts(tab);
  localStorage.setItem(
    "words:",
    JSON.stringify({ draft: "Hello", outbox: [item("a", "thread_1")], at: 0 }),
  );
  tab.reload();
  const drafts = openDrafts(tab);
  assert.deepEqual(
    [waiting(drafts, null), waiting(drafts, "thread_1"), drafts.notBegun],
    [[], ["a"], ["thread_1"]],
  );
  assert.equal(drafts.of(null).draft, "Hello");
  drafts.keepOutbox("thread_1", [], [item("a", "thread_1")]);
  tab.reload();
  assert.deepEqual(openDrafts(tab).notBegun, []);
});

// What the storage holds

test("the storage holds a bounded number of drafts, and forgets the oldest, but nothing unsent", () => {
  const drafts = openDrafts(newBrowser());
  for (let n = 0; n < 200; n += 1) {
    const outbox = n === 0 ? [item("m", "t0")] : [];
    localStorage.setItem(`words:t${n}`, JSON.stringify({ at: n, draft: "x", outbox }));
  }
  drafts.keep(null, { draft: "Hello" });
  assert.equal(keys(localStorage).length, 60);
  assert.deepEqual(waiting(drafts, "t0"), ["m"]);
  assert.deepEqual(
    [drafts.of("t199").draft, drafts.of("t142").draft, drafts.of("t141").draft],
    ["x", "x", ""],
  );
  assert.equal(drafts.of(null).draft, "Hello");
});

test("a message that finds no room is on the page alone, and is sent from there", () => {
  const drafts = openDrafts(newBrowser());
  localStorage.limit(400);
  assert.equal(drafts.keepOutbox("t1", [item("a")], []), true);
  const long = item("b", "t1", { text: "x".repeat(400) });
  assert.equal(drafts.keepOutbox("t1", [item("a"), long], [item("a")]), false);
  assert.equal(drafts.isKept(long), true);
  assert.equal(drafts.isKept(item("a")), true);
  assert.deepEqual(waiting(drafts, "t1"), ["a"]);
});

test("words that are too long are on the page alone", () => {
  const drafts = openDrafts(newBrowser());
  drafts.keep("t1", { draft: "x".repeat(300_001) });
  assert.equal(drafts.of("t1").draft, "");
});

test("an entry that cannot be read is none", () => {
  const drafts = openDrafts(newBrowser());
  localStorage.setItem("words:t1", "{");
  localStorage.setItem("words:t2", "null");
  assert.deepEqual(
    [drafts.of("t1").draft, drafts.of("t2").outbox, drafts.unsent.size],
    ["", [], 0],
  );
});

test("the draft of the thread that was deleted last still names its images", () => {
  const tab = newBrowser();
  const drafts = openDrafts(tab);
  drafts.keep("t1", { draft: "Hello", images: [{ key: "image-1" }] });
  drafts.keep("t2", { draft: "Hello", images: [{ key: "image-2" }] });
  drafts.forget("t1");
  assert.deepEqual(
    [drafts.of("t1").draft, keys(localStorage), keys(tab.session)],
    ["", ["words:t2"], ["words:t2"]],
  );
  assert.deepEqual(
    [mentions("image-1"), mentions("image-2"), mentions("image-3")],
    [true, true, false],
  );
  drafts.forget("t3");
  assert.equal(mentions("image-1"), false);
});
