/**
 * One run, read to its end over as many connections as it takes.
 *
 * assistant-stream's own decoder and accumulator see a single unbroken stream: when a connection
 * drops, the next one is opened after the last whole event, and its events go into the same
 * decoder. The run belongs to the server, so nothing is lost while nobody listens.
 */

import * as api from "./api.js";
import { END_MARK, EventCutter } from "./events.js";
import { isOfSubstep } from "./substeps.js";
import {
  AssistantMessageAccumulator,
  AssistantTransportDecoder,
  createInitialMessage,
} from "../vendor/assistant-stream/assistant-stream.js";
import { t } from "./texts.js";

/** The server pings every 15 seconds at the latest; after this much silence the line is dead. */
const SILENCE_MS = 40_000;
/** A limit that holds for longer is said to the person who waits. */
const MAX_LIMIT_SECONDS = 60;
const DELAYS_MS = [250, 600, 1200, 2500, 4000, 5000, 5000, 5000, 5000, 5000];

/** Why reading ended: the run is over, or its stream is no longer held and must be loaded. */
export const DONE = "done";
export const LOST = "lost";

/**
 * @param {object} run
 * @param {string} run.threadId
 * @param {Response} [run.response]  a stream that is open already
 * @param {string} [run.cursor]  the id of the last event seen; needed without a response
 * @param {Record<string, any>[]} run.parts  this run's parts up to the cursor
 * @param {AbortSignal} run.signal
 * @param {(message: Record<string, any>) => void} run.onMessage  the message as accumulated so far
 * @param {(event: {id: string, data: string, chunk: Record<string, any> | null}) => void}
 *   run.onEvent
 * @param {(attempt: number) => void} run.onConnection  0: connected; else the attempt's number
 * @returns {Promise<"done" | "lost">}
 * @throws {api.Problem} when the server stays out of reach
 */
export async function readRun(run) {
  const reading = new Reading(run);
  try {
    return await reading.toEnd();
  } finally {
    await reading.close();
  }
}

/**
 * Wait until a run begins that waits for its turn, or is known not to begin.
 *
 * @param {AbortSignal} signal
 * @param {number} firstMs  to wait before the server is asked
 */
export async function runBegins(threadId, runId, signal, firstMs) {
  let again = firstMs;
  try {
    for (const delay of [...DELAYS_MS, null]) {
      if (again) await pause(again, signal);
      const response = await api.attach(threadId, `${runId}:0`, signal).catch((error) => {
        if (signal.aborted || !error.isTransient) throw error;
      });
      if (response === null || (response && (await hasEvent(response, signal)))) return;
      again = delay;
    }
  } catch {
    // Who waited is told by the signal, or asks what has become of the run.
  }
}

/** false: the connection has dropped before. */
async function hasEvent(response, signal) {
  const reader = response.body.getReader();
  const cutter = new EventCutter();
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read());
      if (done) return false;
      if (cutter.push(value).length) return true;
    }
  } catch (error) {
    if (signal.aborted) throw error;
    return false;
  } finally {
    reader.cancel().catch(() => {});
  }
}

class Reading {
  constructor(run) {
    this.run = run;
    this.cursor = run.cursor ?? "";
    /** How long a limit keeps this reader out. */
    this.limitedMs = 0;
    const decoder = new AssistantTransportDecoder();
    const initialMessage = { ...createInitialMessage(), parts: run.parts };
    /** @type {object} */
    const options = { initialMessage, throttle: true };
    const accumulator = new AssistantMessageAccumulator(options);
    const messages = decoder.readable.pipeThrough(accumulator);
    this.writer = decoder.writable.getWriter();
    this.accumulated = this.#accumulate(messages.getReader());
    this.encoder = new TextEncoder();
  }

  async toEnd() {
    let { response } = this.run;
    if (!response) {
      // Whoever comes to a live run was not connected before: that is no reconnecting.
      this.run.onConnection(0);
      response = await this.#attach();
      if (response === null) return LOST;
    }
    for (let attempt = 0; ; attempt += 1) {
      if (response) {
        const seen = this.cursor;
        this.run.onConnection(0);
        const end = await this.#read(response);
        if (end) return end;
        if (this.cursor !== seen) attempt = 0;
      }
      if (attempt >= DELAYS_MS.length) throw new api.Problem(0, GONE);
      response = await this.#reconnect(attempt);
      if (response === null) return LOST;
    }
  }

  /** Hand on what is whole; undefined when the connection dropped before the run's end. */
  async #read(response) {
    const reader = response.body.getReader();
    const cutter = new EventCutter();
    try {
      for (;;) {
        const { done, value } = await inTime(reader.read());
        if (done) return undefined;
        const end = await this.#take(cutter.push(value));
        if (end) return end;
      }
    } catch (error) {
      if (this.run.signal.aborted) throw error;
      return undefined;
    } finally {
      drain(reader);
    }
  }

  async #take(events) {
    for (const event of events) {
      if (isCursorLost(event)) return LOST;
      this.run.onEvent(event);
      if (event.id) this.cursor = event.id;
    }
    const text = events
      .filter((event) => !isOfSubstep(event))
      .map((event) => event.text)
      .join("");
    if (text) await this.writer.write(this.encoder.encode(text));
    return events.some((event) => event.data === END_MARK) ? DONE : undefined;
  }

  async #reconnect(attempt) {
    this.run.onConnection(attempt + 1);
    await pause(Math.max(DELAYS_MS[attempt], this.limitedMs), this.run.signal);
    this.limitedMs = 0;
    return this.#attach();
  }

  /** null: the stream is no longer held; undefined: try again. */
  async #attach() {
    try {
      return await api.attach(this.run.threadId, this.cursor, this.run.signal);
    } catch (error) {
      if (this.run.signal.aborted || !error.isTransient) throw error;
      if (error.code === "limit_exceeded") this.#limited(error);
      return undefined;
    }
  }

  #limited(problem) {
    if (problem.retryAfter === null || problem.retryAfter > MAX_LIMIT_SECONDS) throw problem;
    this.limitedMs = problem.retryAfter * 1000;
  }

  async #accumulate(reader) {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (!this.run.signal.aborted) this.run.onMessage(value);
    }
  }

  /** Let the accumulator finish what it was given, so that the last paint has everything. */
  async close() {
    await this.writer.close().catch(() => {});
    await this.accumulated.catch(() => {});
  }
}

const GONE = {
  code: "connection_lost",
  detail: t("The connection to the server was lost. The run may well go on there."),
};

const isCursorLost = ({ chunk }) => chunk?.type === "error" && chunk.code === "cursor_lost";

/** Let a stream come to its own end: one that is cancelled shows as a failed request. */
async function drain(reader) {
  try {
    while (!(await inTime(reader.read())).done);
  } catch {
    reader.cancel().catch(() => {});
  }
}

function inTime(promise) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("silence")), SILENCE_MS);
  });
  return Promise.race([promise, silence]).finally(() => clearTimeout(timer));
}

/** Ends early when the browser says that it is online again. */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      signal.removeEventListener("abort", end);
      if (signal.aborted) reject(signal.reason);
      else resolve(null);
    };
    const timer = setTimeout(end, ms);
    addEventListener("online", end);
    signal.addEventListener("abort", end);
  });
}
