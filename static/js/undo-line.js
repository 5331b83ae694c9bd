/** A line that says what was just done, and takes it back. */

import { html, nothing, render } from "../vendor/lit-html/lit-html.js";
import { icons } from "./icons.js";
import { t } from "./texts.js";

const MOST_SECONDS = 60;

export class UndoLine {
  #element;
  #status;
  #timer;

  /** @param {HTMLElement} element @param {HTMLElement} status  what a screen reader is told */
  constructor(element, status) {
    this.#element = element;
    this.#status = status;
  }

  /**
   * @param {string} words
   * @param {() => void} undo
   * @param {number} seconds  it can be taken back for so long
   */
  show(words, undo, seconds) {
    clearTimeout(this.#timer);
    this.#status.textContent = `${words} ${t("It can be undone.")}`;
    const take = () => {
      this.hide();
      undo();
    };
    render(
      html`<p>${words}</p>
        <button type="button" class="quiet" @click=${take}>${t("Undo")}</button>
        <button
          type="button"
          class="icon-button"
          aria-label=${t("Dismiss")}
          title=${t("Dismiss")}
          @click=${() => this.hide()}
        >
          ${icons.cross}
        </button>`,
      this.#element,
    );
    this.#element.hidden = false;
    this.#timer = setTimeout(() => this.hide(), Math.min(seconds, MOST_SECONDS) * 1000);
  }

  hide() {
    clearTimeout(this.#timer);
    this.#element.hidden = true;
    render(nothing, this.#element);
  }
}
