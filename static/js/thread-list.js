/** The list of threads: loaded by the page, newest first, told of changes by other tabs. */

import * as api from "./api.js";

const WATCH_MS = 4000;
const WATCH_WAITING_MS = 15_000;
/** When a title that a model makes may be there. */
const TITLE_MS = [1500, 3000, 6000, 12_000];
const PAGE = 30;
const MOST = 100;

export class ThreadList {
  #timer;
  /** Of the refresh that was begun last. */
  #asked = 0;
  #isAsking = false;
  /** Whether somebody else may answer what a thread waits for. */
  isShared = false;
  /** Whether a model makes titles. */
  makesTitles = false;
  /** By the ids of threads without a title of a model: the timer of the next look. */
  #untitled = new Map();

  state = { threads: [], cursor: null, loaded: false, failed: false, isArchive: false };

  constructor(onChange) {
    this.onChange = onChange;
  }

  /** A thread's first turn is over: a model makes its title now. */
  awaitTitle(id, tries = 0) {
    if (!this.makesTitles) return;
    clearTimeout(this.#untitled.get(id));
    const look = async () => {
      await this.refresh();
      if (this.#untitled.has(id) && tries + 1 < TITLE_MS.length) this.awaitTitle(id, tries + 1);
    };
    this.#untitled.set(id, setTimeout(look, TITLE_MS[tries]));
  }

  /** What is live when it is first seen may be in its first turn. */
  #notice({ id, title, run_state: now }, before) {
    if (before && title !== before.title) this.#untitled.delete(id);
    else if (now === "live" && !before) this.#untitled.set(id, null);
    else if (now !== "live" && before?.run_state === "live" && this.#untitled.has(id))
      this.awaitTitle(id);
  }

  /**
   * The first pages again, as many threads as were shown. What comes after a later one, or after a
   * change, is old.
   */
  async refresh() {
    const asked = (this.#asked += 1);
    const { isArchive } = this.state;
    this.#isAsking = true;
    const shown = this.state.threads.length;
    const wanted = Math.max(PAGE, shown);
    const load = (cursor, count) =>
      api.threads(cursor, { limit: Math.min(count, MOST), archived: isArchive });
    try {
      let page = await load(null, wanted);
      const threads = [...page.threads];
      // Rules of the server may hide threads: a page that is not the last may have few, or none.
      const isShort = () => threads.length < shown || !threads.length;
      while (page.cursor && isShort() && asked === this.#asked) {
        page = await load(page.cursor, Math.max(PAGE, wanted - threads.length));
        threads.push(...page.threads);
      }
      if (asked !== this.#asked) return;
      this.#isAsking = false;
      this.#set({
        ...this.state,
        threads: this.#known(threads),
        cursor: page.cursor ?? null,
        loaded: true,
        failed: false,
      });
      this.#watch();
    } catch {
      if (asked !== this.#asked) return;
      this.#isAsking = false;
      this.#set({ ...this.state, loaded: true, failed: true });
    }
  }

  /** The archive in the place of the list, or the list again. */
  show(isArchive) {
    this.#set({ ...this.state, isArchive, threads: [], cursor: null, loaded: false });
    return this.refresh();
  }

  /** An entry that says the same is the same object: it needs no painting. */
  #known(threads) {
    const before = new Map(this.state.threads.map((thread) => [thread.id, thread]));
    return threads.map((thread) => {
      const known = before.get(thread.id);
      this.#notice(thread, known);
      return isSame(thread, known) ? known : thread;
    });
  }

  /**
   * As long as a thread has a live run, perhaps in no tab at all, look how it goes; and now and
   * then as long as one waits for somebody else.
   */
  #watch() {
    clearTimeout(this.#timer);
    const isAny = (state) => this.state.threads.some((thread) => thread.run_state === state);
    const isWaiting = this.isShared && isAny("waiting");
    const ms = isAny("live") ? WATCH_MS : isWaiting ? WATCH_WAITING_MS : null;
    if (ms)
      this.#timer = setTimeout(
        () => (document.hidden && !isAny("live") ? this.#watch() : this.refresh()),
        ms,
      );
  }

  async more() {
    const { isArchive } = this.state;
    let page;
    let { cursor } = this.state;
    do {
      page = await api.threads(cursor, { archived: isArchive });
      cursor = page.cursor;
      if (this.state.isArchive !== isArchive) return;
    } while (cursor && !page.threads.length);
    const known = new Set(this.state.threads.map(({ id }) => id));
    const added = page.threads.filter(({ id }) => !known.has(id));
    const threads = [...this.state.threads, ...added];
    this.#set({ ...this.state, threads, cursor: page.cursor ?? null });
  }

  async rename(id, title) {
    const entry = await api.rename(id, title);
    const threads = this.state.threads.map((item) => (item.id === id ? entry : item));
    this.#change(threads);
    return entry;
  }

  /** Pin or archive, or take that back. */
  async arrange(id, changes) {
    await api.arrange(id, changes);
    if ("archived" in changes) this.#drop(id);
    await this.refresh();
  }

  /** Until when it can be brought back; null: it is gone. */
  async forget(id) {
    const until = await api.forget(id);
    this.#drop(id);
    return until;
  }

  async restore(id) {
    await api.restore(id);
    await this.refresh();
  }

  #drop(id) {
    this.#change(this.state.threads.filter((item) => item.id !== id));
  }

  #change(threads) {
    this.#set({ ...this.state, threads });
    if (this.#isAsking) this.refresh();
  }

  #set(state) {
    this.state = state;
    this.onChange();
  }
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
