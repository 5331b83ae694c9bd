/**
 * Interrupts: what a graph stopped to ask, and the answers that it takes. Pure functions.
 *
 * An interrupt is one of seven requests:
 *   result    of a call that the browser answers
 *   form      values that a tool's server asks for
 *   address   one that a tool's server wants opened
 *   review    tool calls to decide on, as LangChain's HumanInTheLoopMiddleware asks for them
 *   question  a text, perhaps with further values
 *   value     any other JSON
 *   pause     nothing at all: a breakpoint
 */

import { inJson } from "./bounds.js";
import { safeLink } from "./links.js";
import { t } from "./texts.js";

/** What a reviewer can decide of a call, in the order in which it is offered. */
export const DECISIONS = ["approve", "edit", "reject", "respond"];
const PROMPTS = ["question", "prompt", "message"];

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === "string";

let keys = 0;

/**
 * Open interrupts as the page holds them. `key` names what is asked: a graph may ask again under
 * the same id, and what was typed belongs to the first question.
 *
 * @param {{id, value?, node, namespace?}[]} told @param {Record<string, any>[]} known  with keys
 */
export function keyed(told, known) {
  const latest = [...new Map(told.map((interrupt) => [interrupt.id, interrupt])).values()];
  return latest.map((interrupt) => {
    const same = known.find((other) => other.id === interrupt.id && asksTheSame(other, interrupt));
    return same ?? { ...interrupt, key: `interrupt-${(keys += 1)}` };
  });
}

const asksTheSame = (one, other) => inJson(one.value, 0) === inJson(other.value, 0);

export function requestOf({ value, response_schema: schema }) {
  if (value === undefined) return { kind: "pause" };
  if (value?.type === "elicitation" && isText(value.message)) {
    const asked = elicitation(value);
    if (asked) return asked;
  }
  const result = resultOf(value, schema);
  if (result) return result;
  const actions = batch(value) ?? single(value, schema);
  if (actions) return { kind: "review", actions, isBatch: "action_requests" in value };
  if (isText(value)) return { kind: "question", prompt: value };
  const name = isObject(value) && PROMPTS.find((key) => isText(value[key]) && value[key].trim());
  if (!name) return { kind: "value", value };
  const { [name]: prompt, ...rest } = value;
  return { kind: "question", prompt, ...(Object.keys(rest).length ? { rest } : {}) };
}

/** The result of a call, with a schema of it. One that is no object with properties is the only
 * field of a form. */
function resultOf(value, response) {
  const call = value?.type === "tool" ? (value.toolCall ?? value.tool_call) : null;
  if (!isText(call?.id) || !isText(call.name) || !isObject(response?.properties)) return null;
  const { properties, $defs = {}, definitions = {} } = response;
  const own = Object.hasOwn(properties, call.id) ? properties[call.id] : null;
  if (!isObject(own)) return null;
  const isBare = own.type !== "object" || !isObject(own.properties);
  const shape = isBare
    ? {
        type: "object",
        properties: { answer: { title: t("Answer"), ...own } },
        required: ["answer"],
      }
    : own;
  const prompt = isText(own.description) ? own.description : "";
  const title = isText(own.title) ? own.title : call.name;
  const schema = { ...shape, $defs, definitions };
  return { kind: "result", id: call.id, title, prompt, schema, isBare };
}

/** What a tool's server asks in the middle of a call. */
function elicitation({ mode, message: prompt, server, requested_schema: schema, url }) {
  const by = isText(server) ? server : "";
  if (mode === "form" && isObject(schema)) return { kind: "form", prompt, by, schema };
  const isWeb = mode === "url" && isText(url) && /^https?:/i.test(url) && safeLink(url);
  return isWeb ? { kind: "address", prompt, by, url } : null;
}

/** `{"action_requests": [...], "review_configs": [...]}`: answered by position, all at once. */
function batch(value) {
  const requests = value?.action_requests;
  if (!Array.isArray(requests) || !requests.length || !requests.every(isAction)) return null;
  const configs = Array.isArray(value.review_configs) ? value.review_configs : [];
  const actions = requests.map((request) => {
    const config = configs.find((item) => item?.action_name === request.name);
    return action(request, config?.allowed_decisions);
  });
  return actions.every(({ allowed }) => allowed.length) ? actions : null;
}

/**
 * `{"type": "tool_approval", ...}`: one call. The schema of the answer has a branch for each
 * decision.
 */
const single = (value, schema) =>
  value?.type === "tool_approval" && isAction(value) ? [action(value, decisionsOf(schema))] : null;

function decisionsOf(schema) {
  const branches = [schema?.oneOf, schema?.anyOf].find(Array.isArray) ?? [schema];
  const named = (branch) =>
    isText(branch?.$ref) ? schema.$defs?.[branch.$ref.split("/").at(-1)] : branch;
  const types = branches.map((branch) => named(branch)?.properties?.type);
  const allowed = types.map((type) => type?.const ?? type?.enum?.[0]);
  return allowed.some((decision) => DECISIONS.includes(decision)) ? allowed : DECISIONS;
}

const isAction = (request) => isText(request?.name) && isObject(request.args);

const action = ({ name, args, description }, allowed) => ({
  name,
  args,
  description: isText(description) ? withoutCall(description, name) : "",
  allowed: DECISIONS.filter((decision) => Array.isArray(allowed) && allowed.includes(decision)),
});

/** LangChain's default description ends with the call itself, in Python; the form shows it. */
function withoutCall(description, name) {
  const [before, call] = description.split(`\n\nTool: ${name}\nArgs: {`, 2);
  return call === undefined || call.includes("\n") ? description : before;
}

/** The answer to a review, of one decision for each of its calls. */
export const reviewAnswer = ({ isBatch }, decisions) => (isBatch ? { decisions } : decisions[0]);

/**
 * A decision on a call.
 *
 * @param {{name: string}} action
 * @param {{choice?: string, args: string, reason: string, message: string}} typed
 * @returns {{decision?: Record<string, any>, problem?: string}}
 */
export function decisionOf({ name }, { choice, args, reason, message }) {
  switch (choice) {
    case "approve":
      return { decision: { type: "approve" } };
    case "edit":
      return edited(name, args);
    case "reject":
      return { decision: { type: "reject", ...(reason.trim() ? { message: reason.trim() } : {}) } };
    case "respond":
      if (!message.trim())
        return { problem: t("Write the reply that stands in for the tool's result.") };
      return { decision: { type: "respond", message: message.trim() } };
    default:
      return { problem: t("Choose one of the decisions.") };
  }
}

function edited(name, text) {
  const args = jsonOf(text);
  if (args === undefined)
    return {
      problem: t("The arguments are not valid JSON. Correct them, or choose another decision."),
    };
  if (!isObject(args)) return { problem: t("The arguments have to be a JSON object: {…}.") };
  return { decision: { type: "edit", edited_action: { name, args } } };
}

/** The JSON that a text is; undefined when it is none. */
export function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a text would be as JSON, in words; null when it is no JSON, or only a string. */
export function jsonKind(text) {
  const value = jsonOf(text);
  if (value === undefined || isText(value)) return null;
  if (value === null) return "null";
  if (Array.isArray(value)) return t("a list");
  return { object: t("an object"), number: t("a number"), boolean: t("true or false") }[
    typeof value
  ];
}
