/**
 * Where the focus is while the person is asked something: nobody who is typing is taken away from
 * it.
 */

import { afterPaint } from "./paint.js";
import { tell } from "./tabs.js";

const FIELD = ":is(input, select, textarea, button)";
/** Where nobody types anything else. */
const FREE = "body, #scroller, #composer *";
const APPROVAL = "form.approval[aria-busy=false]";

export class Questions {
  /**
   * @param {{log: HTMLElement, panel: HTMLElement, composer, follower, thread, approvals}} page
   *   `panel`: of the calls of others
   */
  constructor(page) {
    this.page = page;
  }

  /**
   * The next thing to do is to answer. Of a call that waits for an approval the form itself has the
   * focus: no key that is struck then decides.
   */
  showNext() {
    const { log, composer, follower } = this.page;
    if (!composer.isEmpty) return;
    afterPaint(() => {
      if (!document.activeElement.matches(FREE)) return;
      /** @type {HTMLElement} */
      const next = log.querySelector(`form.question:not(.approval) ${FIELD}, ${APPROVAL}`);
      next?.focus({ preventScroll: true });
      if (next?.matches(APPROVAL)) follower.reveal(next);
      else follower.follow();
    });
  }

  /** The fields of an approval are made when its tool is known. */
  grown() {
    const { log, follower } = this.page;
    afterPaint(() => {
      const form = log.querySelector(`${APPROVAL}:focus`);
      if (form) follower.reveal(form);
    });
  }

  async decide(id, decision) {
    const { log, composer, follower, thread } = this.page;
    follower.pin();
    const decided = thread.answers.decide(id, decision);
    afterPaint(() => (log.querySelector(APPROVAL) ?? composer).focus());
    await decided;
    if (thread.state.decisions[id]?.state === "failed") this.#backTo(id);
  }

  /** The panel of the approvals keeps the focus. */
  async decideForOthers(call, decision) {
    const decided = this.page.approvals.decide(call, decision);
    this.showOthers();
    if (await decided) tell({ type: "threads" });
    else this.#backTo(call.id);
  }

  /** The list of the panel has the focus; until it is there, the panel itself. */
  showOthers() {
    afterPaint(() => (this.#others ?? this.page.panel).focus());
  }

  othersPainted() {
    if (document.activeElement === this.page.panel) this.#others.focus();
  }

  /** @returns {HTMLElement | null} */
  get #others() {
    return this.page.panel.querySelector(".approvals-list");
  }

  /** A decision that was not taken: back to its form, unless somebody is elsewhere by now. */
  #backTo(id) {
    afterPaint(() => {
      const { activeElement } = document;
      const isInField = activeElement?.id === "message";
      const isFree = activeElement === document.body || activeElement === this.#others;
      const isElsewhere = !isInField && !isFree;
      if (isElsewhere || (isInField && !this.page.composer.isEmpty)) return;
      /** @type {HTMLElement} */
      const form = document.querySelector(`form[data-approval="${CSS.escape(id)}"]`);
      form?.focus();
    });
  }
}
