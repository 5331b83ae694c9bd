/**
 * Messages as Markdown: what was said as it was written, charts as tables of their data. Labels,
 * names and cells come from anywhere: no character of theirs is markup.
 */

import { inJson } from "./bounds.js";
import { nameOf } from "./chart.js";
import { resolvedOf } from "./components.js";
import { isDrawn, RENDER, SELECT } from "./parts.js";
import { CUT_OFF } from "./sentences.js";

/**
 * @param {{title: string, messages: Record<string, any>[]}} thread  with its parts as they are
 *   shown
 */
export function threadMarkdown({ title, messages }) {
  const images = [];
  const parts = [
    `# ${inline(title || "Untitled")}`,
    ...messages.map((message) => said(message, images)),
  ];
  const sources = images.map((address, i) => `[image-${i + 1}]: ${address}`);
  return `${[...parts, sources.join("\n")].filter(Boolean).join("\n\n")}\n`;
}

/** The words of an answer, and the data of what it shows. */
export const answerMarkdown = ({ parts }) =>
  blocks(parts, (part) =>
    part.type === "text" ? part.text : isDrawn(part) && (shown(part) || call(part)),
  );

const blocks = (parts, block) => parts.map(block).filter(Boolean).join("\n\n");

function said(message, images) {
  const body = blocks(message.parts, (part) => (VIEWS[part.type] ?? nothing)(part, images));
  return [message.role === "user" ? "## You" : "## Assistant", body, end(message)]
    .filter(Boolean)
    .join("\n\n");
}

function end({ ended, error, finishReason }) {
  if (error) return quoted(`Failed: ${inline(error.message)}`);
  if (ended) return quoted(`Not finished: ${inline(ended.reason)}`);
  return Object.hasOwn(CUT_OFF, finishReason) ? quoted(CUT_OFF[finishReason]) : "";
}

const nothing = () => "";

const VIEWS = {
  text: ({ text }) => text,
  reasoning: ({ text }) => quoted(`Thought: ${text}`),
  image({ image, alt }, images) {
    images.push(image);
    return `![${inline(alt || "Image")}][image-${images.length}]`;
  },
  "tool-call": (part) => shown(part) || call(part),
};

/** Of a component or a question; empty of any other call. */
function shown(part) {
  if (part.toolName === RENDER && part.state === "shown")
    return component(part.result ?? part.args ?? {});
  return part.toolName === SELECT ? question(part) : "";
}

function component(call) {
  const found = resolvedOf(call);
  if (!found) return "";
  const { component, props } = found;
  const title = props.title ? `**${inline(props.title)}**` : "";
  const content = component.text ? component.text(props, WRITING) : propsText(props);
  return [title, content].filter(Boolean).join("\n\n");
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isRows = (value) => Array.isArray(value) && value.length > 0 && value.every(isObject);

/**
 * The text of a component that has none of its own: its props as a list, lists of objects as
 * tables.
 */
export function propsText({ title: _, ...props }) {
  const given = Object.entries(props).filter(([, value]) => value !== undefined && value !== null);
  const items = given
    .filter(([, value]) => !isRows(value))
    .map(([name, value]) => `- ${inline(name)}: ${inline(words(value))}`);
  const tables = given
    .filter(([, value]) => isRows(value))
    .map(([name, rows]) => `${inline(name)}:\n\n${rowsTable(rows)}`);
  return [items.join("\n"), ...tables].filter(Boolean).join("\n\n");
}

function rowsTable(rows) {
  const keys = [...new Set(rows.flatMap(Object.keys))];
  const valueOf = (row, key) => (Object.hasOwn(row, key) ? row[key] : null);
  const shown = (value) => (typeof value === "object" && value !== null ? words(value) : value);
  return table([keys, ...rows.map((row) => keys.map((key) => shown(valueOf(row, key))))]);
}

function words(value) {
  if (Array.isArray(value) && !value.some((item) => typeof item === "object"))
    return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function question({ args, state, result }) {
  const { value, values, date, start, end, cancelled } = result ?? {};
  const chosen = values ?? [value ?? date ?? (start && `${start} to ${end}`)];
  const isAnswered = state === "result" && !cancelled;
  const answer = isAnswered
    ? chosen
        .filter((item) => item !== undefined)
        .map((item) => inline(String(item)))
        .join(", ")
    : "not answered";
  return quoted(`${inline(args?.prompt ?? "Question")}: ${answer || "nothing"}`);
}

function call({ toolName, argsText, state, result }) {
  const told = result === undefined ? [] : [code(inJson(result))];
  return [`**Tool ${inline(toolName)}** (${inline(state)})`, code(argsText || "{}"), ...told].join(
    "\n\n",
  );
}

/** A fence that no line of the text can close. */
function code(text) {
  const longest = (text.match(/`+/g) ?? []).reduce((most, { length }) => Math.max(most, length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}json\n${text}\n${fence}`;
}

const quoted = (text) => text.replace(/^/gm, "> ");

/** @param {any[][]} lines  the first has the heads */
function table([heads, ...rows]) {
  const isRight = heads.map(
    (_, i) => rows.length > 0 && rows.every((row) => row[i] === null || typeof row[i] === "number"),
  );
  const line = (cells) => `| ${cells.map(cell).join(" | ")} |`;
  return [
    line(heads),
    `|${isRight.map((right) => (right ? " ---: " : " --- ")).join("|")}|`,
    ...rows.map(line),
  ].join("\n");
}

const cell = (value) => (value === null || value === undefined ? "" : inline(String(value)));

/** Text on one line, in which nothing is markup. */
const inline = (text) =>
  text
    .replace(/\s+/g, " ")
    .trim()
    .replace(/[\\`*_[\]<>|#~&]/g, "\\$&");

/** Values over what they stand for: a column for each series. */
const columns = (head, values, series) =>
  table([
    [head, ...series.map(nameOf)],
    ...values.map((value, i) => [value, ...series.map(({ data }) => data[i])]),
  ]);

/** What the `text.js` of a component may use. */
const WRITING = { table, columns, inline, quoted };
