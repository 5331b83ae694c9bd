/** The assistant message of a turn while one of its runs is read. */

import { withApproval } from "./approvals.js";
import { fromAccumulated, withSettled } from "./parts.js";
import { Steps } from "./steps.js";
import { Substeps } from "./substeps.js";

export class Turn {
  #base;
  #steps;
  #accumulated = null;
  #live = true;
  #isStale = false;
  #settled = [];
  #discarded = [];
  #toldUi = [];
  #progress = {};
  #substeps = new Substeps();
  /** How the run's tool calls ended, by the index of their part. */
  #ends = {};
  /** How long tools ran, by the id of their call. */
  #toolMs = {};
  /** Who ends the run's tool calls, by the id of the call. @type {Map<string, string>} */
  #dispositions = new Map();
  /** The numbers of the run's parts that are calls which need an approval. */
  #gated = new Set();

  /** What the run stopped to ask. */
  interrupts = [];

  /**
   * @param {Record<string, any>} message  with the parts of earlier runs
   * @param {number} [startedAt]  ms
   * @param {number} [partCount]  parts of the run that the accumulator is seeded with
   */
  constructor(message, startedAt, partCount) {
    const { ended: _ended, error: _error, finishReason: _reason, ...base } = message;
    this.message = { ...base };
    this.#base = base.parts;
    this.#steps = new Steps(base.steps ?? [], partCount);
    this.timing = startedAt === undefined ? undefined : { startedAt };
    this.before = base.timing;
  }

  /** The run's parts as the accumulator has them now. */
  take(accumulated) {
    this.#accumulated = accumulated;
  }

  /** Only the server knows how the message is now: load it when the run has ended. */
  get isStale() {
    return this.#isStale || this.#steps.isUnsure;
  }

  /** An event as it came: what the accumulator does not keep. */
  see(event, now) {
    const { chunk } = event;
    if (chunk?.path?.length) this.#steps.seePart(chunk.path[0]);
    Object.assign(this.#toolMs, chunk?.timing?.toolMs);
    switch (chunk?.type) {
      case "step-start":
        this.#steps.start(chunk);
        break;
      case "part-start":
        this.#steps.startPart(chunk);
        if (chunk.part?.type === "tool-call")
          this.#dispositions.set(chunk.part.toolCallId, chunk.part.disposition);
        break;
      case "step-finish":
        this.#steps.finish(chunk);
        break;
      case "data":
        for (const item of chunk.data) this.#read(item);
        break;
      case "text-delta":
        if (this.timing) this.timing.firstAt ??= now;
        break;
      case "tool-call-args-text-finish":
        if (chunk.disposition === "approval") this.#gated.add(chunk.path[0]);
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

  /**
   * What the graph has said of its UI messages since this was asked last: custom events and values
   * of its state, in order.
   *
   * @returns {{value?: unknown, values?: Record<string, any>, whole?: boolean}[]}
   */
  newlyToldUi() {
    return this.#toldUi.splice(0);
  }

  /** Ids of interrupts that a new message has discarded. */
  newlyDiscarded() {
    return this.#discarded.splice(0);
  }

  finish(now) {
    this.#live = false;
    if (this.timing) this.message.timing = this.#measured(now);
  }

  /** The message to show: a new object each time. */
  shown() {
    const run = this.#accumulated;
    const order = run ? this.#steps.order(run.parts.length) : [];
    const parts = order.map((number) => this.#part(run.parts[number], number));
    const steps = this.#steps.list;
    return {
      ...this.message,
      parts: [...this.#base.map((part) => this.#withProgress(part)), ...parts],
      steps,
      usage: sum(steps),
      running: this.#live,
      ...(this.#live ? {} : { finishReason: reasonOf(run?.status) }),
    };
  }

  #part(part, number) {
    const told = {
      end: this.#ends[number],
      isGated: this.#gated.has(number),
      ms: this.#toolMs[part.toolCallId],
      disposition: this.#dispositions.get(part.toolCallId) ?? part.disposition,
    };
    return this.#withProgress({
      ...fromAccumulated(part, this.#live, told),
      key: this.#base.length + number,
      stepId: this.#steps.ownerOf(number),
    });
  }

  #withProgress(part) {
    const progress = this.#progress[part.toolCallId];
    const whole = this.#substeps.under(part);
    return progress === undefined ? whole : { ...whole, progress };
  }

  #read({ name, data }) {
    if (name === "substep") this.#substeps.take(data);
    if (name === "custom" || name === "state") this.#toldUi.push(data);
    if (name === "run-ended") this.message.ended = data;
    if (name === "step-withdrawn") this.#steps.withdraw(data);
    if (name === "messages-removed" || name === "history-shortened") this.#isStale = true;
    if (name === "interrupt") this.interrupts.push(data);
    if (name === "interrupts-discarded") this.#discarded.push(...data.ids);
    if (name === "tool-progress") this.#progress[data.tool_call_id] = data.data;
    if (name === "tool-approval") this.#base = withApproval(this.#base, data);
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
