/** The list of threads: loaded by the page, newest first, told of changes by other tabs. */

import * as api from "./api.js";

const WATCH_MS = 4000;
const WATCH_WAITING_MS = 15_000;
/** When a title that a model makes may be there. */
const TITLE_MS = [1500, 3000, 6000, 12_000];

export class ThreadList {
  #timer;
  /** Whether somebody else may answer what a thread waits for. */
  isShared = false;
  /** The title that a thread has until a model has made another, by the thread's id. */
  #untitled = new Map();

  state = { threads: [], cursor: null, loaded: false, failed: false };

  constructor(onChange) {
    this.onChange = onChange;
  }

  /** A thread's first turn is over: a model makes its title now. */
  awaitTitle(id) {
    if (!this.#untitled.has(id)) this.#look(id, this.#titleOf(id), 0);
  }

  #look(id, title, tries) {
    this.#untitled.set(id, title);
    setTimeout(async () => {
      await this.refresh();
      const before = this.#untitled.get(id) ?? this.#titleOf(id);
      if (this.#titleOf(id) === before && tries + 1 < TITLE_MS.length) this.#look(id, before, tries + 1);
    }, TITLE_MS[tries]);
  }

  #titleOf(id) {
    return this.state.threads.find((entry) => entry.id === id)?.title;
  }

  /** The first pages again, as many threads as were shown. */
  async refresh() {
    const wanted = Math.max(1, this.state.threads.length);
    try {
      let page = await api.threads();
      const threads = [...page.threads];
      while (page.cursor && threads.length < wanted) {
        page = await api.threads(page.cursor);
        threads.push(...page.threads);
      }
      this.#set({ threads, cursor: page.cursor ?? null, loaded: true, failed: false });
      this.#watch();
    } catch {
      this.#set({ ...this.state, loaded: true, failed: true });
    }
  }

  /**
   * As long as a thread has a live run, perhaps in no tab at all, look how it goes; and now and then
   * as long as one waits for somebody else.
   */
  #watch() {
    clearTimeout(this.#timer);
    const isAny = (state) => this.state.threads.some((thread) => thread.run_state === state);
    const isWaiting = this.isShared && isAny("waiting");
    const ms = isAny("live") ? WATCH_MS : isWaiting ? WATCH_WAITING_MS : null;
    if (ms) this.#timer = setTimeout(() => (document.hidden && !isAny("live") ? this.#watch() : this.refresh()), ms);
  }

  async more() {
    const page = await api.threads(this.state.cursor);
    const known = new Set(this.state.threads.map(({ id }) => id));
    const added = page.threads.filter(({ id }) => !known.has(id));
    const threads = [...this.state.threads, ...added];
    this.#set({ ...this.state, threads, cursor: page.cursor ?? null });
  }

  async rename(id, title) {
    const entry = await api.rename(id, title);
    const threads = this.state.threads.map((item) => (item.id === id ? entry : item));
    this.#set({ ...this.state, threads });
    return entry;
  }

  async forget(id) {
    await api.forget(id);
    const threads = this.state.threads.filter((item) => item.id !== id);
    this.#set({ ...this.state, threads });
  }

  #set(state) {
    this.state = state;
    this.onChange();
  }
}
