/**
 * The messages of a thread as the page holds them. None is changed in place: what is the same
 * object needs no painting. `key` stays with a message that has no id yet, or gets another.
 */

import { partsOf, withSettled } from "./parts.js";

let keys = 0;
const newKey = () => `m${(keys += 1)}`;

/** @param {Record<string, any>[]} images  as parts */
export const newQuestion = (text, images = []) => {
  const parts = [...images, ...(text ? [{ type: "text", text }] : [])];
  return { key: newKey(), id: null, role: "user", parts, createdAt: new Date().toISOString() };
};

export const newAnswer = () => ({
  key: newKey(),
  id: null,
  role: "assistant",
  parts: [],
  steps: [],
});

/**
 * The messages of a snapshot; those that are known keep their keys and what only the page knows.
 */
export function hydrated(snapshot, shown) {
  const known = new Map(shown.map((message) => [message.id, message]));
  return snapshot.map((message) => {
    const sameId = known.get(message.id);
    // Replies to the same question have the same id.
    const before = sameId?.version === message.version ? sameId : undefined;
    return {
      ...withSpeakers({ ...message, parts: partsOf(message) }, before),
      key: sameId?.key ?? newKey(),
      timing: before?.timing,
    };
  });
}

/**
 * The newest messages of a snapshot behind the earlier ones that are shown. None of these has
 * changed if the first message of the snapshot is among them; else there may be a gap, and they are
 * dropped.
 *
 * @returns {{messages, hasEarlier: boolean}}
 */
export function joined({ messages: newest, has_earlier: hasEarlier }, shown, shownHasEarlier) {
  const index = hasEarlier ? shown.findIndex(({ id }) => id === newest[0]?.id) : -1;
  const messages = hydrated(newest, shown);
  return index < 0
    ? { messages, hasEarlier }
    : { messages: [...shown.slice(0, index), ...messages], hasEarlier: shownHasEarlier };
}

/** The messages of a moment ago, with the earlier ones that were loaded meanwhile. */
export function restored(before, shown) {
  const index = shown.findIndex(({ key }) => key === before[0]?.key);
  return index < 0 ? before : [...shown.slice(0, index), ...before];
}

/** The message with who spoke in it, as far as that was seen; a snapshot does not tell. */
function withSpeakers(message, before) {
  if (!before?.steps || before.parts.length !== message.parts.length) return message;
  const seen = new Map(before.steps.map((step) => [step.stepId, step]));
  const parts = message.parts.map((part, index) => ({
    ...part,
    stepId: before.parts[index].stepId,
  }));
  const steps = message.steps.map((step) => {
    const { node, namespace } = seen.get(step.stepId) ?? {};
    return { node, namespace, ...step };
  });
  return { ...message, parts, steps };
}

/** What stands before a message; all if there is none of this id. */
export function upTo(messages, id) {
  const index = messages.findIndex((message) => message.id === id);
  return index < 0 ? messages : messages.slice(0, index);
}

/** The messages with one pending call brought to its end. */
export const settledIn = (messages, settled) =>
  messages.map((message) =>
    message.parts.some(({ toolCallId }) => toolCallId === settled.tool_call_id)
      ? { ...message, parts: withSettled(message.parts, settled) }
      : message,
  );
