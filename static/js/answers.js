/**
 * What a person answers: a question, an approval, what the graph stopped to ask. Each begins a run.
 */

import { isOnItsWay, undecided } from "./approvals.js";
import { t } from "./texts.js";
import { placeOf } from "./thread-state.js";

const MAX_DECISION_TRIES = 3;
const DECIDED = { message: t("Somebody else has decided on this call, or it waits no longer.") };

export class Answers {
  #thread;

  /** @param {import("./thread-store.js").ThreadStore} thread */
  constructor(thread) {
    this.#thread = thread;
  }

  /** Answer a question; the answer is kept until the server has it. The first one counts. */
  async answer(callId, result) {
    const thread = this.#thread;
    if (thread.state.answers[callId]?.state === "sending") return;
    this.#answered(callId, { result, state: "sending" });
    await thread.run.whenOver(() => {
      const { state, posts } = thread;
      if (state.answers[callId]?.state !== "sending") return undefined;
      const body = { tool_results: [{ tool_call_id: callId, result }], ...placeOf(state) };
      return posts.post(body, {
        before: state.messages,
        onTaken: (turn) => this.#accepted(callId, turn),
        onRefused: (error, messages) => this.#notAnswered(error, callId, messages),
      });
    });
  }

  /** The server has taken an answer: it stands in the message that the run goes on with. */
  #accepted(callId, turn) {
    const { [callId]: taken, ...answers } = this.#thread.state.answers;
    turn.settle({ tool_call_id: callId, end: "result", result: taken.result });
    this.#thread.set({ answers });
  }

  #notAnswered(error, callId, messages) {
    this.#answered(callId, { ...this.#thread.state.answers[callId], state: "failed", error });
    this.#thread.set({ messages });
    if (!error.isTransient) this.#thread.refresh();
  }

  #answered(callId, answer) {
    this.#thread.set({ answers: { ...this.#thread.state.answers, [callId]: answer } });
  }

  /**
   * Decide on a call that waits for an approval. While a run is live the decision waits; the form
   * keeps what was typed until the server has it.
   *
   * @param {string} id  of the approval @param {{approved: boolean, args?, reason?}} decision
   */
  async decide(id, decision) {
    if (!isOnItsWay(this.#thread.state.decisions[id])) await this.#decide(id, decision, 1);
  }

  async #decide(id, decision, tries) {
    const thread = this.#thread;
    const waiting = { state: "waiting" };
    this.#decided(id, waiting);
    await thread.run.whenOver(() => {
      const { state, posts } = thread;
      if (state.decisions[id] !== waiting) return undefined;
      const call = undecided(state.messages.at(-1), id);
      if (!call) return this.#decided(id, { state: "failed", error: DECIDED });
      this.#decided(id, { state: "sending" });
      const approval = { tool_call_id: call.toolCallId, approval_id: id, ...decision };
      const again = tries < MAX_DECISION_TRIES ? () => this.#decide(id, decision, tries + 1) : null;
      return posts.post(
        { approvals: [approval], ...placeOf(state) },
        {
          before: state.messages,
          onRefused: (error, messages) => this.#notDecided(error, id, messages, again),
        },
      );
    });
  }

  /**
   * The form opens again, or shows what somebody else has decided. A run that was started elsewhere
   * is followed to its end; then the decision is sent again, if the call still waits for it.
   */
  async #notDecided(error, id, messages, again) {
    const thread = this.#thread;
    const isBusy = error.code === "run_in_progress" && again;
    const answer = isBusy ? { state: "waiting" } : { state: "failed", error };
    thread.set({ messages });
    this.#decided(id, answer);
    if (error.isTransient || error.code === "invalid_arguments") return;
    await thread.refresh();
    if (!isBusy || thread.state.decisions[id] !== answer) return;
    if (undecided(thread.state.messages.at(-1), id)) await again();
    else this.#decided(id, { state: "failed", error: DECIDED });
  }

  #decided(id, answer) {
    this.#thread.set({ decisions: { ...this.#thread.state.decisions, [id]: answer } });
  }

  /** Answer open interrupts, by id; the forms keep what was typed until the server has it. */
  async answerInterrupts(values) {
    const thread = this.#thread;
    const byId = new Map(Object.entries(values));
    thread.set({ resuming: { values: byId } });
    const before = thread.withAnswer();
    await thread.posts.post(
      { resume: values },
      {
        before,
        interrupts: thread.state.interrupts.filter(({ id }) => !byId.has(id)),
        onTaken: () => thread.listeners.onResumed([...byId.keys()]),
        onRefused: (error, messages) => this.#notResumed(error, byId, messages),
      },
    );
  }

  /** The forms open again; one that was answered elsewhere is gone when the thread is loaded. */
  async #notResumed(error, values, messages) {
    const thread = this.#thread;
    thread.set({ messages, resuming: { values, error } });
    if (error.isTransient) return;
    await thread.refresh();
    const isOther = thread.state.resuming?.values !== values;
    if (isOther || thread.state.interrupts.some(({ id }) => values.has(id))) return;
    thread.set({ resuming: null });
    if (!thread.busy && !thread.state.missing) thread.fail(error, null);
  }
}
