/** What went wrong, said above the field for a while. */

import { t } from "./texts.js";

const SHOWN_MS = 6000;

/** A part of the page that is loaded when somebody needs it, and cannot be. */
export class NotLoaded extends Error {
  constructor() {
    super(
      t(
        "This part of the page could not be loaded. Try again when the server can be reached, " +
          "or reload the page: what you have written stays.",
      ),
    );
  }
}

/**
 * @template T
 * @param {Promise<T>} importing
 * @returns {Promise<T>}  rejected with NotLoaded
 */
export const loaded = (importing) =>
  importing.catch(() => {
    throw new NotLoaded();
  });

export class Notice {
  /** Null: nothing did. */
  words = null;
  #timer;

  /** @param {HTMLElement} status  that screen readers read out @param {() => void} onChange */
  constructor(status, onChange) {
    this.status = status;
    this.onChange = onChange;
  }

  say(words) {
    clearTimeout(this.#timer);
    this.status.textContent = words;
    this.#show(words);
    this.#timer = setTimeout(() => this.#show(null), SHOWN_MS);
  }

  /** Whether it went well; if not, why is said. */
  async told(promise) {
    try {
      await promise;
      return true;
    } catch (error) {
      this.say(error.message);
      return false;
    }
  }

  #show(words) {
    this.words = words;
    this.onChange();
  }
}
