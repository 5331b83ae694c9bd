/** Messages that wait on the server. */

import assert from "node:assert/strict";
import test from "node:test";
import "./browser.mjs";
import { Queue, queueOf } from "../../static/js/queue.js";
import { EMPTY } from "../../static/js/thread-state.js";

const settled = () => new Promise(setImmediate);
const told = (runId, text, rest = {}) => ({
  run_id: runId,
  message: { id: `msg_${runId}`, role: "user", parts: [{ type: "text", text }] },
  queued_at: "2024-01-01T00:00:00.000Z",
  stream_url: `/chat/t1/stream?last_event_id=${runId}:0`,
  ...rest,
});
const streamOf = (text) => new Response(new Blob([text]).stream());
const json = (body, status = 200) => new Response(JSON.stringify(body), { status });

/**
 * A thread whose server answers a path and method with what `answers` has; `asked` are the
 * requests, `refreshed` how often the thread was loaded.
 */
function threadOf(answers, state = {}) {
  const asked = [];
  globalThis.fetch = async (address, { method, body, headers }) => {
    const url = address.replace("http://page.test/desk", "");
    asked.push([method, url, body && JSON.parse(body), headers["Last-Event-ID"]]);
    const answer = answers[`${method} ${url}`];
    return answer ? answer() : new Promise(() => {});
  };
  const thread = {
    state: { ...EMPTY, id: "t1", version: "r1", ...state },
    refreshed: 0,
    words: 0,
    looked: 0,
    sender: { loaded: () => (thread.looked += 1) },
    get busy() {
      return thread.state.run !== null;
    },
    set(changes) {
      thread.state = { ...thread.state, ...changes };
    },
    async refresh() {
      thread.refreshed += 1;
    },
    listeners: { onQueue: () => (thread.words += 1) },
  };
  return { thread, queue: new Queue(thread), asked };
}

const LIVE = { run: { id: "r1" } };
const shown = ({ state }) => state.queue.map(({ runId }) => runId);

test("what the server tells of a message is shown; a request may have none", () => {
  const problem = { code: "thread_changed", message: "Changed." };
  assert.deepEqual(queueOf(undefined), []);
  assert.deepEqual(queueOf([told("r2", "Hi"), told("r3", "", { message: null, problem })]), [
    { runId: "r2", problem: null, dueAt: 0, id: "msg_r2", parts: [{ type: "text", text: "Hi" }] },
    { runId: "r3", problem, dueAt: 0, id: null, parts: [] },
  ]);
});

test("a message that the server has taken is shown once, and other tabs are told", () => {
  const { thread, queue } = threadOf({}, LIVE);
  const [message] = queueOf([told("r2", "Hi")]);
  queue.add(message);
  queue.add(message);
  assert.deepEqual(shown(thread), ["r2"]);
  assert.equal(thread.words, 2);
});

test("while a run is read here, what waits is shown, and the next run is left for later", async () => {
  const { thread, queue, asked } = threadOf(
    { "GET /threads/t1/queue": () => json({ run_id: "r2", queue: [told("r3", "Hi")] }) },
    LIVE,
  );
  await queue.look();
  assert.deepEqual(shown(thread), ["r3"]);
  assert.equal(thread.refreshed, 0);
  assert.equal(asked.length, 1);
});

test("what the server has waiting is not to be sent any more", async () => {
  const { thread, queue } = threadOf(
    { "GET /threads/t1/queue": () => json({ run_id: "r1", queue: [told("r2", "Hi")] }) },
    LIVE,
  );
  await queue.look();
  assert.equal(thread.looked, 1);
});

test("an answer of before does not take away what the server has taken since", async () => {
  const answers = [];
  const { thread, queue } = threadOf(
    { "GET /threads/t1/queue": () => new Promise((resolve) => answers.push(resolve)) },
    LIVE,
  );
  const looks = [queue.look(), queue.look()];
  answers[1](json({ run_id: "r1", queue: [told("r2", "Hi")] }));
  await looks[1];
  answers[0](json({ run_id: "r1", queue: [] }));
  await looks[0];
  assert.deepEqual(shown(thread), ["r2"]);
});

test("a message that was shown to wait while its run was live is loaded when it is over", async () => {
  const { thread, queue } = threadOf({
    "GET /threads/t1/queue": () => json({ run_id: "r1", queue: [] }),
  });
  thread.set({ queue: queueOf([told("r1", "Hi")]) });
  await queue.look();
  assert.equal(thread.refreshed, 1);
});

