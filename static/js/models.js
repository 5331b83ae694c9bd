/** The models that a person may choose from, and which one speaks next. */

import * as api from "./api.js";

const KEY = "model";

export class Models {
  names = [];
  /** Of the server's model; null if it cannot be chosen. */
  chosen = null;
  #onChange;

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.#onChange = onChange;
  }

  /** Whoever is logged in may use other models than whoever was. */
  async load() {
    const models = await api.models().catch(() => []);
    this.names = models.map(({ name }) => name);
    const kept = localStorage.getItem(KEY);
    if (models.length > 1) this.chosen = this.names.includes(kept) ? kept : this.names[0];
    this.#onChange();
  }

  choose(name) {
    this.chosen = name;
    localStorage.setItem(KEY, name);
    this.#onChange();
  }
}
