/**
 * Parts, in the three shapes that they have: as the server's snapshot tells them, as the
 * accumulator holds them, and as the page shows them. Pure functions.
 *
 * A shown tool call has one `state`: writing, running, pending, result, error, timeout, cancelled
 * or shown.
 */

import { parsePartialJsonObject } from "../vendor/assistant-stream/assistant-stream.js";

export const RENDER = "render_ui_component";
export const SELECT = "request_user_selection";

/** The accumulator's form of a part of the snapshot: what a live run's stream goes on from. */
export function toAccumulated(part) {
  if (part.type !== "tool-call") return { ...part, status: { type: "running" } };
  const { toolCallId, toolName, argsText } = part;
  const call = { type: "tool-call", toolCallId, toolName, argsText };
  if (part.state !== "pending") {
    const { args, result, isError } = part;
    const status = { type: "complete", reason: "stop" };
    return { ...call, args, state: "result", result, isError, status, end: part.state };
  }
  const whole = isWhole(argsText);
  return {
    ...call,
    args: parsePartialJsonObject(argsText) ?? {},
    state: whole ? "call" : "partial-call",
    status: { type: "running", isArgsComplete: whole },
  };
}

/** The shown form of an accumulated part; `end` is how its call ended, if its result was streamed. */
export function fromAccumulated(part, isLive, end = part.end) {
  if (part.type === "text" || part.type === "reasoning") {
    return { type: part.type, text: part.text, open: isLive && part.status.type === "running" };
  }
  if (part.type !== "tool-call") return part;
  const { toolCallId, toolName, argsText, args, timing } = part;
  const call = { type: "tool-call", toolCallId, toolName, argsText, args };
  const ms = timing?.completedAt ? timing.completedAt - timing.startedAt : undefined;
  if (part.state === "result") {
    const { result, isError } = part;
    return { ...call, state: end ?? (isError ? "error" : "result"), result, isError, ms };
  }
  return { ...call, state: isLive ? openState(part) : "pending" };
}

/** The shown form of a part of a thread at rest. */
export function fromSnapshot(part) {
  if (part.type !== "tool-call") return part;
  return part.state === "pending" && !isWhole(part.argsText)
    ? { ...part, args: parsePartialJsonObject(part.argsText) ?? {} }
    : part;
}

/** The parts, with one pending call brought to its end. */
export const withSettled = (parts, { tool_call_id: callId, end, result }) =>
  parts.map((part) =>
    part.toolCallId === callId && part.state === "pending"
      ? { ...part, state: end, result, isError: end !== "result" && end !== "shown" }
      : part,
  );

/** Text of a message as it was written, for the clipboard. */
export const textOf = (message) =>
  message.parts
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("\n\n");

export const isSettled = (part) => !["writing", "running", "pending"].includes(part.state);

function openState(part) {
  if (part.status.type === "complete") return "pending";
  return part.state === "partial-call" ? "writing" : "running";
}

function isWhole(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
