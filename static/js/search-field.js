/** The field above the list of threads: words go to the search, arrows to what it found. */

import { isComposing } from "./keys.js";

export class SearchField {
  #field;

  /**
   * @param {HTMLInputElement} field @param {HTMLElement} results
   * @param {{onWords: (words: string) => void, onLeave: () => void}} listeners
   */
  constructor(field, results, listeners) {
    this.#field = field;
    field.addEventListener("input", () => listeners.onWords(field.value));
    field.addEventListener("keydown", (event) => {
      if (isComposing(event)) return;
      if (event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        if (field.value) this.#write("", listeners);
        else listeners.onLeave();
      } else if (event.key === "ArrowDown" || (event.key === "Enter" && field.value)) {
        event.preventDefault();
        /** @type {HTMLElement} */
        const first = results.querySelector("[data-thread]");
        first?.focus();
      }
    });
    results.addEventListener("keydown", (event) => {
      const target = /** @type {Element} */ (event.target);
      const isHere = event.key === "Escape" && field.value && target.closest(".found");
      if (!isHere) return;
      event.preventDefault();
      event.stopPropagation();
      this.#write("", listeners);
      field.focus();
    });
  }

  focus() {
    this.#field.focus();
    this.#field.select();
  }

  #write(words, { onWords }) {
    this.#field.value = words;
    onWords(words);
  }
}
