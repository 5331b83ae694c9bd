/** Thumbs that a person gives to replies, with a reason; loaded where the server takes them. */

import { html, nothing, svg } from "../vendor/lit-html/lit-html.js";
import { json } from "./api.js";
import { icon } from "./icons.js";
import { styled } from "./styles.js";
import { t } from "./texts.js";

const NONE = Object.freeze({ value: "none", reason: "", asks: false });
const UP = svg`<path
  d="M3.5 9h3v7.5h-3zM6.5 9.5 9.8 3c1.3 0 2 .9 1.8 2.2L11.1 8h4.4c1 0 1.6.9 1.4 1.8
    l-1.3 5.4c-.2.8-.8 1.3-1.6 1.3H6.5" />`;
const DOWN = svg`<path
  d="M3.5 11h3V3.5h-3zM6.5 10.5 9.8 17c1.3 0 2-.9 1.8-2.2L11.1 12h4.4c1 0 1.6-.9 1.4-1.8
    l-1.3-5.4c-.2-.8-.8-1.3-1.6-1.3H6.5" />`;
const THUMBS = [
  ["up", t("Good reply"), icon(UP)],
  ["down", t("Bad reply"), icon(DOWN)],
];
/** A thumb that was just given: its reason is asked for. */
const asking = (value) => ({ value, reason: "", asks: true });
const MAX_REASON_CHARS = 2000;

const address = (threadId) => `/threads/${encodeURIComponent(threadId)}/feedback`;

export class Feedback {
  #threadId = null;
  /**
   * By the message's id: `{value: "up" | "down" | "none", reason: string, asks: boolean}`; `asks`:
   * for a reason.
   */
  #given = new Map();
  #drawn = new Map();
  #sending = Promise.resolve();
  #painting;
  #notice;
  #status;

  constructor(painting, notice, status) {
    this.#painting = painting;
    this.#notice = notice;
    this.#status = status;
    styled("feedback");
  }

  /** Draws the thumbs of a message; another function once they have changed. */
  of(threadId, messageId) {
    if (threadId !== this.#threadId) this.#load(threadId);
    if (!messageId) return undefined;
    if (!this.#drawn.has(messageId)) this.#drawn.set(messageId, () => this.#view(messageId));
    return this.#drawn.get(messageId);
  }

  #view(id) {
    const { value, reason, asks } = this.#given.get(id) ?? NONE;
    return html`
      ${THUMBS.map(
        ([thumb, label, icon]) =>
          html`<button
            type="button"
            class="icon-button"
            aria-label=${label}
            title=${label}
            aria-pressed=${String(value === thumb)}
            @click=${() => this.#give(id, value === thumb ? NONE : asking(thumb))}
          >
            ${icon}
          </button>`,
      )}
      ${asks ? this.#reasonForm(id, value, reason) : nothing}
    `;
  }

  #reasonForm(id, value, reason) {
    const submit = (event) => {
      event.preventDefault();
      const words = String(new FormData(event.currentTarget).get("reason")).trim();
      this.#give(id, { value, reason: words, asks: false });
    };
    return html`<form class="reason" @submit=${submit}>
      <input
        name="reason"
        aria-label=${t("Reason")}
        placeholder=${t("Why? (optional)")}
        maxlength=${MAX_REASON_CHARS}
        .value=${reason}
        autocomplete="off"
      />
      <button type="submit">${t("Send")}</button>
    </form>`;
  }

  async #load(threadId) {
    this.#threadId = threadId;
    this.#given = new Map();
    this.#drawn = new Map();
    if (threadId === null) return;
    // Without it no thumb is pressed, and a new one takes its place.
    const answer = await json("GET", address(threadId)).catch(() => ({ feedback: [] }));
    if (this.#threadId !== threadId) return;
    for (const { message_id: id, value, reason } of answer.feedback) {
      if (!this.#given.has(id)) this.#given.set(id, { value, reason, asks: false });
    }
    if (!answer.feedback.length) return;
    this.#drawn.clear();
    this.#painting.thread();
  }

  async #give(id, entry) {
    const [threadId, before] = [this.#threadId, this.#given.get(id) ?? NONE];
    this.#set(id, entry);
    // One after the other: a thumb and its reason.
    await (this.#sending = this.#sending.then(() => this.#send(threadId, id, entry, before)));
  }

  async #send(threadId, id, entry, before) {
    try {
      await json("POST", address(threadId), {
        message_id: id,
        value: entry.value,
        reason: entry.reason,
      });
      this.#status.textContent =
        entry.value === "none" ? t("Feedback taken back") : t("Feedback sent");
    } catch (problem) {
      if (this.#threadId === threadId) this.#set(id, before);
      this.#notice.say(problem.message);
    }
  }

  #set(id, entry) {
    this.#given.set(id, entry);
    this.#drawn.delete(id);
    this.#painting.thread();
  }
}
