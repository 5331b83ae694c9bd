/** Calls that wait, or waited, for an approval; and the decisions on them. Pure functions. */

import { t } from "./texts.js";

/**
 * The call waits for a decision. A decision that is on its way changes nothing: the call waits
 * until the server says that somebody has decided.
 */
export const isUndecided = (part) =>
  part.type === "tool-call" &&
  part.state === "pending" &&
  part.approval !== undefined &&
  part.approval.approved === undefined;

/** The parts, of which one call's question is asked anew or was decided. */
export const withApproval = (parts, { tool_call_id: callId, approval }) =>
  parts.map((part) =>
    part.toolCallId === callId ? { ...part, approval, state: stateOf(approval) } : part,
  );

/** Of a call without a result. */
export const stateOf = ({ approved }) =>
  approved === undefined ? "pending" : approved ? "running" : "declined";

/** The call of a message that waits for a decision under this id. */
export const undecided = (message, approvalId) =>
  message?.parts.find((part) => isUndecided(part) && part.approval.id === approvalId);

/** A decision that the server does not have yet. */
export const isOnItsWay = (answer) => answer?.state === "waiting" || answer?.state === "sending";

/** Decisions, by approval, without those in a state. */
export const decisionsBut = (decisions, state) =>
  Object.fromEntries(Object.entries(decisions).filter(([, answer]) => answer.state !== state));

/** What was decided, in words: `{words, by?, reason?, isApproved}`; `isApproved` null: nothing. */
export function decisionOf({ approval, result }) {
  const { approved, by, reason, args } = approval;
  if (approved === undefined)
    return { words: UNDECIDED[result?.error?.code] ?? t("Not answered"), isApproved: null };
  return {
    words: !approved ? t("Declined") : args ? t("Approved with changed arguments") : t("Approved"),
    by,
    reason,
    isApproved: approved,
  };
}

/** By the code of the call's error. */
const UNDECIDED = { approval_expired: t("Nobody decided in time") };
