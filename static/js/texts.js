/**
 * The page's texts: English in the code, and what the deployer's catalogue has in their place.
 *
 * `make page` collects the texts of all calls of `t` and `plural` for `dist/texts.json`: write them
 * as they are, not in a variable.
 */

import { LOCALE, settings } from "./settings.js";

const { texts = {} } = settings;
const english = new Intl.PluralRules("en");
const rules = new Intl.PluralRules(LOCALE);
const VALUE = /\{(\w+)\}/g;

/** A text in the language of the page. `{name}` in it stands for a value.
 *
 * @param {string} text @param {Record<string, string | number>} [values]
 */
export const t = (text, values) => filled(/** @type {string} */ (texts[text] ?? text), values);

/**
 * The catalogue's text under a key that is no English text. Null: it has none, or one with a value
 * that is not there.
 *
 * @param {string} key @param {Record<string, string>} values
 */
export function catalogued(key, values) {
  const text = /** @type {string | undefined} */ (texts[key]);
  const isWhole = [...(text ?? "").matchAll(VALUE)].every(([, name]) =>
    Object.hasOwn(values, name),
  );
  return text && isWhole ? filled(text, values) : null;
}

/** A text with a number of things, `{count}`; `one` and `many` are its two English forms.
 *
 * @param {number} count @param {string} one @param {string} many
 * @param {Record<string, string | number>} [values]
 */
export function plural(count, one, many, values) {
  const forms = /** @type {Record<string, string> | undefined} */ (texts[many]);
  const text = forms
    ? (forms[rules.select(count)] ?? forms.other)
    : english.select(count) === "one"
      ? one
      : many;
  return filled(text, { count: new Intl.NumberFormat(LOCALE).format(count), ...values });
}

/** @param {string} text @param {Record<string, string | number>} [values] */
const filled = (text, values) =>
  values ? text.replace(VALUE, (_, name) => String(values[name])) : text;
