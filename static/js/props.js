/**
 * The props of a component, checked by its schema (`tools/props.py` lists the keywords).
 *
 * `whole` is for the props of a finished call, `partial` for those that still stream. No property
 * gets through that the schema does not allow.
 */

/** @typedef {Record<string, any>} Schema */

const TITLE = { title: { type: "string", maxLength: 2000 } };

/** The schema of a component, with the title that each component takes.
 *
 * @param {Schema} schema @returns {Schema}
 */
export const withTitle = (schema) => ({
  ...schema,
  properties: { ...TITLE, ...schema.properties },
});

/** @param {unknown} value @returns {value is Record<string, any>} */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @type {Record<string, (value: any) => boolean>} */
const TYPES = {
  string: (value) => typeof value === "string",
  number: Number.isFinite,
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
};

/** @param {number} value @param {number | undefined} least @param {number | undefined} most */
const isWithin = (value, least = -Infinity, most = Infinity) => value >= least && value <= most;

/** The schema of what may be anything: nothing looks into it, however deep it is. */
const ANYTHING = {};

/** The schema of a property of an object; null: there may be none of this name.
 *
 * @param {Schema} schema @param {string} name @returns {Schema | null}
 */
function schemaOf({ properties = {}, additionalProperties: others = true }, name) {
  if (Object.hasOwn(properties, name)) return properties[name];
  return others === true ? ANYTHING : others || null;
}

/** @param {Schema} schema @param {unknown} value @returns {boolean} */
function fits(schema, value) {
  if (schema === ANYTHING) return true;
  if (schema.enum) return schema.enum.includes(value);
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length && !types.some((name) => TYPES[name](value))) return false;
  if (typeof value === "number") return isWithin(value, schema.minimum, schema.maximum);
  if (typeof value === "string") return hasLength(schema, value);
  if (Array.isArray(value))
    return (
      isWithin(value.length, schema.minItems, schema.maxItems) &&
      value.every((item) => fits(schema.items ?? ANYTHING, item))
    );
  return !isObject(value) || hasProperties(schema, value, fits);
}

/** A length is counted in characters, as JSON Schema has it: an emoji is one.
 *
 * @param {Schema} schema @param {string} value
 */
function hasLength({ minLength: least, maxLength: most }, value) {
  if (least === undefined && (most === undefined || value.length <= most)) return true;
  return isWithin([...value].length, least, most);
}

/** @param {Schema} schema @param {Record<string, any>} value
 *  @param {(schema: Schema, value: unknown) => boolean} check
 */
function hasProperties(schema, value, check) {
  if (!hasRequired(schema, value)) return false;
  return Object.entries(value).every(([name, item]) => {
    const declared = schemaOf(schema, name);
    return declared !== null && check(declared, item);
  });
}

/** @param {Schema} schema @param {Record<string, any>} value */
const hasRequired = ({ required = [] }, value) =>
  required.every((/** @type {string} */ name) => Object.hasOwn(value, name));

/** Whether each array is as long as the one of the props that its schema names.
 *
 * @param {Schema} schema @param {any} value @param {Record<string, any>} props @returns {boolean}
 */
function isEven(schema, value, props) {
  if (schema === ANYTHING) return true;
  if (Array.isArray(value)) {
    const { sameLengthAs: other, items } = schema;
    if (other && value.length !== props[other].length) return false;
    return !isObject(items) || value.every((item) => isEven(items, item, props));
  }
  if (!isObject(value)) return true;
  return hasProperties({ ...schema, required: [] }, value, (declared, item) =>
    isEven(declared, item, props),
  );
}

/** Props that fit a schema, or null.
 *
 * @param {Schema} schema @param {unknown} props
 */
export const whole = (schema, props) =>
  isObject(props) && fits(schema, props) && isEven(schema, props, props) ? props : null;

/** What can be drawn of props that are still being written, or null.
 *
 * @param {Schema} schema @param {unknown} props @returns {Record<string, any> | null}
 */
export const partial = (schema, props) => (isObject(props) && grown(schema, props)) || null;

/** The part of a value that fits; undefined if that is not enough.
 *
 * @param {Schema} schema @param {unknown} value @returns {any}
 */
function grown(schema, value) {
  if (schema.type === "array" && Array.isArray(value)) {
    const items = value
      .slice(0, schema.maxItems)
      .map((item) => grown(schema.items, item))
      .filter((item) => item !== undefined);
    return items.length >= (schema.minItems ?? 0) ? items : undefined;
  }
  if (schema.type !== "object" || !isObject(value)) return fits(schema, value) ? value : undefined;
  const entries = Object.entries(value)
    .map(([name, item]) => [name, grown(schemaOf(schema, name) ?? { enum: [] }, item)])
    .filter(([, item]) => item !== undefined);
  const found = Object.fromEntries(entries);
  return hasRequired(schema, found) ? found : undefined;
}
