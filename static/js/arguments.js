/**
 * The arguments of a tool call as fields of a form, made from the tool's JSON Schema, and back.
 * Pure functions.
 *
 * A field is of one kind:
 *   text    a string or a number; `format` is that of a string, or null
 *   choice  one of a few values
 *   json    anything else, as JSON
 *
 * Its `text` is what it holds at first: for a choice the index of an option, "" for none. A field
 * whose text is still the same keeps its value, whatever that is.
 */

import { inJson, levelsOf } from "./bounds.js";
import { jsonOf } from "./interrupts.js";
import { t } from "./texts.js";
import { visible } from "./unseen.js";

const MAX_FIELDS = 40;
const MAX_OPTIONS = 200;
const MAX_REFERENCES = 8;
const SCALARS = ["string", "integer", "number"];
/** Types of input that browsers have for formats of strings. */
export const INPUT_TYPES = new Map([
  ["date", "date"],
  ["time", "time"],
  ["date-time", "datetime-local"],
]);

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === "string";

/**
 * @param {Record<string, any> | null} schema  of the tool's arguments; null: unknown
 * @param {Record<string, any>} args
 * @returns {Record<string, any>[] | null}  those that are given first; null: edit the arguments as
 *   one JSON text
 */
export function fieldsOf(schema, args) {
  if (!isObject(schema?.properties)) return null;
  const names = [...new Set([...Object.keys(schema.properties), ...Object.keys(args)])];
  if (!names.length || names.length > MAX_FIELDS) return null;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = names.map((name) => {
    const declared = Object.hasOwn(schema.properties, name) ? schema.properties[name] : null;
    const given = Object.hasOwn(args, name) ? { value: args[name] } : null;
    const about = isText(declared?.description) ? declared.description : "";
    return {
      name,
      about,
      given,
      isRequired: required.includes(name),
      ...inputOf(declared, schema, given),
    };
  });
  return [...fields.filter(({ given }) => given), ...fields.filter(({ given }) => !given)];
}

/**
 * The fields of a form that a tool's server asks for: in its order, with its titles and defaults.
 *
 * @param {{properties?: object}} schema
 * @returns {object[] | null}  null: answer with one JSON text
 */
export function questionFields(schema) {
  const declared = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  if (!declared.length) return [];
  const defaults = declared.filter(
    ([, property]) => isObject(property) && property.default !== undefined,
  );
  const fields = fieldsOf(
    schema,
    Object.fromEntries(defaults.map(([name, property]) => [name, property.default])),
  );
  if (!fields) return null;
  return declared.map(([name, property]) => ({
    ...fields.find((field) => field.name === name),
    ...titlesOf(property),
  }));
}

function titlesOf(property) {
  const { title, oneOf, enumNames } = isObject(property) ? property : {};
  const words = Array.isArray(oneOf) ? oneOf.map((option) => option?.title) : enumNames;
  return {
    ...(isText(title) ? { label: title } : {}),
    ...(Array.isArray(words) && words.every(isText) ? { words } : {}),
  };
}

function inputOf(declared, root, given) {
  const shape = shapeOf(declared, root);
  const json = { kind: "json", text: given ? visible(inJson(given.value)) : "" };
  if (!shape) return json;
  const { options, isNullable } = shape;
  const value = given?.value ?? null;
  if (value === null && given && !isNullable) return json;
  if (options) {
    const index = value === null ? "" : options.indexOf(value);
    return index === -1 ? json : { kind: "choice", options, isNullable, text: String(index) };
  }
  return value === null || isShown(value, shape)
    ? { kind: "text", ...shape, text: String(value ?? "") }
    : json;
}

/** Whether a field of text shows the value as it is, and keeps it. */
function isShown(value, { types = [] }) {
  if (typeof value === "number") return types.some((type) => type !== "string");
  return (
    isText(value) && types.includes("string") && visible(value) === value && !value.includes("\r")
  );
}

/** What a value may be, if that is text, a number, or one of a few values; else null. */
function shapeOf(declared, root) {
  const branches = branchesOf(declared, root);
  if (!branches) return null;
  const isNullable = branches.some(({ type }) => type === "null");
  const rest = branches.filter(({ type }) => type !== "null");
  const options = rest.flatMap((branch) => valuesOf(branch) ?? []);
  if (rest.length && rest.every(valuesOf) && options.length <= MAX_OPTIONS)
    return { options, isNullable };
  if (!rest.length || !rest.every(({ type }) => SCALARS.includes(type))) return null;
  const [{ format }] = rest;
  const isOne = rest.every((branch) => branch.type === "string" && branch.format === format);
  return {
    types: rest.map(({ type }) => type),
    isNullable,
    format: isOne && isText(format) ? format : null,
  };
}

/** A schema's alternatives, each with one type or with values; null if there are others. */
function branchesOf(declared, root) {
  const schema = resolved(declared, root);
  if (!schema) return null;
  const listed = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (listed) {
    const branches = listed.map((branch) => resolved(branch, root));
    return branches.every((branch) => branch && (isText(branch.type) || valuesOf(branch)))
      ? branches
      : null;
  }
  if (Array.isArray(schema.type)) return schema.type.map((type) => ({ ...schema, type }));
  return isText(schema.type) || valuesOf(schema) ? [schema] : null;
}

