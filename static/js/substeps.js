/**
 * What subagents say and do under the tool calls of a run, while the run is read: the steps of each
 * call as messages, as a snapshot has them.
 */

import { jsonOf } from "./interrupts.js";
import { t } from "./texts.js";

/** @typedef {Record<string, any>} Json */

/**
 * An event that is no part of the answer; assistant-stream's accumulator need not keep it.
 *
 * @param {{chunk: Json | null}} event
 */
export const isOfSubstep = ({ chunk }) =>
  chunk?.type === "data" && chunk.data.every((/** @type {Json} */ { name }) => name === "substep");

export class Substeps {
  /**
   * By the id of the call.
   *
   * @type {Map<string, Under>}
   */
  #calls = new Map();

  /** @param {Json} data  `{tool_call_id, chunk}` */
  take({ tool_call_id: callId, chunk }) {
    const under = this.#calls.get(callId) ?? new Under();
    this.#calls.set(callId, under);
    under.take(chunk);
  }

  /**
   * A call with the steps below it, behind those of earlier runs. Once it has its end, so have the
   * calls below it: those that a crash has left open are cancelled.
   *
   * @param {Json} part
   * @returns {Json}
   */
  under(part) {
    if (part.type !== "tool-call") return part;
    const told = this.#calls.get(part.toolCallId);
    if (!told && !part.messages) return part;
    const earlier = told ? told.changed(part.messages ?? []) : part.messages;
    const below = (/** @type {Json} */ one) => this.under(isOpen(part) ? one : ended(one));
    const messages = [...earlier, ...(told?.messages ?? [])].map((message) => ({
      ...message,
      parts: message.parts.map(below),
    }));
    return { ...part, messages, messagesCut: (part.messagesCut ?? 0) + (told?.cut.size ?? 0) };
  }
}

const OPEN = [undefined, "writing", "running", "pending"];
const SUBAGENT_ENDED = t("The subagent ended before this call finished.");

/** @param {Json} part */
const isOpen = ({ state }) => OPEN.includes(state);

/**
 * A part below a call that has its end.
 *
 * @param {Json} part
 */
function ended(part) {
  if (part.type !== "tool-call" || !isOpen(part)) return part;
  const result = { error: { code: "run_ended", message: SUBAGENT_ENDED } };
  return { ...part, state: "cancelled", result, isError: true };
}

/** @type {Record<string, Json>} */
const STARTS = {
  text: { text: "", open: true },
  reasoning: { text: "", open: true },
  "tool-call": { argsText: "", state: "writing" },
};

/** The steps under one call. */
class Under {
  /** @type {Set<string>} */
  cut = new Set();
  /** @type {Map<string, Json>} */
  #steps = new Map();
  /** @type {Json[]} */
  #parts = [];
  /** @type {Json[]} */
  #settled = [];
  #latest = "";

  /** @returns {Json[]} */
  get messages() {
    return [...this.#steps.values()].map(({ numbers, ...step }) => ({
      ...step,
      parts: numbers.map((/** @type {number} */ number) => this.#parts[number]),
    }));
  }

  /**
   * The steps of earlier runs, without those that were cut, and with the ends of their calls.
   *
   * @param {Json[]} messages
   * @returns {Json[]}
   */
  changed(messages) {
    const ended = (/** @type {Json} */ part) => this.#ended(part);
    return messages
      .filter(({ id }) => !this.cut.has(id))
      .map((message) => ({ ...message, parts: message.parts.map(ended) }));
  }

  /** @param {Json} part */
  #ended(part) {
    const settled = this.#settled.find((one) => one.tool_call_id === part.toolCallId);
    if (!settled) return part;
    const { end, result } = settled;
    return { ...part, state: end, result, isError: end !== "result" && end !== "shown" };
  }

  /** @param {Json} chunk */
  take(chunk) {
    const number = chunk.path?.[0];
    switch (chunk.type) {
      case "step-start": {
        const { stepId: id, agent, namespace } = chunk;
        this.#steps.set(id, { id, agent, namespace, numbers: [] });
        this.#latest = id;
        // A step that begins again was not cut: its agent has changed it.
        this.cut.delete(id);
        break;
      }
      case "part-start":
        this.#steps.get(chunk.stepId ?? this.#latest)?.numbers.push(this.#parts.length);
        this.#parts.push({ ...chunk.part, ...STARTS[chunk.part.type] });
        break;
      case "data":
        for (const item of chunk.data) this.#read(item);
        break;
      default:
        if (number !== undefined) this.#parts[number] = grown(this.#parts[number], chunk);
    }
  }

  /** @param {Json} item */
  #read({ name, data }) {
    if (name === "tool-settled") this.#settled.push(data);
    if (name !== "step-withdrawn") return;
    this.#steps.delete(data.step_id);
    this.cut.add(data.step_id);
  }
}

/**
 * A part after one more chunk.
 *
 * @param {Json} part
 * @param {Json} chunk
 */
function grown(part, chunk) {
  switch (chunk.type) {
    case "text-delta":
      return part.type === "tool-call"
        ? { ...part, argsText: part.argsText + chunk.textDelta }
        : { ...part, text: part.text + chunk.textDelta };
    case "tool-call-args-text-finish":
      return { ...part, args: jsonOf(part.argsText) ?? {}, state: "running" };
    case "result":
      return { ...part, result: chunk.result, isError: chunk.isError, state: chunk.end };
    case "part-finish":
      return part.state === "running" ? { ...part, state: "pending" } : { ...part, open: false };
  }
  return part;
}
