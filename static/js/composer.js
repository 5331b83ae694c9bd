/** The field that messages are written in, and the button that sends, or stops. */

import { fitHeight } from "./field-height.js";
import { enterHint, isComposing, sends } from "./keys.js";

const DRAFT = "draft";

export class Composer {
  #form;
  #field;
  #button;
  #busy = false;
  #keepsDraft = false;

  /** @param {HTMLFormElement} form @param {{onSend, onStop, onEditLast, onBusy}} actions */
  constructor(form, actions) {
    this.#form = form;
    this.#field = form.querySelector("textarea");
    this.#button = form.querySelector("button[type=submit]");
    this.actions = actions;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#busy) actions.onStop();
      else this.#send();
    });
    this.#field.addEventListener("input", () => {
      this.#changed();
      this.#keep();
    });
    this.#field.addEventListener("keydown", (event) => this.#key(event));
    this.#field.enterKeyHint = enterHint();
    this.#changed();
  }

  /** From now on what is written outlives a reload: it is known who writes it. */
  keepDraft() {
    if (this.#keepsDraft) return;
    this.#keepsDraft = true;
    this.restore(sessionStorage.getItem(DRAFT) ?? "");
    this.#keep();
  }

  forgetDraft() {
    this.#keepsDraft = false;
    sessionStorage.removeItem(DRAFT);
  }

  /** The server has the message that was sent: until then it is still the draft. */
  taken() {
    this.#keep();
  }

  focus() {
    this.#field.focus({ preventScroll: true });
  }

  get isEmpty() {
    return !this.#field.value.trim();
  }

  /** Give back a message that was not taken, unless another one is begun already. */
  restore(text) {
    if (!this.isEmpty) return;
    this.#field.value = text;
    this.#changed();
    this.#keep();
  }

  /** @param {boolean} busy  a run is live: the button stops it */
  show(busy, stopping) {
    if (busy === this.#busy && stopping === this.#button.classList.contains("stopping")) return;
    this.#busy = busy;
    const label = busy ? "Stop" : "Send";
    this.#button.ariaLabel = label;
    this.#button.title = busy ? "Stop (Escape)" : "Send (Enter)";
    this.#button.classList.toggle("stop", busy);
    this.#button.classList.toggle("stopping", stopping);
    this.#changed();
  }

  #send() {
    const text = this.#field.value.trim();
    if (!text) return;
    this.#field.value = "";
    this.#changed();
    this.focus();
    this.actions.onSend(text);
  }

  #key(event) {
    if (isComposing(event)) return;
    if (sends(event)) {
      event.preventDefault();
      if (!this.#busy) this.#send();
      else if (!this.isEmpty) this.actions.onBusy();
    } else if (event.key === "ArrowUp" && !this.#field.value) {
      if (this.actions.onEditLast()) event.preventDefault();
    }
  }

  #keep() {
    if (this.#keepsDraft) sessionStorage.setItem(DRAFT, this.#field.value);
  }

  #changed() {
    fitHeight(this.#field, 0.4);
    this.#button.disabled = !this.#busy && this.isEmpty;
  }
}
