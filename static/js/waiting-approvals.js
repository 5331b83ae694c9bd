/** The calls of others that wait for a decision of whoever is logged in. */

import * as api from "./api.js";
import { isOnItsWay } from "./approvals.js";
import { cut } from "./bounds.js";
import { t } from "./texts.js";
import { visible } from "./unseen.js";

const WATCH_MS = 15_000;

export class WaitingApprovals {
  #onChange;
  #isWatched = false;
  #pages = 1;
  #timer;

  /** `told`: what became of the decision before, `{words, isError}`. */
  state = { calls: [], answers: {}, loaded: false, failed: false, hasMore: false, told: null };

  constructor(onChange) {
    this.#onChange = onChange;
    document.addEventListener(
      "visibilitychange",
      () => !document.hidden && this.#isWatched && this.refresh(),
    );
  }

  /** Look every now and then, for as long as somebody sees the list. */
  watch(isWatched) {
    if (this.#isWatched === isWatched) return;
    this.#isWatched = isWatched;
    clearTimeout(this.#timer);
    this.#pages = 1;
    if (isWatched) this.refresh();
    else this.#set({ told: null });
  }

  async showMore() {
    this.#pages += 1;
    await this.refresh();
  }

  async refresh() {
    clearTimeout(this.#timer);
    try {
      this.#set({ ...(await this.#load()), loaded: true, failed: false });
    } catch {
      this.#set({ failed: true });
    }
    clearTimeout(this.#timer);
    if (this.#isWatched && !document.hidden)
      this.#timer = setTimeout(() => this.refresh(), WATCH_MS);
  }

  /** @returns {Promise<boolean>}  whether the call waits no longer */
  async decide({ id, tool_name: tool }, decision) {
    if (isOnItsWay(this.state.answers[id])) return false;
    const name = visible(cut(tool));
    this.#answer(id, { state: "sending" });
    try {
      await api.decide(id, decision);
      this.#gone(id, {
        words: decision.approved
          ? t("{name} was approved.", { name })
          : t("{name} was declined.", { name }),
        isError: false,
      });
    } catch (error) {
      if (!isOver(error)) {
        this.#answer(id, { state: "failed", error });
        return false;
      }
      this.#gone(id, { words: `${name}: ${error.message}`, isError: true });
    }
    await this.refresh();
    return true;
  }

  /** The pages that are shown. A call that moved up meanwhile is on two of them. */
  async #load() {
    const calls = new Map();
    let cursor;
    for (let page = 0; page < this.#pages && (page === 0 || cursor); page += 1) {
      const { approvals, cursor: next } = await api.approvals(cursor);
      // One's own are decided on in their threads.
      for (const call of approvals) if (call.thread_id === undefined) calls.set(call.id, call);
      cursor = next;
    }
    return { calls: [...calls.values()], hasMore: cursor !== undefined };
  }

  #answer(id, answer) {
    this.#set({ answers: { ...this.state.answers, [id]: answer }, told: null });
  }

  #gone(id, told) {
    const { [id]: _, ...answers } = this.state.answers;
    this.#set({ calls: this.state.calls.filter((call) => call.id !== id), answers, told });
  }

  #set(changes) {
    this.state = { ...this.state, ...changes };
    this.#onChange();
  }
}

/** Nobody can decide on the call any more, or not this person. */
const isOver = ({ status, code }) =>
  status === 403 || status === 404 || (status === 409 && code !== "run_in_progress");
