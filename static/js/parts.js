/**
 * Parts, in the three shapes that they have: as the server's snapshot tells them, as the
 * accumulator holds them, and as the page shows them. Pure functions.
 *
 * A shown tool call has one `state`: writing, running, pending, result, error, timeout, cancelled,
 * declined or shown; and an `approval` if it needs one, as the server tells it.
 */

import { parsePartialJsonObject } from "../vendor/assistant-stream/assistant-stream.js";
import { stateOf } from "./approvals.js";
import { jsonOf } from "./interrupts.js";

export const RENDER = "render_ui_component";
export const SELECT = "request_user_selection";

/** A call of a UI tool that is none of the server's own: the component of its name draws it. */
export const isOfBrowser = ({ toolName, disposition }) =>
  (disposition === "client" || disposition === "shown") &&
  toolName !== RENDER &&
  toolName !== SELECT;

/** Of a call: the page shows a component or a question in its place. */
export const isDrawn = (part) =>
  part.toolName === RENDER || part.toolName === SELECT || isOfBrowser(part);

/** The approval that a form here asks for; a graph of another's own asks by an interrupt. */
const approvalOf = ({ disposition, approval }) =>
  disposition === "approval" ? approval : undefined;

/** The accumulator's form of a part of the snapshot: what a live run's stream goes on from. */
export function toAccumulated(part) {
  if (part.type !== "tool-call") return { ...part, status: { type: "running" } };
  const { toolCallId, toolName, argsText, ms, disposition } = part;
  const call = {
    type: "tool-call",
    toolCallId,
    toolName,
    argsText,
    ms,
    disposition,
    approval: approvalOf(part),
  };
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

/**
 * The shown form of an accumulated part; `end` is how its call ended, if its result was streamed.
 * `isGated`: the stream has said that the call needs an approval; `ms`: how long its tool ran;
 * `disposition`: who ends the call.
 */
export function fromAccumulated(
  part,
  isLive,
  { end = part.end, isGated = false, ms = part.ms, disposition = part.disposition } = {},
) {
  if (part.type === "text" || part.type === "reasoning") {
    return { type: part.type, text: part.text, open: isLive && part.status.type === "running" };
  }
  if (part.type !== "tool-call") return part;
  const { toolCallId, toolName, argsText, args } = part;
  const approval = isGated ? { id: toolCallId } : part.approval;
  // The accumulator leaves out what a parser of partial JSON may: nobody approves arguments unseen.
  const gated = approval ? { approval, args: jsonOf(argsText) ?? args } : {};
  const call = {
    type: "tool-call",
    toolCallId,
    toolName,
    argsText,
    args,
    disposition,
    ...gated,
  };
  if (part.state === "result") {
    const { result, isError } = part;
    return { ...call, state: end ?? (isError ? "error" : "result"), result, isError, ms };
  }
  return { ...call, state: isLive && !approval ? openState(part) : "pending" };
}

/** The shown form of the parts of a message of a thread at rest. */
export const partsOf = ({ parts, timing }) =>
  parts.map((part) => fromSnapshot(part, timing?.toolMs));

function fromSnapshot(told, toolMs = {}) {
  if (told.type !== "tool-call") return told;
  const part = told.messages ? { ...told, messages: told.messages.map(withParts) } : told;
  if (part.state !== "pending")
    return Object.hasOwn(toolMs, part.toolCallId) ? { ...part, ms: toolMs[part.toolCallId] } : part;
  const approval = approvalOf(part);
  const call = { ...part, approval };
  if (approval) return { ...call, state: stateOf(approval) };
  return isWhole(part.argsText)
    ? call
    : { ...call, args: parsePartialJsonObject(part.argsText) ?? {} };
}

const withParts = (message) => ({ ...message, parts: partsOf(message) });

/** The parts, with one open call brought to its end. */
export const withSettled = (parts, { tool_call_id: callId, end, result, duration_ms: ms }) =>
  parts.map((part) =>
    part.toolCallId === callId && part.result === undefined
      ? {
          ...part,
          state: end,
          result,
          isError: end !== "result" && end !== "shown",
          ms: ms ?? undefined,
        }
      : part,
  );

/** Text of a message as it was written, for the clipboard. */
export const textOf = (message) =>
  message.parts
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("\n\n");

export const imagesOf = (message) => message.parts.filter((part) => part.type === "image");

function openState(part) {
  if (part.status.type === "complete") return "pending";
  return part.state === "partial-call" ? "writing" : "running";
}

const isWhole = (text) => jsonOf(text) !== undefined;
