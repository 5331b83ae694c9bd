/** The list of threads, as it is loaded. */

import assert from "node:assert/strict";
import test from "node:test";
import { ThreadList } from "../../static/js/thread-list.js";

const threads = (from, to) =>
  Array.from({ length: to - from }, (_, i) => ({ id: `t${from + i}`, run_state: "finished" }));

/** A list whose requests are answered with these pages, one after the other. */
function listing(t, pages) {
  const asked = [];
  t.mock.method(globalThis, "fetch", async (address) => {
    asked.push(Number(new URL(address).searchParams.get("limit")));
    return new Response(JSON.stringify(pages.shift()));
  });
  return { list: new ThreadList(() => {}), asked };
}

test("the list is filled with pages, not with one thread at a time, if rules hide threads", async (t) => {
  const { list, asked } = listing(t, [
    { threads: threads(0, 30), cursor: "a" },
    { threads: threads(0, 29), cursor: "b" },
    { threads: [], cursor: "c" },
    { threads: threads(29, 31), cursor: "d" },
  ]);
  await list.refresh();
  await list.refresh();
  assert.deepEqual(asked, [30, 30, 30, 30]);
  assert.equal(list.state.threads.length, 31);
  assert.equal(list.state.cursor, "d");
});