function valuesOf({ type, enum: listed, const: constant }) {
  const values = constant === undefined ? listed : [constant];
  if (Array.isArray(values)) {
    return values.length &&
      values.every(
        (value) => isText(value) || typeof value === "number" || typeof value === "boolean",
      )
      ? values
      : null;
  }
  return type === "boolean" ? [true, false] : null;
}

/** The schema that a reference within the whole leads to. */
function resolved(schema, root) {
  let found = schema;
  for (let hops = 0; hops < MAX_REFERENCES; hops += 1) {
    if (!isObject(found)) return null;
    const only = found.allOf?.length === 1 ? found.allOf[0] : null;
    if (!isText(found.$ref) && !only) return found;
    const [, list, name] = only
      ? []
      : (found.$ref.match(/^#\/(\$defs|definitions)\/([^/]+)$/) ?? []);
    found =
      only ?? (isObject(root[list]) && Object.hasOwn(root[list], name) ? root[list][name] : null);
  }
  return null;
}

/** What an option is called. */
export const optionWords = (value) =>
  typeof value === "boolean" ? (value ? t("Yes") : t("No")) : visible(String(value));

/**
 * What was typed, as arguments.
 *
 * @param {Record<string, any>[]} fields @param {string[]} typed  a text for each
 * @returns {{args?: Record<string, any>, isChanged?: boolean, problems?: string[]}}  arguments, or
 *   problems: a sentence for each field, or ""
 */
export function argsOf(fields, typed) {
  const read = fields.map((field, index) => valueOf(field, typed[index]));
  if (read.some(({ problem }) => problem))
    return { problems: read.map(({ problem = "" }) => problem) };
  const given = fields
    .map(({ name }, index) => [name, read[index].value])
    .filter(([, value]) => value !== undefined);
  const isChanged = fields.some(
    ({ given: before }, index) => !isSame(before?.value, read[index].value),
  );
  return { args: Object.fromEntries(given), isChanged };
}

/** The same for arguments that are edited as one JSON text. */
export function argsOfText(args, text, typed) {
  if (typed === text) return { args, isChanged: false };
  const value = jsonOf(typed);
  if (value === undefined) return { problems: [t("The arguments are not valid JSON.")] };
  if (!isObject(value)) return { problems: [t("The arguments have to be a JSON object: {…}.")] };
  return { args: value, isChanged: !isSame(value, args) };
}

const isSame = (one, other) => inJson(one, 0) === inJson(other, 0);

/** `{value}`, undefined if the field is left out, or `{problem}`. */
function valueOf(field, typed) {
  if (typed === field.text) {
    return field.given || !field.isRequired
      ? { value: field.given?.value }
      : { problem: t("A value is needed.") };
  }
  if (!typed.trim()) return emptied(field, typed);
  return READ[field.kind](field, typed);
}

function emptied({ kind, types, format, isRequired, isNullable }, typed) {
  if (kind === "text" && typed && types.includes("string")) return { value: typed };
  if (!isRequired) return { value: undefined };
  if (isNullable) return { value: null };
  const mayBeEmpty = kind === "text" && types.includes("string") && !INPUT_TYPES.has(format);
  return mayBeEmpty ? { value: typed } : { problem: t("A value is needed.") };
}

const READ = {
  choice: ({ options }, typed) => ({ value: options[Number(typed)] }),
  json(_, typed) {
    const value = jsonOf(typed);
    return value === undefined ? { problem: t("This is not valid JSON.") } : { value };
  },
  text({ types, given }, typed) {
    const isString = types.includes("string");
    // Of a value that may be either, "7" stays what 7 was before.
    if (isString && (types.length === 1 || isText(given?.value))) return { value: typed };
    const number = numberOf(typed, types.includes("number"));
    if (number !== null) return { value: number };
    if (isString) return { value: typed };
    return {
      problem: types.includes("number") ? t("Enter a number.") : t("Enter a whole number."),
    };
  },
};

function numberOf(typed, mayBeBroken) {
  const text = typed.trim();
  if (!/^-?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(text)) return null;
  const number = Number(text);
  if (!Number.isFinite(number)) return null;
  return Number.isSafeInteger(number) || (mayBeBroken && !Number.isInteger(number)) ? number : null;
}

/** Whether this page holds all numbers of a value as they were sent. */
export function isExact(value) {
  for (const level of levelsOf(value)) {
    if (level.some((item) => Number.isInteger(item) && !Number.isSafeInteger(item))) return false;
  }
  return true;
}

/** What a person has changed: `{name, before?, after?}`, texts. */
export function changesOf(before, after) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const shown = (args, name) => (Object.hasOwn(args, name) ? valueWords(args[name]) : undefined);
  return names
    .filter((name) => !isSame(own(before, name), own(after, name)))
    .map((name) => ({ name, before: shown(before, name), after: shown(after, name) }));
}

const own = (args, name) => (Object.hasOwn(args, name) ? args[name] : undefined);

/** A value of an argument, for a person. */
export const valueWords = (value) => (isText(value) ? value : inJson(value, 0));
