/** The search in the list of threads. */

import assert from "node:assert/strict";
import test from "node:test";
import { ThreadSearch } from "../../static/js/thread-search.js";

/** A search whose requests are answered, and whose pauses end, when the test says so. */
function searching(t) {
  const timers = new Map();
  const requests = [];
  const told = [];
  let count = 0;
  t.mock.method(globalThis, "setTimeout", (act) => timers.set((count += 1), act) && count);
  t.mock.method(globalThis, "clearTimeout", (timer) => timers.delete(timer));
  t.mock.method(
    globalThis,
    "fetch",
    (address) =>
      new Promise((resolve, reject) => {
        const url = address.replace("http://page.test/desk", "");
        requests.push({ url, resolve, reject });
      }),
  );
  const answer = async (number, body, status = 200) => {
    requests[number].resolve(new Response(JSON.stringify(body), { status }));
    await settled();
  };
  return {
    search: new ThreadSearch(
      () => {},
      (words) => told.push(words),
    ),
    requests,
    told,
    answer,
    pause() {
      for (const [timer, act] of [...timers]) {
        timers.delete(timer);
        act();
      }
    },
  };
}

const settled = () => new Promise(setImmediate);
const found = (...ids) => ({ threads: ids.map((id) => ({ id })) });
const shown = ({ state }) => state.threads.map(({ id }) => id);

test("words are looked for once, when the typing pauses", async (t) => {
  const { search, requests, told, pause, answer } = searching(t);
  for (const words of ["l", "li", "light house"]) search.look(words);
  assert.equal(requests.length, 0);
  assert.equal(search.state.loading, true);
  pause();
  assert.deepEqual(
    requests.map(({ url }) => url),
    ["/threads?limit=30&q=light%20house"],
  );
  await answer(0, found("a"));
  assert.deepEqual([shown(search), search.state.loading], [["a"], false]);
  assert.deepEqual(told, ["1 thread found"]);
});

test("pages on which a rule of the server hides everything are passed over", async (t) => {
  const { search, requests, told, pause, answer } = searching(t);
  search.look("one");
  pause();
  await answer(0, { threads: [], cursor: "next" });
  assert.equal(requests[1].url, "/threads?limit=30&q=one&cursor=next");
  await answer(1, found("a"));
  assert.deepEqual([shown(search), told], [["a"], ["1 thread found"]]);
});

test("an answer that comes late is not shown for other words", async (t) => {
  const { search, told, pause, answer } = searching(t);
  search.look("one");
  pause();
  search.look("two");
  pause();
  await answer(1, found("two"));
  await answer(0, found("one"));
  assert.deepEqual(shown(search), ["two"]);
  assert.deepEqual(told, ["1 thread found"]);
});

test("an answer that comes while further words are typed is not shown", async (t) => {
  const { search, pause, answer } = searching(t);
  search.look("one");
  pause();
  search.look("one two");
  await answer(0, found("one"));
  assert.deepEqual(shown(search), []);
  assert.equal(search.state.loading, true);
});

test("without words the list is back, whatever comes then", async (t) => {
  const { search, requests, pause, answer } = searching(t);
  search.look("one");
  pause();
  search.look("  ");
  assert.equal(search.isOn, false);
  await answer(0, found("one"));
  pause();
  await search.refresh();
  assert.deepEqual([shown(search), search.state.loading, requests.length], [[], false, 1]);
});

test("the threads found stay while other words are looked for", async (t) => {
  const { search, pause, answer } = searching(t);
  search.look("one");
  pause();
  await answer(0, found("a"));
  search.look("two");
  assert.deepEqual(shown(search), ["a"]);
});

test("a refusal and an outage have their sentences", async (t) => {
  const { search, requests, told, pause, answer } = searching(t);
  search.look("...");
  pause();
  await answer(0, { code: "invalid_query", detail: "q has no words" }, 422);
  assert.equal(search.state.failure, "Look for words of letters or digits.");
  search.look("one");
  pause();
  requests[1].reject(new TypeError("network"));
  await settled();
  assert.match(search.state.failure, /cannot be reached/);
  assert.deepEqual(told, ["Look for words of letters or digits.", search.state.failure]);
});

test("the same words again are told to nobody", async (t) => {
  const { search, told, pause, answer } = searching(t);
  search.look("one");
  pause();
  await answer(0, found());
  const again = search.refresh();
  await answer(1, found("a"));
  await again;
  assert.deepEqual([shown(search), told], [["a"], ["No thread found"]]);
});

test("further pages bring no thread twice, and none for other words", async (t) => {
  const { search, requests, told, pause, answer } = searching(t);
  search.look("one");
  pause();
  await answer(0, { ...found("a", "b"), cursor: "c 1" });
  let more = search.more();
  assert.match(requests[1].url, /&cursor=c%201$/);
  await answer(1, found("b", "c"));
  await more;
  assert.deepEqual(shown(search), ["a", "b", "c"]);
  assert.deepEqual(told, ["2 threads or more found", "3 threads found"]);
  more = search.more();
  search.look("two");
  await answer(2, found("d"));
  await more;
  assert.deepEqual(shown(search), ["a", "b", "c"]);
});
