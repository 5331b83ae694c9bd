/** The field that messages are written in, and the buttons that send, queue or stop. */

import { Attachments } from "./attachments.js";
import { fitHeight } from "./field-height.js";
import { paragraphs } from "./format.js";
import { enterHint, isComposing, sends } from "./keys.js";

export class Composer {
  #field;
  #button;
  #queue;
  #busy = false;
  /** Sent, and not taken yet: still to be kept. */
  #sent = "";

  /**
   * @param {HTMLFormElement} form
   * @param {{onSend, onStop, onEditLast, onDraft, onTold, onProblem}} actions
   *   `onSend` and `onDraft` get the text and the images
   */
  constructor(form, actions) {
    const onChange = () => {
      this.#changed();
      this.#keep();
    };
    this.attachments = new Attachments(form, { ...actions, onChange });
    this.#field = form.querySelector("textarea");
    this.#button = form.querySelector("button[type=submit]");
    this.#queue = form.querySelector("#queue");
    this.actions = actions;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#busy) actions.onStop();
      else this.#send();
    });
    this.#queue.addEventListener("click", () => this.#send());
    this.#field.addEventListener("input", () => {
      this.#changed();
      this.#keep();
    });
    this.#field.addEventListener("keydown", (event) => this.#key(event));
    this.#field.enterKeyHint = enterHint();
    this.#changed();
  }

  /**
   * Another thread is open: the field has the words that were written there. Who types them now
   * types on.
   */
  open(draft, images = []) {
    this.#sent = "";
    if (this.#field.value !== draft) this.#field.value = draft;
    this.attachments.open(images);
    this.#changed();
  }

  /** What was sent is kept elsewhere by now: until then it is still the draft. */
  taken() {
    this.#sent = "";
    this.attachments.taken();
    this.#keep();
  }

  focus() {
    this.#field.focus({ preventScroll: true });
  }

  get text() {
    return this.#field.value;
  }

  get isEmpty() {
    return !this.#field.value.trim() && this.attachments.isEmpty;
  }

  /** Give back a message that was not taken, ahead of one that is begun already. */
  restore(text, images = []) {
    this.#sent = "";
    this.attachments.restore(images);
    this.#field.value = paragraphs(text, this.#field.value);
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

  /** @param {{stops?: boolean}} [how]  it stops the live run, rather than wait for its end */
  #send(how) {
    const text = this.#field.value.trim();
    if (this.isEmpty || this.attachments.isReading) return;
    this.#sent = paragraphs(this.#sent, text);
    this.#field.value = "";
    const images = this.attachments.take();
    this.#changed();
    this.focus();
    this.actions.onSend(text, images, how);
  }

  #key(event) {
    if (isComposing(event)) return;
    if (sends(event)) {
      event.preventDefault();
      this.#send({ stops: event.ctrlKey || event.metaKey });
    } else if (event.key === "ArrowUp" && !this.#field.value) {
      if (this.actions.onEditLast()) event.preventDefault();
    }
  }

  #keep() {
    this.actions.onDraft(paragraphs(this.#sent, this.#field.value), this.attachments.all);
  }

  #changed() {
    fitHeight(this.#field, 0.4);
    this.#button.disabled = !this.#busy && (this.isEmpty || this.attachments.isReading);
    this.#queue.hidden = !this.#busy || this.isEmpty;
  }
}
