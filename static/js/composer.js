/** The field that messages are written in, and the buttons that send, queue or stop. */

import { Attachments } from "./attachments.js";
import { fitHeight } from "./field-height.js";
import { paragraphs } from "./format.js";
import { enterHint, isComposing, sends } from "./keys.js";
import { plural, t } from "./texts.js";

/** Characters that are left when the page begins to count them. */
const SOON_FULL = 1000;

/** Characters that a text may still have. The server counts code points, and a text has no more of
 * those than units.
 *
 * @param {string} text @param {number} max
 */
const roomIn = (text, max) =>
  text.length + SOON_FULL < max ? Infinity : max - [...text.trim()].length;

const roomWords = (left) =>
  left < 0
    ? plural(-left, "{count} character too many", "{count} characters too many")
    : plural(left, "{count} character left", "{count} characters left");

export class Composer {
  #field;
  #button;
  #queue;
  #busy = false;
  #room;
  #maxChars = Infinity;
  /** The message has more characters than it may have. */
  #isTooLong = false;
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
    this.#room = form.querySelector(".room");
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

  /** @param {number} chars  that a message may have */
  limit(chars) {
    this.#maxChars = chars;
    this.#changed();
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
    const label = busy ? t("Stop") : t("Send");
    this.#button.ariaLabel = label;
    this.#button.title = busy ? t("Stop (Escape)") : t("Send (Enter)");
    this.#button.classList.toggle("stop", busy);
    this.#button.classList.toggle("stopping", stopping);
    this.#changed();
  }

  /** @param {{stops?: boolean}} [how]  it stops the live run, rather than wait for its end */
  #send(how) {
    const text = this.#field.value.trim();
    if (this.isEmpty || this.#isTooLong || this.attachments.isReading) return;
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
    this.#count();
    const cannotSend = this.isEmpty || this.#isTooLong || this.attachments.isReading;
    this.#button.disabled = !this.#busy && cannotSend;
    this.#queue.hidden = !this.#busy || this.isEmpty || this.#isTooLong;
  }

  /** Say how much room is left, when little is. */
  #count() {
    const left = roomIn(this.#field.value, this.#maxChars);
    const isTooLong = left < 0;
    this.#room.hidden = left > SOON_FULL;
    this.#room.classList.toggle("over", isTooLong);
    // It describes the field, hidden too.
    this.#room.textContent = this.#room.hidden ? "" : roomWords(left);
    if (isTooLong && !this.#isTooLong)
      this.actions.onTold(t("The message is too long: shorten it to send it."));
    this.#isTooLong = isTooLong;
    this.#field.ariaInvalid = String(isTooLong);
  }
}
