/**
 * The fields of a form that `arguments.js` makes of a JSON Schema, on the page. What is typed lives
 * in the inputs alone.
 */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { INPUT_TYPES, optionWords } from "./arguments.js";
import { cut } from "./bounds.js";
import { t } from "./texts.js";
import { visible } from "./unseen.js";

const MAX_WORDS = 300;
const LONG_CHARS = 50;

const short = (text) => visible(cut(text, MAX_WORDS));

/** The one field of an answer whose schema makes no fields. */
export const AS_JSON = { kind: "json", name: t("Your answer, as JSON"), text: "{}" };

export const field = (item, index, key) => html`
  <div
    class="field ${
      item.kind === "json" || isLong(item) || typeOf(item) === "datetime-local" ? "wide" : ""
    }"
  >
    <label for="${key}-${index}">${visible(item.label ?? item.name)}</label>
    ${INPUTS[item.kind](item, `${key}-${index}`)}
    <p class="field-about" id="${key}-${index}-about">${short(item.about ?? "")}</p>
    <p class="question-hint" id="${key}-${index}-hint"></p>
  </div>
`;

const isLong = ({ kind, text, types }) =>
  kind === "text" && types.includes("string") && (text.length > LONG_CHARS || text.includes("\n"));

const INPUTS = {
  choice: ({ options, words, text, isRequired, isNullable, given }, id) => html`
    <select id=${id} data-field aria-describedby="${id}-about ${id}-hint">
      ${
        given && isRequired && !isNullable
          ? nothing
          : html`<option value="" ?selected=${text === ""}>–</option>`
      }
      ${options.map(
        (value, index) =>
          html`<option value=${index} ?selected=${text === String(index)}>
            ${visible(words?.[index] ?? optionWords(value))}
          </option>`,
      )}
    </select>
  `,
  json: ({ text }, id) => area(text, id, "code-field"),
  text(item, id) {
    if (isLong(item)) return area(item.text, id, "");
    const { text, types, format } = item;
    return html`<input
      id=${id}
      data-field
      type=${typeOf(item)}
      inputmode=${types.includes("string") ? (KEYBOARDS.get(format) ?? nothing) : "decimal"}
      autocomplete="off"
      aria-describedby="${id}-about ${id}-hint"
      .defaultValue=${text}
    />`;
  },
};

/** Keys of a screen's keyboard, by the format of a string. */
const KEYBOARDS = new Map([
  ["email", "email"],
  ["uri", "url"],
]);

/**
 * A browser's field for dates and times, where it keeps the text as it is. A time that is not given
 * may need a zone.
 */
function typeOf({ format, text }) {
  const probe = document.createElement("input");
  probe.type = INPUT_TYPES.get(format) ?? "text";
  probe.value = text;
  const isKept = probe.value === text && (text !== "" || format === "date");
  return isKept ? probe.type : "text";
}

const area = (text, id, looks) => html`
  <textarea
    id=${id}
    data-field
    class=${looks}
    rows=${Math.min(12, text.split("\n").length + 1)}
    spellcheck=${looks === ""}
    aria-describedby="${id}-about ${id}-hint"
    .defaultValue=${text}
  ></textarea>
`;

/**
 * What the fields of a form hold; null when something is wrong, which the form then says.
 *
 * @template {{problems?: string[]}} T
 * @param {HTMLFormElement} form
 * @param {(typed: string[]) => T} read
 * @returns {T | null}
 */
export function readFields(form, read) {
  const inputs = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll("[data-field]")]);
  const found = read(inputs.map(({ value }) => value));
  // What is typed in half has no value.
  const problems = inputs.map(({ validity }, index) =>
    validity.badInput ? t("Complete this value.") : (found.problems?.[index] ?? ""),
  );
  inputs.forEach((input, index) => {
    const problem = problems[index];
    document.getElementById(`${input.id}-hint`).textContent = problem;
    input.ariaInvalid = String(problem !== "");
  });
  if (!problems.some(Boolean)) return found;
  const wrong = inputs.find(({ ariaInvalid }) => ariaInvalid === "true");
  wrong.closest("details")?.setAttribute("open", "");
  wrong.focus();
  return null;
}
