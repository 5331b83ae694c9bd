/** The live run of the open thread: read to its end, and shown meanwhile. One at a time. */

import { decisionsBut } from "./approvals.js";
import { prepare } from "./components.js";
import { keyed } from "./interrupts.js";
import { afterState, withEvent } from "./ui-messages.js";
import { settledIn } from "./messages.js";
import { toAccumulated } from "./parts.js";
import { DONE, readRun } from "./run-stream.js";
import { isOfSubstep } from "./substeps.js";
import { Turn } from "./turn.js";

export class LiveRun {
  #thread;
  /** Aborted when nobody here reads the run any more; it goes on all the same. */
  #reader = null;
  /** What waits for its end. */
  #waiting = [];
  /** The frame in which the turn is shown again; 0: none is asked for. */
  #frame = 0;

  /** @param {import("./thread-store.js").ThreadStore} thread */
  constructor(thread) {
    this.#thread = thread;
  }

  /** Another one, or null, when something else is read since. */
  get reader() {
    return this.#reader;
  }

  /**
   * What begins a run is on its way; the message of its turn is the last that is shown.
   *
   * @returns {{turn: Turn, signal: AbortSignal}}
   */
  begin() {
    this.#thread.queue.leave();
    this.#reader = new AbortController();
    const turn = new Turn(this.#thread.state.messages.at(-1), performance.now());
    this.#thread.set({ problem: null, run: { id: null, attempt: 0 } });
    this.show(turn);
    return { turn, signal: this.#reader.signal };
  }

  /** The server has not taken it. */
  refused() {
    this.#reader = null;
    this.#thread.set({ run: null });
    this.#wake();
    // What was loaded meanwhile has been left out.
    if (this.#thread.state.loading) this.#thread.reload();
    else this.#thread.queue.watch();
  }

  /**
   * Go on with a run that was begun elsewhere, or before the page was loaded.
   *
   * @param {Record<string, any>} loaded  the thread
   */
  attach({ id, run }) {
    const message = this.#thread.state.messages.find((item) => item.id === run.message_id);
    const parts = message.parts.slice(run.first_part).map(toAccumulated);
    const earlier = { ...message, parts: message.parts.slice(0, run.first_part) };
    const turn = new Turn(earlier, undefined, parts.length);
    turn.take({ parts, metadata: { steps: [], unstable_data: [] }, status: { type: "running" } });
    this.#reader = new AbortController();
    this.#thread.set({ run: { id: run.id, attempt: 0 }, runState: "live", version: run.id });
    this.show(turn);
    return this.follow(turn, { cursor: run.cursor, parts, threadId: id });
  }

  /**
   * @param {import("./turn.js").Turn} turn
   * @param {Record<string, any>} source  `isElsewhere`: it goes on from other messages than those
   *   shown
   */
  async follow(turn, source) {
    const { signal } = this.#reader;
    prepare();
    let end;
    try {
      end = await this.#read(turn, source, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#close(turn);
      this.#thread.fail(error, () => this.#thread.reload());
      return;
    }
    if (signal.aborted) return;
    this.#close(turn);
    const isOrderly = end === DONE && !turn.message.error && !turn.message.ended && !turn.isStale;
    if (!isOrderly || source.isElsewhere) await this.#thread.refresh();
    this.#thread.settled();
  }

  #read(turn, source, signal) {
    const thread = this.#thread;
    return readRun({
      threadId: thread.state.id,
      parts: [],
      ...source,
      signal,
      onMessage: (message) => {
        turn.take(message);
        for (const settled of turn.newlySettled())
          thread.set({ messages: settledIn(thread.state.messages, settled) });
        if (!signal.aborted) this.show(turn);
      },
      onEvent: (event) => {
        turn.see(event, performance.now());
        if (!signal.aborted) this.#discard(turn.newlyDiscarded());
        if (!signal.aborted) this.#drawUi(turn.newlyToldUi());
        if (isOfSubstep(event)) this.#showSoon(turn, signal);
        thread.listeners.onEvent(event);
      },
      onConnection: (attempt) => {
        if (!signal.aborted) thread.set({ run: { ...thread.state.run, attempt } });
      },
    });
  }

  /** The turn stands in the thread as it is by now. */
  show(turn) {
    const { messages } = this.#thread.state;
    const index = messages.findLastIndex((message) => message.key === turn.message.key);
    if (index >= 0) this.#thread.set({ messages: messages.with(index, turn.shown()) });
  }

  /** Many words of subagents may come between two frames. */
  #showSoon(turn, signal) {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (!signal.aborted) this.show(turn);
    });
  }

  /** Values of the state come after the events that changed them: they hold. */
  #drawUi(told) {
    for (const { value, values, whole } of told) {
      const { ui } = this.#thread.state;
      const now = values ? afterState(ui, values, whole) : withEvent(ui, value);
      if (now !== ui) this.#thread.set({ ui: now });
    }
  }

  #discard(ids) {
    if (!ids.length) return;
    const interrupts = this.#thread.state.interrupts.filter(({ id }) => !ids.includes(id));
    this.#thread.set({ interrupts });
  }

  /** A decision that the run began with has come to the server. */
  #close(turn) {
    turn.finish(performance.now());
    this.#reader = null;
    const { state } = this.#thread;
    const interrupts = keyed([...state.interrupts, ...turn.interrupts], state.interrupts);
    const runState = interrupts.length ? "waiting" : "finished";
    this.#thread.set({
      run: null,
      runState,
      interrupts,
      decisions: decisionsBut(state.decisions, "sending"),
    });
    this.show(turn);
    this.#wake();
  }

  /** It is read here no more. */
  leave() {
    this.#reader?.abort();
    this.#reader = null;
    this.#wake();
  }

  /** What is given while a run is live waits for its end; of several, one starts a run. */
  async whenOver(start) {
    while (this.#thread.busy) await new Promise((resolve) => this.#waiting.push(resolve));
    await start();
  }

  #wake() {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
