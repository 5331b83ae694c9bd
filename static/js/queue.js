/**
 * Messages that wait on the server for the end of a run: what it says of them, for every tab and
 * reader, and how they are changed. Each has the id of the run that it gets.
 */

import * as api from "./api.js";
import { imagesOf, partsOf } from "./parts.js";
import { runBegins } from "./run-stream.js";

const AGAIN_MS = 1000;
const MAX_AGAIN_MS = 15_000;

/** @param {Record<string, any>[]} [told]  by the server; a request may have no message */
export const queueOf = (told = []) =>
  told.map(({ run_id: runId, message, problem = null, due_at: dueAt }) => ({
    runId,
    problem,
    dueAt: dueAt ? Date.parse(dueAt) : 0,
    id: message?.id ?? null,
    parts: message ? partsOf(message) : [],
  }));

/** The one that begins next: those that are due later hold up no others. */
function nextOf(queue) {
  const now = Date.now();
  const from = ({ dueAt = 0 }) => Math.max(dueAt, now);
  return queue.filter(({ problem }) => !problem).sort((a, b) => from(a) - from(b))[0];
}

/**
 * Whether a thread shows the last run that the server tells of. Its message may have been shown to
 * wait, since the thread did not have it yet.
 */
function showsLast({ version, queue: shown }, { run_id: lastId, queue }) {
  const waits = shown.some(({ runId }) => runId === lastId);
  return lastId === version && (!waits || queue.some(({ run_id: runId }) => runId === lastId));
}

export class Queue {
  #thread;
  /** Aborted when nobody here waits for the next run any more. */
  #watching = null;
  /** How often it was asked what waits. */
  #asked = 0;
  /** The run that was waited for last, and when it is waited for again. */
  #last = { runId: null, againMs: 0 };

  /** @param {import("./thread-store.js").ThreadStore} thread */
  constructor(thread) {
    this.#thread = thread;
  }

  /** The server has taken a message, which waits. */
  add(message) {
    const { queue } = this.#thread.state;
    if (!queue.some(({ runId }) => runId === message.runId)) this.#is([...queue, message]);
    this.#thread.listeners.onQueue();
  }

  /**
   * Ask what waits, and go on with the thread if it has another run by now: a message that has
   * waited, or another reader's.
   */
  async look() {
    const { id } = this.#thread.state;
    if (id === null) return;
    this.#asked += 1;
    const asked = this.#asked;
    const told = await api.queue(id).catch((error) => ({ error }));
    const { state, busy } = this.#thread;
    // A later answer may know of a message that this one does not.
    if (state.id !== id || asked < this.#asked) return;
    if (told.error?.isTransient) this.watch();
    else if (!busy && (told.error || !showsLast(state, told))) await this.#thread.refresh();
    else if (told.queue) {
      this.#is(queueOf(told.queue));
      this.#thread.sender.loaded();
      this.watch();
    }
  }

  /** Show the next run as soon as it begins: nothing is live, and it may begin at any moment. */
  async watch() {
    this.leave();
    const { id, run, queue } = this.#thread.state;
    const next = nextOf(queue);
    if (run || !next) return;
    this.#watching = new AbortController();
    const { signal } = this.#watching;
    const { runId, againMs } = this.#last;
    const isAgain = runId === next.runId;
    this.#last = {
      runId: next.runId,
      againMs: isAgain ? Math.min(againMs * 2, MAX_AGAIN_MS) : AGAIN_MS,
    };
    await runBegins(id, next.runId, signal, isAgain ? againMs : 0);
    if (!signal.aborted) await this.look();
  }

  /** Nobody here waits for the next run. */
  leave() {
    this.#watching?.abort();
    this.#watching = null;
  }

  /** Other words, in their place. Throws a Problem. */
  async edit(message, text) {
    const parts = [...imagesOf(message), ...(text ? [{ type: "text", text }] : [])];
    await this.#change(message, { message: { parts } });
  }

  /** Try a message again that could not begin. Throws a Problem. */
  async again({ runId, parts }) {
    await this.#change({ runId }, { message: { parts } });
  }

  /** Have a message begin before the others. Throws a Problem. */
  async first(message) {
    if (this.#thread.state.queue[0]?.runId !== message.runId)
      await this.#change(message, { place: 1 });
  }

  /** Its run does not begin. Throws a Problem. */
  async withdraw({ runId }) {
    await this.#changed(api.withdraw(this.#thread.state.id, runId));
  }

  #change({ runId }, change) {
    return this.#changed(api.changeQueued(this.#thread.state.id, runId, change));
  }

  /** What is shown then is what the server has, also if it has refused. */
  async #changed(answer) {
    try {
      await answer;
    } finally {
      await this.look();
      this.#thread.listeners.onQueue();
    }
  }

  #is(queue) {
    this.#thread.set({ queue });
  }
}
