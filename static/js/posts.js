/** What begins a run: posted under a key of its own, and taken by the server or refused. */

import * as api from "./api.js";
import { restored } from "./messages.js";
import { randomHex } from "./secure-context.js";
import { isOutdated } from "./thread-state.js";
import { withVersions } from "./versions.js";

export class Posts {
  #thread;
  /**
   * By the id of a thread: `{controller, stops, runId}` of a post that the server has not answered
   * yet, the latest last.
   */
  #open = new Map();

  /** @param {import("./thread-store.js").ThreadStore} thread */
  constructor(thread) {
    this.#thread = thread;
  }

  /**
   * Post a body and follow its run. The turn is shown already, at the end of the thread.
   *
   * @param {Record<string, any>} body
   * @param {Record<string, any>} how
   *   `before`: the messages that are shown again if it is refused; `learns`: which versions its
   *   messages have; `item`: the message that waited to be sent; `interrupts`: those that stay
   *   open; `words`: `{text, images?}` that go back to the field if the thread is gone;
   *   `onTaken(turn)`; `onTakenLate()`: the thread was left meanwhile; `onRefused(error, before)`:
   *   instead of saying so; `onAnswered()`: any of these
   * @param {string} [key]  the same post under the same key begins one run
   */
  async post(body, how, key = randomHex(32)) {
    const { id } = this.#thread.state;
    // The body of a message names its thread: sent again under its key, it is the same text.
    const isNamed = id === null || body.thread_id !== undefined;
    const sent = isNamed ? body : { thread_id: id, must_exist: true, ...body };
    const attempt = () => this.#start(sent, key, how, attempt);
    await attempt();
  }

  /** Who leaves the thread meanwhile has the post go on: its message is in the thread then. */
  async #start(body, key, how, again) {
    const { run, listeners } = this.#thread;
    const { turn, signal } = run.begin();
    listeners.onRequest(body);
    const open = { controller: new AbortController(), stops: false, runId: null };
    this.#open.delete(body.thread_id);
    this.#open.set(body.thread_id, open);
    const response = await api.startRun(body, key, open.controller.signal).catch((error) => {
      if (!signal.aborted) this.#refused(error, how, again);
    });
    if (this.#open.get(body.thread_id) === open) this.#open.delete(body.thread_id);
    open.runId = response?.headers.get("X-Run-Id") ?? null;
    const isTaken = response && !signal.aborted;
    const { looksAt, version } = this.#thread.state;
    const follows = response?.headers.get("X-Previous-Run-Id") ?? version;
    const isElsewhere = (body.version ?? null) !== looksAt || follows !== version;
    const isQueued = Boolean(response?.headers.has("X-Queue-Place"));
    if (isTaken && isQueued) this.#queued(open, response.headers, how);
    else if (isTaken) this.#taken(response.headers, turn, how);
    else if (response) this.#takenLate(open, body.thread_id, how);
    how.onAnswered?.();
    if (!isTaken || isQueued) return;
    signal.addEventListener("abort", () => open.controller.abort());
    await run.follow(turn, { response, isElsewhere });
  }

  /** Another reader's run is live, or another message begins before this one. */
  #queued({ controller }, headers, how) {
    const thread = this.#thread;
    controller.abort();
    thread.run.refused();
    thread.set({ messages: restored(how.before, thread.state.messages) });
    thread.sender.queued(how.item, headers.get("X-Run-Id"));
  }

  /** Nobody here reads the run. */
  #takenLate({ controller, stops, runId }, threadId, how) {
    controller.abort();
    if (stops) api.stop(threadId, runId).catch(() => {});
    how.onTakenLate?.();
    this.#thread.listeners.onTakenLate(threadId);
  }

  /** Somebody else may log in: nothing is posted any more. */
  end() {
    for (const { controller } of this.#open.values()) controller.abort();
  }

  /** What was posted in a thread that was left is posted again, or taken back. */
  abandon(threadId) {
    this.#open.get(threadId)?.controller.abort();
  }

  /** The run that is on its way is stopped when it is taken. */
  stopLatest() {
    [...this.#open.values()].at(-1).stops = true;
  }

  /** The thread and its messages get their ids. */
  #taken(headers, turn, how) {
    const thread = this.#thread;
    const userId = headers.get("X-Message-Id");
    const id = headers.get("X-Thread-Id");
    const { state } = thread;
    const isNew = state.id === null;
    const learns = how.learns || state.looksAt !== null;
    turn.message.id = `${userId}.a`;
    const messages = state.messages.map((message) =>
      message.role === "user" && message.id === null ? { ...message, id: userId } : message,
    );
    const run = { ...state.run, id: headers.get("X-Run-Id") };
    const graph = state.graph ?? how.item?.body.graph ?? null;
    const about = {
      id,
      graph,
      messages,
      run,
      version: run.id,
      looksAt: null,
      loading: false,
      runState: "live",
    };
    thread.set({ ...about, interrupts: how.interrupts ?? [], resuming: null });
    how.onTaken?.(turn);
    thread.run.show(turn);
    thread.listeners.onStarted(id, isNew, headers.get("X-Previous-Run-Id"));
    if (learns) this.#learnVersions(turn);
    thread.sender.begun(how.item, isNew);
    if (run.stopping) thread.stop();
  }

  /**
   * A branch has begun: which versions its messages have by now. What fails is learned at the next
   * load.
   */
  async #learnVersions(turn) {
    const thread = this.#thread;
    const { id, version } = thread.state;
    const loaded = await api.thread(id).catch(() => null);
    const { state } = thread;
    if (!loaded || state.id !== id || state.version !== version || state.looksAt !== null) return;
    [turn.message] = withVersions([turn.message], loaded.messages);
    thread.set({ messages: withVersions(state.messages, loaded.messages) });
  }

  #refused(error, how, again) {
    const { run, sender, state } = this.#thread;
    run.refused();
    const before = restored(how.before, state.messages);
    if (error.code === "thread_not_found") sender.gone(how.words);
    else if (how.onRefused) how.onRefused(error, before);
    else this.#say(error, before, again);
  }

  /** What may be posted again as it is stays on the page until then. */
  #say(error, before, again) {
    const thread = this.#thread;
    const { messages } = thread.state;
    const waiting = messages.map((message) =>
      message.running ? { ...message, running: false } : message,
    );
    thread.set({ messages: error.isTransient ? waiting : before });
    thread.fail(error, error.isTransient ? again : null);
    if (!error.isTransient && isOutdated(error)) thread.refresh();
  }
}
