/** The assistant message of a turn while one of its runs is read. */

import { fromAccumulated, withSettled } from "./parts.js";

export class Turn {
  #base;
  #baseSteps;
  #accumulated = null;
  #live = true;
  #dataSeen = 0;
  #settled = [];
  #progress = {};
  /** How the run's tool calls ended, by the index of their part. */
  #ends = {};

  /** @param {object} message  with the parts of earlier runs @param {number} [startedAt]  ms */
  constructor(message, startedAt) {
    const { ended: _ended, error: _error, finishReason: _reason, ...base } = message;
    this.message = { ...base };
    this.#base = base.parts;
    this.#baseSteps = base.steps ?? [];
    this.timing = startedAt === undefined ? undefined : { startedAt };
    this.before = base.timing;
  }

  /** The run's parts as the accumulator has them now. */
  take(accumulated) {
    this.#accumulated = accumulated;
    const data = accumulated.metadata.unstable_data;
    for (; this.#dataSeen < data.length; this.#dataSeen += 1) this.#read(data[this.#dataSeen]);
  }

  /** An event as it came: what the accumulator does not keep. */
  see(event, now) {
    const { chunk } = event;
    switch (chunk?.type) {
      case "text-delta":
        if (this.timing) this.timing.firstAt ??= now;
        break;
      case "result":
        this.#ends[chunk.path[0]] = chunk.end;
        break;
      case "error":
        this.message.error = { code: chunk.code, message: chunk.error, id: chunk.id };
        break;
    }
  }

  /** A call of an earlier run of this turn has come to its end. */
  settle(settled) {
    this.#base = withSettled(this.#base, settled);
  }

  newlySettled() {
    return this.#settled.splice(0);
  }

  finish(now) {
    this.#live = false;
    if (this.timing) this.message.timing = this.#measured(now);
  }

  /** The message to show: a new object each time. */
  shown() {
    const run = this.#accumulated;
    const parts = run ? run.parts.map((part, index) => this.#part(part, index)) : [];
    const steps = [...this.#baseSteps, ...(run?.metadata.steps ?? [])];
    return {
      ...this.message,
      parts: [...this.#base, ...parts],
      steps,
      usage: sum(steps),
      running: this.#live,
      ...(this.#live ? {} : { finishReason: reasonOf(run?.status) }),
    };
  }

  #part(part, index) {
    const shown = fromAccumulated(part, this.#live, this.#ends[index]);
    const progress = this.#progress[part.toolCallId];
    return progress === undefined ? shown : { ...shown, progress };
  }

  #read({ name, data }) {
    if (name === "run-ended") this.message.ended = data;
    if (name === "tool-progress") this.#progress[data.tool_call_id] = data.data;
    if (name === "tool-settled") {
      this.settle(data);
      this.#settled.push(data);
    }
  }

  #measured(now) {
    const { startedAt, firstAt } = this.timing;
    const before = this.before ?? { totalMs: 0 };
    return {
      totalMs: before.totalMs + now - startedAt,
      firstMs: before.firstMs ?? (firstAt === undefined ? undefined : firstAt - startedAt),
    };
  }
}

const REASONS = { "requires-action": "tool-calls", complete: "stop" };
const reasonOf = (status) => REASONS[status?.type] ?? status?.reason ?? "other";

function sum(steps) {
  const counted = steps.filter((step) => step.usage);
  if (!counted.length) return undefined;
  const total = (name) => counted.reduce((tokens, step) => tokens + step.usage[name], 0);
  return { inputTokens: total("inputTokens"), outputTokens: total("outputTokens") };
}
