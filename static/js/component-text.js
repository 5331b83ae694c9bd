/**
 * Components as Markdown: what Copy and Export have of them. Names, labels and cells come from
 * anywhere: no character of theirs is markup.
 */

import { inJson } from "./bounds.js";
import { nameOf } from "./chart.js";

/** @typedef {{text?: (props: any, writing: any) => string}} Texted */

/**
 * Its title and its text; that of a component without a text of its own are its props.
 *
 * @param {Texted} component @param {Record<string, any>} props
 */
export function componentText(component, props) {
  const title = props.title ? `**${inline(props.title)}**` : "";
  const content = ownText(component, props) ?? propsText(props);
  return [title, content].filter(Boolean).join("\n\n");
}

/** What its `text.js` gives; null if it has none, or that fails.
 *
 * @param {Texted} component @param {Record<string, any>} props
 */
function ownText({ text }, props) {
  if (!text) return null;
  try {
    const words = text(props, WRITING);
    if (typeof words !== "string") throw new TypeError("text() of a component gave no string");
    return words;
  } catch (error) {
    reportError(error);
    return null;
  }
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isRows = (value) => Array.isArray(value) && value.length > 0 && value.every(isObject);

/**
 * The text of a component that has none of its own: its props as a list, lists of objects as
 * tables.
 *
 * @param {Record<string, any>} props
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
  return typeof value === "object" ? inJson(value, 0) : String(value);
}

export const quoted = (text) => text.replace(/^/gm, "> ");

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
export const inline = (text) =>
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
