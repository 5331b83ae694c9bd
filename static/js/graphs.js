/** The graphs that a new thread may belong to, and the one that the next new thread gets. */

import * as api from "./api.js";

const KEY = "graph";
const RETRY_MS = 5000;

export class Graphs {
  /** `{name, description?}` of each graph that is served, the default first. */
  served = [];
  /** Whether `turnstream dev` serves them, which shows its developer more. */
  development = false;
  /** The tab's last choice, else that of the browser; null: the server's default. */
  chosen = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
  #onChange;
  #retry;

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.#onChange = onChange;
  }

  async load() {
    clearTimeout(this.#retry);
    const answer = await api.graphs().catch(() => null);
    if (!answer) {
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => this.load(), RETRY_MS);
      return;
    }
    const served = (this.served = answer.graphs);
    this.development = answer.development === true;
    if (!this.isChoice) this.chosen = null;
    else if (!this.find(this.chosen)) this.chosen = served[0].name;
    this.#onChange();
  }

  /** Whether there is more than one graph to choose from. */
  get isChoice() {
    return this.served.length > 1;
  }

  choose(name) {
    this.chosen = name;
    for (const storage of [sessionStorage, localStorage]) storage.setItem(KEY, name);
    this.#onChange();
  }

  find(name) {
    return this.served.find((graph) => graph.name === name);
  }

  /**
   * The graph of the open thread, `{name, description?}`; undefined while it is not known. A thread
   * that has begun keeps its graph. A new one whose first message waits to be sent has that of the
   * message.
   *
   * @param {Record<string, any>} state  of the thread store
   */
  of({ id, graph, outbox, loading, missing }) {
    if (id === null) return this.find(outbox[0]?.body.graph ?? this.chosen) ?? this.served[0];
    if (loading || missing) return graph === null ? undefined : { name: graph };
    return graph === null ? this.served[0] : { name: graph };
  }
}

/** Whether the open thread is new, and nothing has been sent to it: its graph can be chosen. */
export const isOpenToChoice = ({ id, messages, outbox }) =>
  id === null && !messages.length && !outbox.length;
