/** The graph of a new thread, and of one that has begun. */

import assert from "node:assert/strict";
import test from "node:test";
import { newBrowser } from "./browser.mjs";
import { Graphs, isOpenToChoice } from "../../static/js/graphs.js";
import { EMPTY } from "../../static/js/thread-state.js";
import { table } from "./tables.mjs";

const SEVERAL = [{ name: "writer" }, { name: "critic", description: "It judges." }];
const answer = (graphs) => {
  globalThis.fetch = async () => new Response(JSON.stringify({ graphs }));
};

/** As a tab loads them that has chosen before, in a browser that has. */
async function loaded(graphs, { tab = null, browser = null } = {}) {
  newBrowser();
  if (tab) sessionStorage.setItem("graph", tab);
  if (browser) localStorage.setItem("graph", browser);
  answer(graphs);
  const made = new Graphs(() => {});
  await made.load();
  return made;
}

table(
  "a new thread gets the tab's last choice, else the browser's, else the default",
  [
    [SEVERAL, {}, "writer"],
    [SEVERAL, { browser: "critic" }, "critic"],
    [SEVERAL, { browser: "critic", tab: "writer" }, "writer"],
    [SEVERAL, { browser: "gone" }, "writer"],
    [[{ name: "critic" }], { browser: "critic" }, null],
  ],
  async (graphs, kept, chosen) => assert.equal((await loaded(graphs, kept)).chosen, chosen),
);

test("a choice is the next one of this tab and of tabs to come", async () => {
  const graphs = await loaded(SEVERAL, { browser: "writer" });
  graphs.choose("critic");
  assert.deepEqual(
    [sessionStorage.getItem("graph"), localStorage.getItem("graph")],
    ["critic", "critic"],
  );
});

table(
  "a thread that has begun keeps its graph, whatever is chosen",
  [
    [{}, "critic"],
    [{ outbox: [{ body: { graph: "writer" } }] }, "writer"],
    [{ id: "t", graph: "writer" }, "writer"],
    [{ id: "t", graph: "gone" }, "gone"],
    [{ id: "t" }, "writer"],
    [{ id: "t", loading: true }, undefined],
  ],
  async (state, name) => {
    const graphs = await loaded(SEVERAL, { tab: "critic" });
    assert.equal(graphs.of({ ...EMPTY, ...state })?.name, name);
  },
);

test("the graph can be chosen until something is sent", () => {
  assert.equal(isOpenToChoice(EMPTY), true);
  for (const state of [{ id: "t" }, { messages: [{}] }, { outbox: [{}] }])
    assert.equal(isOpenToChoice({ ...EMPTY, ...state }), false);
});
