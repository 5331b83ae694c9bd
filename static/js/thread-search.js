/** The search in the list of threads: what was found for the words that stand in the field. */

import * as api from "./api.js";

import { plural, t } from "./texts.js";

const PAUSE_MS = 150;
const NOTHING = { words: "", threads: [], cursor: null, loading: false, failure: null };

export class ThreadSearch {
  #timer;
  #asked = 0;

  state = NOTHING;

  /**
   * @param {() => void} onChange
   * @param {(words: string) => void} onFound  what a screen reader is told
   */
  constructor(onChange, onFound) {
    this.onChange = onChange;
    this.onFound = onFound;
  }

  get isOn() {
    return this.state.words.trim() !== "";
  }

  /** Look for these words once the typing pauses; without any the list is back. */
  look(words) {
    clearTimeout(this.#timer);
    this.#asked += 1;
    if (!words.trim()) {
      this.#set({ ...NOTHING, words });
      return;
    }
    this.#set({ ...this.state, words, loading: true });
    this.#timer = setTimeout(() => this.refresh({ isNew: true }), PAUSE_MS);
  }

  /** The same words again. */
  async refresh({ isNew = false } = {}) {
    if (!this.isOn) return;
    const asked = (this.#asked += 1);
    const { words } = this.state;
    const found = await this.#load(words);
    if (asked !== this.#asked) return;
    this.#set({ ...NOTHING, words, ...found });
    if (isNew) this.onFound(found.failure ?? countOf(this.state));
  }

  async more() {
    const { words, threads, cursor } = this.state;
    const page = await this.#page(words, cursor);
    if (this.state.words !== words) return;
    const known = new Set(threads.map(({ id }) => id));
    const added = page.threads.filter(({ id }) => !known.has(id));
    this.#set({ ...this.state, threads: [...threads, ...added], cursor: page.cursor ?? null });
    this.onFound(countOf(this.state));
  }

  /** The next page that has threads: rules of the server may hide all that one before it had. */
  async #page(words, cursor) {
    let page = await api.search(words, cursor);
    while (page.cursor && !page.threads.length && this.state.words === words)
      page = await api.search(words, page.cursor);
    return page;
  }

  async #load(words) {
    try {
      const { threads, cursor } = await this.#page(words);
      return { threads, cursor: cursor ?? null };
    } catch (error) {
      return {
        failure:
          error.code === "invalid_query"
            ? t("Look for words of letters or digits.")
            : error.message,
      };
    }
  }

  #set(state) {
    this.state = state;
    this.onChange();
  }
}

const countOf = ({ threads, cursor }) =>
  threads.length
    ? cursor
      ? plural(threads.length, "{count} thread or more found", "{count} threads or more found")
      : plural(threads.length, "{count} thread found", "{count} threads found")
    : t("No thread found");
