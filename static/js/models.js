/** The models that a person may choose from, and which one speaks next. */

import * as api from "./api.js";
import { t } from "./texts.js";

const KEY = "model";
const RETRY_MS = 5000;

export class Models {
  names = [];
  /** Of the server's model; null if it cannot be chosen. */
  chosen = null;
  /** What a message may have of images: `{types, max, max_bytes}`. */
  images = { types: [], max: 0, max_bytes: 0 };
  /** Characters that a message may have. */
  maxChars = Infinity;
  /** Models that take none. */
  #blind = new Set();
  #onChange;
  #retry;

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.#onChange = onChange;
  }

  /** Whoever is logged in may use other models than whoever was. */
  async load() {
    clearTimeout(this.#retry);
    const loaded = await api.models().catch(() => null);
    if (!loaded) {
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => this.load(), RETRY_MS);
      return;
    }
    const { models, images, max_message_chars: maxChars } = loaded;
    this.images = images;
    this.maxChars = maxChars;
    this.#blind = new Set(models.filter((model) => model.images === false).map(({ name }) => name));
    this.names = models.map(({ name }) => name);
    const kept = localStorage.getItem(KEY);
    if (models.length > 1) this.chosen = this.names.includes(kept) ? kept : this.names[0];
    this.#onChange();
  }

  /** Why no image can be sent; null: one can. */
  get refusal() {
    const name = this.chosen ?? this.names[0];
    return this.#blind.has(name) ? t("The model {name} takes no images.", { name }) : null;
  }

  choose(name) {
    this.chosen = name;
    localStorage.setItem(KEY, name);
    this.#onChange();
  }
}
