/**
 * LangGraph's UI messages (`push_ui_message`), which a graph keeps in its state: each is shown as a
 * call that draws a component, behind the answer that it names. One that names none stands behind
 * the last; one whose answer is not loaded is not shown. Pure functions.
 */

import { RENDER } from "./parts.js";

/**
 * `key` is that of the state which has it; null: it is told by an event.
 *
 * @typedef {{id: string, name: string, props: Record<string, any>, message: string | null,
 *   key: string | null}} Ui
 */

/** @param {any} value @returns {value is Record<string, any>} */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** The UI messages in a graph's state. @param {Record<string, any> | null | undefined} state */
export const uiIn = (state) =>
  Object.entries(state ?? {}).flatMap(([key, value]) =>
    Array.isArray(value) ? value.filter(isUi).map((item) => read(item, key)) : [],
  );

/** @param {any} item */
const isUi = (item) =>
  isObject(item) &&
  item.type === "ui" &&
  typeof item.id === "string" &&
  typeof item.name === "string" &&
  isObject(item.props);

/** @param {Record<string, any>} item @param {string | null} key @returns {Ui} */
const read = ({ id, name, props, metadata }, key) => ({
  id,
  name,
  props,
  message: typeof metadata?.message_id === "string" ? metadata.message_id : null,
  key,
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
  const told = read(event, null);
  const index = known.findIndex(({ id }) => id === told.id);
  if (index < 0) return [...known, told];
  const { key, props: before } = known[index];
  const props = event.metadata?.merge === true ? { ...before, ...told.props } : told.props;
  return known.with(index, { ...told, key, props });
}

/**
 * The UI messages after values of the state were told; those that are as they were stay the same
 * objects. Those of keys that have no value among these stay, unless these are the whole state.
 *
 * @param {Ui[]} known @param {Record<string, any>} values @param {boolean} [isWhole]
 * @returns {Ui[]}
 */
export function afterState(known, values, isWhole = false) {
  const told = uiIn(values);
  /** @param {Ui} one */
  const stays = ({ key }) => (key === null ? !told.length : !Object.hasOwn(values, key));
  const kept = isWhole ? [] : known.filter(stays);
  if (!told.length && kept.length === known.length) return known;
  const byId = new Map(known.map((one) => [one.id, one]));
  const now = told.map((one) => {
    const before = byId.get(one.id);
    return before && JSON.stringify(before) === JSON.stringify(one) ? before : one;
  });
  return [...kept, ...now];
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
  /** @type {Map<T | undefined, Ui[]>} */
  const byMessage = new Map();
  for (const one of ui) {
    const message = one.message === null ? last : bySteps.get(one.message);
    const others = byMessage.get(message);
    if (others) others.push(one);
    else byMessage.set(message, [one]);
  }
  return messages.map((message) => {
    const own = byMessage.get(message);
    return own ? shownWith(message, own) : message;
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
