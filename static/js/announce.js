/** What a screen reader is told; the log itself is silent, or it would read every word twice. */

import { isUndecided } from "./approvals.js";
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

const isToApprove = (message) => message?.parts.some(isUndecided);

function wordsOf({ run, messages, problem, interrupts }, said) {
  if (run?.attempt) return `Reconnecting, attempt ${run.attempt}`;
  if (run) return run.stopping ? "Stopping" : "Generating a reply";
  if (problem && said) return "The reply failed";
  if (interrupts.length) return "Your answer is needed";
  const last = messages.at(-1);
  if (isToApprove(last)) return "Your approval is needed";
  if (!said) return null;
  if (last?.parts.some((part) => part.state === "pending")) return "Your answer is needed";
  if (last?.error) return "The reply failed";
  return last?.ended ? "Reply stopped" : "Reply complete";
}

/** What is said of the messages that wait for the end of the run. */
function queueWords(state) {
  const count = state.queue.length;
  if (!count) return "";
  if (state.run) return count === 1 ? ". One message is queued" : `. ${count} messages are queued`;
  return isAsked(state) ? ". What is queued waits" : "";
}
