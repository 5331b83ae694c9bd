/** The message of the open thread that is edited: its words are kept until the server has them. */

import { textOf } from "./parts.js";
import { t } from "./texts.js";

export const BUSY = t("A reply is being written. Stop it, or wait for its end.");
const OPEN = t("Another message is being edited. Send it or cancel it first.");
const MOVED = t("What you had typed in another message is in the field.");
const GONE = t("The message that you edit is gone. What you have typed is in the field.");

export class Editing {
  /** `{id, text, version, isQueued, error?}`; null: none is. */
  message = null;
  /** One of an earlier visit may stand further up than what is loaded. */
  #wasShown = false;

  /** @param {{thread, drafts, composer, follower, notice, onChange}} page */
  constructor(page) {
    this.page = page;
  }

  /** Another thread is open, with what was edited there. */
  open(message) {
    this.message = message;
    this.#wasShown = false;
  }

  /** @param {string | null} id  null: what is edited is dropped */
  begin(id) {
    const { thread, composer, onChange } = this.page;
    const { version } = thread.state;
    if (id !== null && this.#isKept(id)) return;
    const message = this.#find(id);
    const isQueued = this.page.thread.state.queue.includes(message);
    this.#is(id === null ? null : { id, text: textOf(message), version, isQueued });
    onChange();
    if (id === null) composer.focus();
    else requestAnimationFrame(focusEditor);
  }

  /** An open edit stays. What was typed in one that is not shown is in the field. */
  #isKept(id) {
    const { composer, notice } = this.page;
    if (this.message === null) return false;
    const shown = this.#find(this.message.id);
    const isTyped = this.message.text !== (shown && textOf(shown));
    if (shown && (this.message.id === id || isTyped)) {
      if (this.message.id !== id) notice.say(OPEN);
      focusEditor();
      return true;
    }
    if (isTyped) {
      composer.restore(this.message.text);
      notice.say(MOVED);
    }
    return false;
  }

  /** A message of the thread, or one that waits on the server. */
  #find(id) {
    const { messages, queue } = this.page.thread.state;
    return [...messages, ...queue].find((one) => one.id === id);
  }

  type(text) {
    this.#is({ ...this.message, text });
  }

  send(id, text) {
    const { thread, composer, follower, onChange } = this.page;
    const queued = thread.state.queue.find((one) => one.id === id);
    if (queued) {
      this.#save(queued, text);
      return;
    }
    if (thread.busy) {
      this.message = { ...this.message, error: BUSY };
      onChange();
      return;
    }
    const { version } = this.message;
    this.message = null;
    follower.ask();
    composer.focus();
    thread.edit(id, text, version);
  }

  /** Its run may have begun by now: then the message is edited like the others of the thread. */
  async #save(queued, text) {
    const { thread, composer, onChange } = this.page;
    const { id } = thread.state;
    try {
      await thread.queue.edit(queued, text);
    } catch (error) {
      if (thread.state.id === id && this.message?.id === queued.id)
        this.message = { ...this.message, text, error: error.message };
      onChange();
      return;
    }
    if (thread.state.id !== id || this.message?.id !== queued.id) return;
    this.#is(null);
    onChange();
    composer.focus();
  }

  /**
   * A run has begun in this tab: what is edited is about the thread as it is by now, if this was
   * its state before.
   *
   * @param {string | null} follows  the thread's last run before it
   */
  begun(follows) {
    const { message, page } = this;
    const { version } = page.thread.state;
    this.#is(message?.version === follows ? { ...message, version } : message);
  }

  /** The server has not taken the edit. */
  refused({ id, text }, error) {
    const { thread, onChange } = this.page;
    this.#is({ id, text, version: thread.state.version, error: error.message });
    this.check();
    onChange();
    requestAnimationFrame(focusEditor);
  }

  /** The message may be gone by now: what was typed goes to the field, unless the thread has it. */
  check() {
    const { thread, composer, notice } = this.page;
    const { messages, missing, loading, run, hasEarlier, looksAt } = thread.state;
    if (
      this.message === null ||
      loading ||
      run ||
      (!missing && (!messages.length || looksAt !== null))
    )
      return;
    const isShown = this.#find(this.message.id) !== undefined;
    // Its run has begun: it is edited like the others of the thread.
    if (this.message.isQueued && messages.some(({ id }) => id === this.message.id))
      this.#is({ ...this.message, isQueued: false, version: thread.state.version });
    this.#wasShown ||= isShown;
    if (isShown || (!missing && hasEarlier && !this.#wasShown)) return;
    const { text, error } = this.message;
    this.#is(null);
    // It came through, and the page was left before it heard so.
    if (messages.some((one) => one.role === "user" && textOf(one) === text)) return;
    composer.restore(text);
    notice.say(error ?? GONE);
  }

  #is(message) {
    const { thread, drafts } = this.page;
    this.message = message;
    drafts.keep(thread.state.id, { edit: message });
  }
}

function focusEditor() {
  /** @type {HTMLTextAreaElement} */
  const field = document.querySelector(".editor textarea");
  field?.focus();
  field?.setSelectionRange(field.value.length, field.value.length);
}