test("a thread with another run by now is loaded, and one that cannot be asked stays", async () => {
  const of = (answer) => threadOf({ "GET /threads/t1/queue": answer });
  const other = of(() => json({ run_id: "r2", queue: [] }));
  await other.queue.look();
  assert.equal(other.thread.refreshed, 1);
  const away = of(() => Promise.reject(new TypeError("away")));
  away.thread.set({ queue: queueOf([told("r2", "Hi")]) });
  await away.queue.look();
  assert.deepEqual([shown(away.thread), away.thread.refreshed], [["r2"], 0]);
  assert.deepEqual(away.asked.at(-1).slice(0, 2), ["GET", "/chat/t1/stream"], "it is waited for");
  const gone = of(() => json({ code: "thread_not_found", detail: "Gone." }, 404));
  await gone.queue.look();
  assert.equal(gone.thread.refreshed, 1);
});

test("the next run is shown as soon as it begins, and pings are no beginning", async () => {
  let begins;
  const begun = new Promise((resolve) => {
    begins = resolve;
  });
  const stream = new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode(": ping\n\n"));
      await begun;
      controller.enqueue(new TextEncoder().encode('id: r3:1\ndata: {"type":"step-start"}\n\n'));
    },
  });
  const problem = { code: "forbidden", message: "No." };
  const { thread, queue, asked } = threadOf({
    "GET /chat/t1/stream": () => new Response(stream),
    "GET /threads/t1/queue": () => json({ run_id: "r3", queue: [] }),
  });
  thread.set({ queue: queueOf([told("r2", "Refused", { problem }), told("r3", "Hi")]) });
  const watching = queue.watch();
  await settled();
  await settled();
  assert.deepEqual(
    asked.map(([method, url, , cursor]) => [method, url, cursor]),
    [["GET", "/chat/t1/stream", "r3:0"]],
  );
  assert.equal(thread.refreshed, 0);
  begins();
  await watching;
  assert.equal(thread.refreshed, 1);
});

test("a message that is due later is waited for when no other begins before it", async () => {
  const { thread, queue, asked } = threadOf({});
  const due = (seconds) => ({ due_at: new Date(Date.now() + seconds * 1000).toISOString() });
  const [r2, r3] = [told("r2", "Late", due(90)), told("r3", "Soon", due(60))];
  const waited = async (...messages) => {
    thread.set({ queue: queueOf(messages) });
    queue.watch();
    await settled();
    return asked.at(-1)[3];
  };
  assert.equal(await waited(r2, r3), "r3:0");
  assert.equal(await waited(r2, r3, told("r4", "Now"), told("r5", "Then")), "r4:0");
  assert.equal(await waited(r2, told("r6", "Due", due(-9)), told("r7", "Then")), "r6:0");
});

test("who has left the thread waits for no run", async () => {
  const { thread, queue, asked } = threadOf({
    "GET /chat/t1/stream": () => streamOf('data: {"type":"step-start"}\n\n'),
  });
  thread.set({ queue: queueOf([told("r2", "Hi")]) });
  const watching = queue.watch();
  queue.leave();
  await watching;
  assert.equal(asked.filter(([, url]) => url.endsWith("/queue")).length, 0);
  thread.set({ ...LIVE });
  await queue.watch();
  assert.equal(asked.length, 1);
});

test("a message is edited with its images, moved ahead, and withdrawn", async () => {
  const image = { type: "image", image: "data:image/png;base64,AA==" };
  const { thread, queue, asked } = threadOf(
    {
      "PATCH /threads/t1/queue/r2": () => json({}),
      "PATCH /threads/t1/queue/r3": () => json({}),
      "DELETE /threads/t1/queue/r2": () => new Response(null, { status: 204 }),
      "GET /threads/t1/queue": () => json({ run_id: "r1", queue: [told("r3", "Last")] }),
    },
    LIVE,
  );
  thread.set({ queue: queueOf([told("r2", "Hi"), told("r3", "Last")]) });
  const [first, last] = thread.state.queue;
  await queue.first(first);
  await queue.first(last);
  await queue.edit({ ...first, parts: [image, ...first.parts] }, "Better");
  await queue.withdraw(first);
  assert.deepEqual(
    asked.filter(([method]) => method !== "GET").map(([method, url, body]) => [method, url, body]),
    [
      ["PATCH", "/threads/t1/queue/r3", { place: 1 }],
      [
        "PATCH",
        "/threads/t1/queue/r2",
        { message: { parts: [image, { type: "text", text: "Better" }] } },
      ],
      ["DELETE", "/threads/t1/queue/r2", undefined],
    ],
  );
  assert.deepEqual(shown(thread), ["r3"]);
  assert.equal(thread.words, 3);
});

test("a refused change shows what the server has, and is told", async () => {
  const { thread, queue } = threadOf(
    {
      "DELETE /threads/t1/queue/r2": () => json({ code: "not_queued", detail: "Begun." }, 404),
      "GET /threads/t1/queue": () => json({ run_id: "r1", queue: [] }),
    },
    LIVE,
  );
  thread.set({ queue: queueOf([told("r2", "Hi")]) });
  await assert.rejects(queue.withdraw(thread.state.queue[0]), { code: "not_queued" });
  assert.deepEqual(shown(thread), []);
});
