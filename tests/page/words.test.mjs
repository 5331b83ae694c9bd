/** Words between the page and the browser that keeps them. */

import assert from "node:assert/strict";
import test from "node:test";
import { newBrowser, Tab } from "./browser.mjs";
import { Drafts } from "../../static/js/drafts.js";
import { Words } from "../../static/js/words.js";

const settled = () => new Promise(setImmediate);
const item = (id, threadId = "t1", images = []) => ({
  id,
  text: id,
  images,
  body: { thread_id: threadId },
  key: id,
});
const image = (key) => ({ key, alt: "" });
const ids = (items) => items.map(({ id }) => id);

/**
 * A page that shows a thread, with the images that its browser has. `done` is what it was told to
 * do, in order.
 */
function pageOf({ id = null, outbox = [], text = "", found = [] } = {}) {
  const done = [];
  const note =
    (name) =>
    (...given) =>
      done.push([name, ...given]);
  const thread = {
    state: { id, outbox },
    open(to, items) {
      thread.state = { id: to, outbox: items };
      done.push(["open", to, ids(items)]);
    },
    sender: {
      pause: note("pause"),
      take: (items) => items.length && done.push(["take", thread.state.id, ids(items), items]),
      changedElsewhere: (before, items) => done.push(["changed", ids(before), ids(items)]),
      deletedElsewhere: (items) => done.push(["deleted", ids(items)]),
      withdraw: ({ id: gone }) => done.push(["withdraw", gone]),
    },
  };
  const kept = [];
  const attachments = {
    all: [],
    keep: (images) => kept.push(images.map(({ key }) => key)),
    loaded: async (images) =>
      images
        .filter(({ key }) => found.includes(key))
        .map(({ key }) => ({ key, alt: "", dataUrl: `data:${key}` })),
  };
  const composer = { text, attachments, restore: note("restore"), focus: note("focus") };
  const page = { drafts: new Drafts(() => {}), composer, thread, notice: { say: note("say") } };
  return { page, words: new Words(page), done, kept };
}

/** The storage of an earlier visit of Ann's. */
function earlier(keep) {
  const tab = newBrowser();
  const drafts = new Drafts(() => {});
  drafts.start("ann", null);
  keep(drafts);
  tab.reload();
}

const start = (words) => words.start("ann", () => {});
const of = (done, name) => done.filter(([one]) => one === name);

test("when it is known who writes, messages of an earlier visit wait in their thread", async () => {
  earlier((drafts) => drafts.keepOutbox("t1", [item("a"), item("b")], []));
  const { words, done } = pageOf({ id: "t1" });
  start(words);
  await settled();
  assert.deepEqual(
    of(done, "take").map(([, id, items]) => [id, items]),
    [["t1", ["a", "b"]]],
  );
});

test("a known author is not learned again", async () => {
  newBrowser();
  const { words } = pageOf();
  let count = 0;
  for (let n = 0; n < 2; n += 1) words.start("ann", () => (count += 1));
  assert.equal(count, 1);
});

test("text typed before its author is known is kept with the rest", () => {
  earlier((drafts) => drafts.keep("t1", { draft: "Older" }));
  const { page, words } = pageOf({ id: "t1", text: "Early" });
  words.start("ann", (id, typed) => {
    page.composer.text = `${page.drafts.of(id).draft}\n\n${typed}`;
  });
  assert.equal(page.drafts.of("t1").draft, "Older\n\nEarly");
});

test("a new thread takes over what a closed tab has left for new threads, and no other messages", async () => {
  earlier((drafts) => {
    drafts.keepOutbox("t1", [item("a")], []);
    drafts.keepOutbox(null, [item("b", "thread_1")], []);
  });
  const { words, done } = pageOf();
  start(words);
  await settled();
  assert.deepEqual(
    of(done, "take").map(([, id, items]) => [id, items]),
    [[null, ["b"]]],
  );
});

test("a message that waits for a new thread goes into no thread that was opened meanwhile", async () => {
  earlier((drafts) => drafts.keepOutbox(null, [item("b", "thread_1")], []));
  const { page, words, done } = pageOf();
  start(words);
  words.opened("t1");
  await settled();
  await settled();
  assert.deepEqual(of(done, "take"), []);
  assert.deepEqual(page.drafts.notBegun, ["thread_1"]);
});

/** A tab whose message waits for a new thread, and one that shows another new thread. */
function besideOwner() {
  const owner = newBrowser();
  const drafts = new Drafts(() => {});
  drafts.start("ann", null);
  drafts.keepOutbox(null, [item("b", "thread_1")], []);
  const tab = new Tab();
  const { words, done } = tab.run(() => pageOf());
  tab.run(() => start(words));
  return { owner, drafts, tab, words, done };
}

test("a message of a new thread is taken over when its tab is closed, and not before", async () => {
  const { owner, tab, done } = besideOwner();
  await settled();
  assert.deepEqual(of(done, "take"), []);
  owner.close();
  await settled();
  assert.deepEqual(
    tab.run(() => of(done, "take")).map(([, id, items]) => [id, items]),
    [[null, ["b"]]],
  );
});

