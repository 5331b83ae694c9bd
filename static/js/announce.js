/**
 * What a screen reader is told: how a reply goes, and its blocks as each is whole. The log itself
 * is silent, or it would read every word twice.
 */

import { isUndecided } from "./approvals.js";
import { isDrawing } from "./paint.js";
import { plural, t } from "./texts.js";
import { isAsked } from "./thread-state.js";

export class Announcer {
  #region;
  #said = "";

  constructor(region) {
    this.#region = region;
  }

  /** @param {any} state  of the thread store */
  follow(state) {
    const told = wordsOf(state, this.#said);
    const words = told && told + queueWords(state);
    if (words === null || words === this.#said) return;
    this.#said = words;
    this.#region.textContent = words;
  }

  reset() {
    this.#said = "";
    this.#region.textContent = "";
  }
}

/** Characters of a block that are read out; of a longer one the rest is in the log. */
const SPOKEN_CHARS = 600;
/** Blocks that stay where they are read from: a reader may lag behind. */
const KEPT_BLOCKS = 30;

/** Reads the reply out that is being written, block by block, each once and when it is whole. */
export class Speaker {
  #region;
  #log;
  /** @type {WeakSet<Element>} */
  #spoken = new WeakSet();
  #isLive = false;

  /** @param {HTMLElement} region  that is announced politely @param {HTMLElement} log */
  constructor(region, log) {
    this.#region = region;
    this.#log = log;
  }

  /** After a painting. @param {{run: unknown}} state  of the thread store */
  follow({ run }) {
    if (!run && !this.#isLive) return;
    const isLive = Boolean(run) || isDrawing();
    const blocks = this.#blocks;
    // What was there when the run began is known, or is read where it stands: all of it, once it is
    // drawn.
    if (!this.#isLive) {
      for (const block of blocks) this.#spoken.add(block);
      if (isDrawing()) return;
    }
    this.#isLive = isLive;
    const whole = isLive ? blocks.slice(0, -1) : blocks;
    for (const block of whole.filter((each) => !this.#spoken.has(each))) {
      this.#spoken.add(block);
      const line = document.createElement("p");
      line.textContent = (block.textContent ?? "").slice(0, SPOKEN_CHARS);
      this.#region.append(line);
    }
    while (this.#region.childElementCount > KEPT_BLOCKS) this.#region.firstElementChild?.remove();
  }

  reset() {
    this.#isLive = false;
    this.#region.replaceChildren();
  }

  /** The blocks of the last message, if that is a reply; of what it thinks, none. */
  get #blocks() {
    let last = this.#log.lastElementChild;
    // Behind the reply stands what is queued or not sent yet.
    while (last && !last.matches(".message:not(.unsent)")) last = last.previousElementSibling;
    if (!last?.matches(".assistant")) return [];
    return [...last.querySelectorAll(":scope > .markdown > .block")];
  }
}

const isToApprove = (message) => message?.parts.some(isUndecided);

function wordsOf({ run, messages, problem, interrupts }, said) {
  if (run?.attempt) return t("Reconnecting, attempt {number}", { number: run.attempt });
  if (run) return run.stopping ? t("Stopping") : t("Generating a reply");
  if (problem && said) return t("The reply failed");
  if (interrupts.length) return t("Your answer is needed");
  const last = messages.at(-1);
  if (isToApprove(last)) return t("Your approval is needed");
  if (!said) return null;
  if (last?.parts.some((part) => part.state === "pending")) return t("Your answer is needed");
  if (last?.error) return t("The reply failed");
  return last?.ended ? t("Reply stopped") : t("Reply complete");
}

/** What is said of the messages that wait for the end of the run. */
function queueWords(state) {
  const count = state.queue.length;
  if (!count) return "";
  if (state.run)
    return `. ${plural(count, "One message is queued", "{count} messages are queued")}`;
  return isAsked(state) ? `. ${t("What is queued waits")}` : "";
}
