/**
 * `request_user_selection`: a question with native inputs, that locks once it is answered.
 *
 * The answer is one of {value}, {values}, {date}, {start, end}, {answers}, {cancelled: true}; dates
 * are plain `YYYY-MM-DD`, never instants. What the form holds lives in its inputs alone.
 */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { keyed } from "../vendor/lit-html/directives/keyed.js";
import { AS_JSON, field, readFields } from "./argument-fields.js";
import { argsOf, argsOfText, questionFields, valueWords } from "./arguments.js";
import { withDates } from "./dates.js";
import { formatDate } from "./format.js";
import { icons } from "./icons.js";
import { t } from "./texts.js";

const KINDS = ["single", "multiple", "date", "date_range", "form"];
const isText = (value) => typeof value === "string";
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isDate = (value) => isText(value) && /^\d{4}-\d{2}-\d{2}$/.test(value);

/** The question of a call's arguments, or null when they are not one. */
export function questionOf(args) {
  const { kind, prompt, options, fields } = args ?? {};
  if (!KINDS.includes(kind) || !isText(prompt)) return null;
  const known = Array.isArray(options) ? options.filter((option) => isText(option?.value)) : [];
  if ((kind === "single" || kind === "multiple") && !known.length) return null;
  if (kind === "form" && !isObject(fields)) return null;
  const count = (value) => (Number.isInteger(value) && value >= 0 ? value : undefined);
  return {
    kind,
    prompt,
    options: known,
    preset: isText(args.default) ? args.default : undefined,
    min: count(args.min_selected) ?? 0,
    max: count(args.max_selected) ?? known.length,
    minDate: isDate(args.min_date) ? args.min_date : undefined,
    maxDate: isDate(args.max_date) ? args.max_date : undefined,
    fields,
  };
}

/**
 * @param {Record<string, any>} part  the tool call
 * @param {{result, state: "sending" | "failed", error?} | undefined} answer  given here
 * @param {(result: Record<string, any>) => void} onAnswer
 * @returns null when the arguments are no question: show the plain card
 */
export function selection(part, answer, onAnswer) {
  if (part.state === "writing") return writing(part.args);
  const question = questionOf(part.args);
  if (!question || part.state === "error") return null;
  const isOpen = part.state === "pending" || part.state === "running";
  if (!isOpen) return answered(question, part.result, part.isError);
  if (answer?.state === "sending") return answered(question, answer.result, false, true);
  return keyed(part.toolCallId, form(question, part.toolCallId, answer, onAnswer));
}

const writing = (args) => html`
  <div class="question" aria-busy="true">
    ${
      isText(args?.prompt)
        ? html`<p class="question-prompt">${withDates(args.prompt)}</p>`
        : nothing
    }
    <div class="skeleton lines" role="img" aria-label=${t("A question is being written")}></div>
  </div>
`;

function answered(question, result, isError, isSending = false) {
  const words = isError || result?.cancelled ? t("Skipped") : answerWords(result, question);
  return html`
    <p class="answered" aria-busy=${isSending}>
      <span class="answered-prompt">${withDates(question.prompt)}</span>
      <strong class=${words === t("Skipped") ? "muted" : ""}>${withDates(words)}</strong>
      ${isSending ? sending() : nothing}
    </p>
  `;
}

const sending = () => html`<span class="spinner" role="img" aria-label=${t("Sending")}></span>`;

function answerWords(result, { options, fields }) {
  const label = (value) => options.find((option) => option.value === value)?.label ?? value;
  if (isText(result?.value)) return label(result.value);
  if (Array.isArray(result?.values)) return result.values.map(label).join(", ") || t("None");
  if (isText(result?.date)) return formatDate(result.date);
  if (isText(result?.start)) return rangeWords(result.start, result.end);
  if (isObject(result?.answers)) return answersWords(result.answers, fields);
  return t("Answered");
}

const rangeWords = (start, end) =>
  t("{start} to {end}", { start: formatDate(start), end: formatDate(end) });

/**
 * "Name: Ada, Guests: 2".
 *
 * @param {Record<string, any>} answers @param {Record<string, any>} [fields]
 */
export const answersWords = (answers, fields) =>
  Object.entries(answers)
    .map(([name, value]) => {
      const title = isObject(fields?.properties?.[name])
        ? fields.properties[name].title
        : undefined;
      return `${isText(title) ? title : name}: ${valueWords(value)}`;
    })
    .join(", ") || t("Nothing");

/** The result of a call that a person has answered, in words. */
export function resultWords(result) {
  if (!isObject(result)) return valueWords(result);
  return result.cancelled === true ? t("Skipped") : answersWords(result);
}

/** The fields of a form; what was answered before stands in them. */
function fieldsOf({ fields }, answers = {}) {
  const given = Object.entries(fields.properties ?? {}).map(([name, declared]) => [
    name,
    isObject(declared) && Object.hasOwn(answers, name)
      ? { ...declared, default: answers[name] }
      : declared,
  ]);
  return questionFields({ ...fields, properties: Object.fromEntries(given) }) ?? [AS_JSON];
}

