/**
 * LangGraph's UI messages (`push_ui_message`), which a graph keeps in its state: each is shown as a
 * call that draws a component, behind the answer that it names. One that names none stands behind
 * the last; one whose answer is not loaded is not shown. Pure functions.
 */

import { RENDER } from "./parts.js";

/** @typedef {{id: string, name: string, props: Record<string, any>, message: string | null}} Ui */

/** @param {any} value @returns {value is Record<string, any>} */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** The UI messages in a graph's state. @param {Record<string, any> | null | undefined} state */
export const uiIn = (state) =>
  Object.values(state ?? {})
    .filter(Array.isArray)
    .flat()
    .filter((item) => isUi(item))
    .map(read);

/** @param {any} item */
const isUi = (item) =>
  isObject(item) &&
  item.type === "ui" &&
  typeof item.id === "string" &&
  typeof item.name === "string" &&
  isObject(item.props);

/** @param {Record<string, any>} item @returns {Ui} */
const read = ({ id, name, props, metadata }) => ({
  id,
  name,
  props,
  message: typeof metadata?.message_id === "string" ? metadata.message_id : null,
});

/**
 * The UI messages after a custom event, which may be one: a new one, further props of one, or its
 * end.
 *
 * @param {Ui[]} known @param {any} event @returns {Ui[]}
 */
export function withEvent(known, event) {
  if (isObject(event) && event.type === "remove-ui")
    return known.filter(({ id }) => id !== event.id);
  if (!isUi(event)) return known;
  const told = read(event);
  const index = known.findIndex(({ id }) => id === told.id);
  if (index < 0) return [...known, told];
  const isMore = event.metadata?.merge === true;
  const props = isMore ? { ...known[index].props, ...told.props } : told.props;
  return known.with(index, { ...told, props });
}

/**
 * The UI messages after values of the state were told; those that are as they were stay the same
 * objects. Values without any say nothing of those that there are.
 *
 * @param {Ui[]} known @param {Record<string, any>} values @returns {Ui[]}
 */
export function afterState(known, values) {
  const hasList = Object.values(values).some((value) => Array.isArray(value) && value.some(isUi));
  if (!hasList) return known;
  const byId = new Map(known.map((one) => [one.id, one]));
  return uiIn(values).map((one) => {
    const before = byId.get(one.id);
    return before && JSON.stringify(before) === JSON.stringify(one) ? before : one;
  });
}

/** Messages with their UI messages, kept by the message: what is the same is not painted again.
 * @type {WeakMap<object, {ui: Ui[], shown: any}>} */
const kept = new WeakMap();

/**
 * The messages of a thread with the UI messages as parts.
 *
 * @template {Record<string, any>} T
 * @param {T[]} messages @param {Ui[]} ui @returns {T[]}
 */
export function withUi(messages, ui) {
  if (!ui.length) return messages;
  const answers = messages.filter(({ role }) => role === "assistant");
  const last = answers.at(-1);
  /** @type {Map<unknown, T>} */
  const bySteps = new Map();
  for (const message of answers)
    for (const { stepId } of message.steps ?? []) bySteps.set(stepId, message);
  return messages.map((message) => {
    const own = ui.filter(
      (one) => (one.message === null ? last : bySteps.get(one.message)) === message,
    );
    return own.length ? shownWith(message, own) : message;
  });
}

/**
 * @template {Record<string, any>} T
 * @param {T} message @param {Ui[]} ui @returns {T}
 */
function shownWith(message, ui) {
  const known = kept.get(message);
  if (known?.ui.length === ui.length && known.ui.every((one, index) => one === ui[index]))
    return known.shown;
  const shown = { ...message, parts: [...message.parts, ...ui.map(asCall)] };
  kept.set(message, { ui, shown });
  return shown;
}

/** @type {WeakMap<Ui, Record<string, any>>} */
const calls = new WeakMap();

/** @param {Ui} ui */
function asCall(ui) {
  const known = calls.get(ui);
  if (known) return known;
  const args = { component: ui.name, props: ui.props };
  const call = {
    type: "tool-call",
    toolCallId: `ui-${ui.id}`,
    toolName: RENDER,
    key: `ui-${ui.id}`,
    argsText: "{}",
    args,
    state: "shown",
    result: args,
  };
  calls.set(ui, call);
  return call;
}