test("a message whose thread has begun meanwhile is not taken over", async () => {
  const { owner, drafts, done } = besideOwner();
  await settled();
  owner.run(() =>
    drafts.keepOutbox(
      "thread_1",
      [item("b", "thread_1"), item("c", "thread_1")],
      [item("b", "thread_1")],
    ),
  );
  owner.close();
  await settled();
  assert.deepEqual(of(done, "take"), []);
});

test("a tab that has opened a thread leaves new threads to others", async () => {
  const { owner, tab, words } = besideOwner();
  await settled();
  tab.run(() => words.opened("t1"));
  owner.close();
  await settled();
  const third = new Tab();
  const drafts = third.run(() => new Drafts(() => {}));
  const owned = await Promise.race([
    third.run(() => drafts.own("thread_1")).then(() => true),
    settled().then(settled),
  ]);
  assert.equal(owned, true);
});

test("messages come with their images", async () => {
  earlier((drafts) => drafts.keepOutbox("t1", [item("a", "t1", [image("k")]), item("b")], []));
  const { words, done } = pageOf({ id: "t1", found: ["k"] });
  start(words);
  await settled();
  await settled();
  const [[, , names, items]] = of(done, "take");
  assert.deepEqual(names, ["a", "b"]);
  assert.equal(items[0].images[0].dataUrl, "data:k");
});

test("a message whose images are lost is not sent: its words and the images that are left go to the field", async () => {
  earlier((drafts) =>
    drafts.keepOutbox("t1", [item("a", "t1", [image("k"), image("lost")]), item("b")], []),
  );
  const { page, words, done } = pageOf({ id: "t1", found: ["k"] });
  start(words);
  await settled();
  await settled();
  assert.deepEqual(
    of(done, "take").map(([, , items]) => items),
    [["b"]],
  );
  assert.deepEqual(of(done, "restore"), [
    ["restore", "a", [{ key: "k", alt: "", dataUrl: "data:k" }]],
  ]);
  assert.match(of(done, "say")[0][1], /were not kept/);
  assert.deepEqual(ids(page.drafts.of("t1").outbox), ["b"]);
});

test("a thread is opened with the messages that wait in it; those with images follow", async () => {
  earlier((drafts) => {
    drafts.keepOutbox("t1", [item("a")], []);
    drafts.keepOutbox("t2", [item("b", "t2", [image("k")])], []);
  });
  const { words, done } = pageOf({ found: ["k"] });
  start(words);
  words.opened("t1");
  words.opened("t2");
  await settled();
  await settled();
  assert.deepEqual(of(done, "open"), [
    ["open", "t1", ["a"]],
    ["open", "t2", []],
  ]);
  assert.deepEqual(
    of(done, "take").map(([, id, items]) => [id, items]),
    [["t2", ["b"]]],
  );
});

test("images that come when their thread was left go nowhere, and still wait there", async () => {
  earlier((drafts) => drafts.keepOutbox("t1", [item("a", "t1", [image("lost")])], []));
  const { page, words, done } = pageOf();
  start(words);
  words.opened("t1");
  words.opened("t2");
  await settled();
  await settled();
  assert.deepEqual(
    [of(done, "take"), of(done, "restore"), ids(page.drafts.of("t1").outbox)],
    [[], [], ["a"]],
  );
});

test("changes of another tab are made in their thread alone, one after the other", async () => {
  newBrowser();
  const { page, words, done } = pageOf({ id: "t1", found: ["k"] });
  start(words);
  words.changedElsewhere("t2", [], [item("x", "t2")]);
  words.changedElsewhere("t1", [], [item("a", "t1", [image("k")])]);
  words.changedElsewhere("t1", [item("a")], []);
  for (let n = 0; n < 3; n += 1) await settled();
  assert.deepEqual(of(done, "changed"), [
    ["changed", [], ["a"]],
    ["changed", ["a"], []],
  ]);
  page.thread.state = { id: null, outbox: [item("n", "thread_1")] };
  words.changedElsewhere("thread_1", [item("n", "thread_1")], []);
  words.changedElsewhere("thread_2", [], [item("o", "thread_2")]);
  for (let n = 0; n < 3; n += 1) await settled();
  assert.deepEqual(of(done, "changed").slice(2), [["changed", ["n"], []]]);
});

test("the deletion of a thread in another tab is for that thread alone", async () => {
  newBrowser();
  const { words, done } = pageOf({ id: "t1" });
  await words.deletedElsewhere("t2", [item("b", "t2")]);
  await words.deletedElsewhere("t1", [item("a")]);
  assert.deepEqual(of(done, "deleted"), [["deleted", ["a"]]]);
});

test("a message that is taken back goes to the field, with its images", () => {
  newBrowser();
  const { words, done } = pageOf({ id: "t1" });
  words.takeBack(item("a", "t1", [image("k")]));
  assert.deepEqual(done, [["withdraw", "a"], ["restore", "a", [image("k")]], ["focus"]]);
});

test("images are kept once their words are, and by nobody before it is known who writes", () => {
  newBrowser();
  const { page, words, kept } = pageOf({ id: "t1" });
  words.keepDraft("t1", "Early", []);
  assert.deepEqual(kept, []);
  start(words);
  words.keepDraft("t1", "Look", [image("k")]);
  assert.equal(words.keepOutbox("t1", [item("a", "t1", [image("l")])], []), true);
  assert.deepEqual(kept, [["k"], ["l"]]);
  assert.deepEqual(page.drafts.of("t1").images, [image("k")]);
});