function form(question, callId, answer, onAnswer) {
  const submit = (event) => {
    event.preventDefault();
    const { currentTarget } = event;
    const read =
      question.kind === "form"
        ? readForm(currentTarget, fieldsOf(question, answer?.result?.answers))
        : READ[question.kind](new FormData(currentTarget), question);
    const hint = currentTarget.querySelector(".question-hint[role=alert]");
    hint.textContent = typeof read === "string" ? read : "";
    if (typeof read !== "string") onAnswer(read);
  };
  const hintId = `hint-${callId}`;
  return html`
    <form
      class="question"
      novalidate
      data-call=${callId}
      data-keep="call-${callId}"
      @submit=${submit}
    >
      <fieldset aria-describedby=${hintId}>
        <legend class="question-prompt">${withDates(question.prompt)}</legend>
        ${FIELDS[question.kind](question, answer?.result ?? presetOf(question), callId)}
      </fieldset>
      <p class="question-hint" id=${hintId} role="alert"></p>
      ${
        answer?.state === "failed"
          ? html`<p class="question-failed" role="alert">
              ${icons.warning} ${t("Your answer was not sent.")} ${answer.error?.message}
            </p>`
          : nothing
      }
      <div class="question-bar">
        <button type="submit" class="primary">
          ${answer?.state === "failed" ? t("Retry") : t("Answer")}
        </button>
        <button type="button" class="quiet" @click=${() => onAnswer({ cancelled: true })}>
          ${t("Skip")}
        </button>
        ${limitWords(question)}
      </div>
    </form>
  `;
}

/** What the model proposes, in the shape of an answer. */
function presetOf({ kind, preset, options }) {
  if (kind === "date") return { date: preset };
  // Of a single option nothing is to be chosen: it is only to be confirmed.
  return { value: preset ?? (options.length === 1 ? options[0].value : undefined) };
}

const option =
  (type, chosen) =>
  ({ value, label, description }) => html`
    <label class="option">
      <input type=${type} name="choice" .value=${value} ?checked=${chosen.includes(value)} />
      <span>
        <span class="option-label">${withDates(isText(label) && label ? label : value)}</span>
        ${
          isText(description)
            ? html`<span class="option-about">${withDates(description)}</span>`
            : nothing
        }
      </span>
    </label>
  `;

const dateInput = (name, label, { minDate, maxDate }, value) => html`
  <label class="date">
    <span>${label}</span>
    <input
      type="date"
      name=${name}
      min=${minDate ?? nothing}
      max=${maxDate ?? nothing}
      value=${isDate(value) ? value : nothing}
    />
  </label>
`;

/** The inputs of each kind, filled with an answer that was given before. */
const FIELDS = {
  single: ({ options }, { value }) =>
    html`<div class="options">${options.map(option("radio", [value]))}</div>`,
  multiple: ({ options }, { value, values }) =>
    html`<div class="options">${options.map(option("checkbox", values ?? [value]))}</div>`,
  date: (question, { date }) => dateInput("date", t("Date"), question, date),
  date_range: (question, { start, end }) => html`
    <div class="range">
      ${dateInput("start", t("From"), question, start)} ${dateInput("end", t("To"), question, end)}
    </div>
  `,
  form: (question, { answers }, callId) => html`
    <div class="fields">
      ${fieldsOf(question, answers).map((item, index) => field(item, index, `field-${callId}`))}
    </div>
  `,
};

/** The answer in a form, or a sentence about what is missing. */
const READ = {
  single: (data) => (data.has("choice") ? { value: data.get("choice") } : t("Choose one of them.")),
  multiple(data, { min, max }) {
    const values = data.getAll("choice");
    if (values.length < min) return t("Choose at least {min}.", { min });
    return values.length > max ? t("Choose {max} at most.", { max }) : { values };
  },
  date: (data, question) => dateProblem(data.get("date"), question) || { date: data.get("date") },
  date_range(data, question) {
    const [start, end] = [data.get("start"), data.get("end")];
    const problem = dateProblem(start, question) || dateProblem(end, question);
    if (problem) return problem;
    return start > end ? t("The first day is after the last.") : { start, end };
  },
};

function readForm(form, fields) {
  const isText = fields[0] === AS_JSON;
  const read = readFields(form, (typed) =>
    isText ? argsOfText({}, AS_JSON.text, typed[0]) : argsOf(fields, typed),
  );
  return read ? { answers: read.args } : t("Correct the fields above.");
}

function dateProblem(date, { minDate, maxDate }) {
  if (!isDate(date)) return t("Enter a whole date.");
  if (minDate && date < minDate) return t("Not before {date}.", { date: formatDate(minDate) });
  return maxDate && date > maxDate ? t("Not after {date}.", { date: formatDate(maxDate) }) : "";
}

function limitWords({ kind, min, max, options, minDate, maxDate }) {
  const words = [];
  if (kind === "multiple") {
    if (min === max) words.push(t("Choose {min}", { min }));
    else if (max < options.length)
      words.push(
        min > 1 ? t("Choose {min} to {max}", { min, max }) : t("Choose up to {max}", { max }),
      );
    else if (min > 0) words.push(t("Choose at least {min}", { min }));
  }
  if (minDate && maxDate) words.push(rangeWords(minDate, maxDate));
  else if (minDate) words.push(t("From {date}", { date: formatDate(minDate) }));
  else if (maxDate) words.push(t("Until {date}", { date: formatDate(maxDate) }));
  return words.length ? html`<span class="muted">${words.join(", ")}</span>` : nothing;
}
