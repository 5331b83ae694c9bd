/**
 * Open interrupts as forms. What is typed lives in the inputs alone, so that a form which is shut
 * while its answer is on its way, and opened again when that failed, has it still.
 */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { guard } from "../vendor/lit-html/directives/guard.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { AS_JSON, field, readFields } from "./argument-fields.js";
import { argsOf, argsOfText, questionFields } from "./arguments.js";
import { cut, inJson } from "./bounds.js";
import { withDates } from "./dates.js";
import { icons } from "./icons.js";
import { decisionOf, jsonKind, jsonOf, requestOf, reviewAnswer } from "./interrupts.js";
import { sends } from "./keys.js";
import { speakerOf } from "./steps.js";
import { plural, t } from "./texts.js";
import { visible } from "./unseen.js";

/** A longer prompt scrolls in a box of its own. */
const LONG_CHARS = 1200;

/**
 * @param {{interrupts, resuming, run}} state  of the thread store
 * @param {{onAnswerInterrupts: (values: Record<string, any>) => void}} actions  values by interrupt
 *   id
 */
export function interruptsView({ interrupts, resuming, run }, { onAnswerInterrupts }) {
  if (!interrupts.length) return nothing;
  const failed = resuming?.error && interrupts.find(({ id }) => resuming.values.has(id));
  const isSending = (id) => Boolean(resuming && !resuming.error && resuming.values.has(id));
  return html`
    <section class="interrupts" aria-label=${t("Waiting for your answer")}>
      ${repeat(
        interrupts,
        ({ key }) => key,
        (interrupt) => {
          const error = interrupt === failed ? resuming.error : null;
          const about = {
            isShut: run !== null,
            isSending: isSending(interrupt.id),
            isOne: interrupts.length === 1,
            error,
          };
          return form(interrupt, about, onAnswerInterrupts);
        },
      )}
      <div class="interrupts-bar">
        ${interrupts.length > 1 ? sendAll(interrupts, run !== null, onAnswerInterrupts) : nothing}
        <p class="muted">${NOTE[interrupts.length > 1 ? "many" : "one"]}</p>
      </div>
    </section>
  `;
}

const NOTE = {
  one: t("Instead of an answer you can write a new message. This is then discarded."),
  many: t("Instead of answers you can write a new message. All of these are then discarded."),
};

function sendAll(interrupts, isShut, onAnswer) {
  const send = ({ currentTarget }) => {
    const forms = [...currentTarget.closest(".interrupts").querySelectorAll("form.interrupt")];
    const answers = interrupts.map((interrupt, index) => [
      interrupt.id,
      read(forms[index], interrupt),
    ]);
    forms
      .find((form) => form.querySelector(HINT).textContent)
      ?.querySelector(FIELDS)
      .focus();
    if (answers.every(([, answer]) => answer)) {
      onAnswer(Object.fromEntries(answers.map(([id, { value }]) => [id, value])));
    }
  };
  return html`<button type="button" class="primary" ?disabled=${isShut} @click=${send}>
    ${plural(interrupts.length, "Send {count} answer", "Send all {count} answers")}
  </button>`;
}

/** What its form is kept under. */
export const nameOfInterrupt = (id) => `interrupt-${id}`;

/** Of the whole form; a field may have one of its own. */
const HINT = ".question-hint[role=alert]";
const FIELDS = "input:not([hidden] *), select, textarea, button";

function form(interrupt, { isShut, isSending, isOne, error }, onAnswer) {
  const { id, key } = interrupt;
  const submit = (event) => {
    event.preventDefault();
    const answer = read(event.currentTarget, interrupt);
    if (answer) onAnswer({ [id]: answer.value });
  };
  return html`
    <form
      class="question interrupt"
      novalidate
      data-keep=${nameOfInterrupt(id)}
      aria-busy=${isSending}
      @submit=${submit}
    >
      <fieldset class="interrupt-fields" ?disabled=${isShut} aria-describedby="${key}-hint">
        ${guard([interrupt], () =>
          VIEWS[requestOf(interrupt).kind](requestOf(interrupt), interrupt),
        )}
        <p class="question-hint" id="${key}-hint" role="alert"></p>
        ${
          error
            ? html`<p class="question-failed" role="alert">
                ${icons.warning} ${t("Your answer was not sent.")} ${error.message}
              </p>`
            : nothing
        }
        <div class="question-bar">
          <button type="submit" class=${isOne ? "primary" : ""}>
            ${BUTTONS[requestOf(interrupt).kind]}
          </button>
          ${refusals(interrupt, onAnswer)}
          ${
            isSending
              ? html`<span class="spinner" role="img" aria-label=${t("Sending")}></span>`
              : nothing
          }
        </div>
      </fieldset>
    </form>
  `;
}

/** Of a call, and of a question of a tool's server, which is told how it was left. */
function refusals(interrupt, onAnswer) {
  const { kind, id } = /** @type {{kind: string, id?: string}} */ (requestOf(interrupt));
  if (kind === "result") {
    const skip = () => onAnswer({ [interrupt.id]: { [id]: { cancelled: true } } });
    return html`<button type="button" class="quiet" @click=${skip}>${t("Skip")}</button>`;
  }
  if (kind !== "form" && kind !== "address") return nothing;
  const button = (action, words) =>
    html`<button type="button" @click=${() => onAnswer({ [interrupt.id]: { action } })}>
      ${words}
    </button>`;
  return html`${button("decline", t("Decline"))} ${button("cancel", t("Cancel"))}`;
}

const BUTTONS = {
  result: t("Send answer"),
  form: t("Send answer"),
  address: t("I am done there"),
  review: t("Send decision"),
  question: t("Send answer"),
  value: t("Send answer"),
  pause: t("Continue"),
};

const heading = (words, interrupt) => html`
  <legend class="interrupt-legend">
    ${icons.question} <span>${words}</span>
    <span class="muted">${visible(speakerOf(interrupt))}</span>
  </legend>
`;

const VIEWS = {
  result: ({ title, prompt, schema }, interrupt) => html`
    ${heading(title, interrupt)} ${prose(t("Question"), prompt, "interrupt-prompt")}
    <div class="fields">
      ${fieldsFor(schema).map((item, index) => field(item, index, interrupt.key))}
    </div>
  `,
  review: ({ actions }, interrupt) => html`
    ${heading(
      plural(actions.length, "A call waits for a decision", "{count} calls wait for a decision"),
      interrupt,
    )}
    ${actions.map((action, index) => review(action, `${interrupt.key}-${index}`))}
  `,
  question: ({ prompt, rest }, interrupt) => html`
    ${heading(t("A question"), interrupt)}
    <div id="${interrupt.key}-prompt">${prose(t("Question"), prompt, "interrupt-prompt")}</div>
    ${rest === undefined ? nothing : box(t("Details"), inJson(rest))}
    ${answerField(interrupt.key, false)}
  `,
  value: ({ value }, interrupt) => html`
    ${heading(t("An answer is needed"), interrupt)}
    <div id="${interrupt.key}-prompt">${box(t("Value"), inJson(value))}</div>
    ${answerField(interrupt.key, true)}
  `,
  form: ({ prompt, by, schema }, interrupt) => html`
    ${heading(t("{name} asks", { name: by }), interrupt)}
    ${prose(t("Question"), prompt, "interrupt-prompt")}
    <div class="fields">
      ${fieldsFor(schema).map((item, index) => field(item, index, interrupt.key))}
    </div>
  `,
  address: ({ prompt, by, url }, interrupt) => html`
    ${heading(t("{name} asks you to open an address", { name: by }), interrupt)}
    ${prose(t("Question"), prompt, "interrupt-prompt")}
    <p class="interrupt-prompt">
      <a href=${url} target="_blank" rel="noopener noreferrer" referrerpolicy="no-referrer"
        >${shown(url)}</a
      >
    </p>
    <p class="muted">
      ${t("Open it only if you trust {host}.", { host: shown(new URL(url).host) })}
    </p>
  `,
  pause: (_, interrupt) => html`
    ${heading(t("Paused at a breakpoint"), interrupt)}
    <p>${t("The graph goes on when you continue.")}</p>
  `,
};

const fieldsFor = (schema) => questionFields(schema) ?? [AS_JSON];

/** A very long text is shown in part; an answer is made of the whole. */
const shown = (text) => visible(cut(text));

/** Text of any length, in a box that scrolls. */
const box = (label, text) =>
  html`<pre class="interrupt-box" tabindex="0" role="group" aria-label=${label}>
${shown(text)}</pre>`;

const prose = (label, text, name) =>
  text.length > LONG_CHARS
    ? box(label, text)
    : html`<p class=${name}>${withDates(shown(text))}</p>`;

/** A text; what is JSON may be sent as such. */
function answerField(key, asJson) {
  const typed = ({ currentTarget }) => {
    const kind = jsonKind(currentTarget.value);
    const choice = currentTarget.form.querySelector(".as-json");
    choice.hidden = kind === null;
    choice.querySelector("span").textContent = t("Send as JSON ({kind}), not as text", { kind });
  };
  const keys = (event) => {
    if (!sends(event)) return;
    event.preventDefault();
    event.currentTarget.form.requestSubmit();
  };
  return html`
    <label class="detail">
      <span>${t("Your answer")}</span>
      <textarea
        name="answer"
        rows="2"
        aria-describedby="${key}-prompt"
        @input=${typed}
        @keydown=${keys}
      ></textarea>
    </label>
    <label class="as-json" hidden>
      <input type="checkbox" name="json" ?checked=${asJson} /><span></span>
    </label>
  `;
}

const LABELS = {
  approve: t("Approve"),
  edit: t("Edit"),
  reject: t("Reject"),
  respond: t("Reply instead"),
};

const review = ({ name, args, description, allowed }, key) => html`
  <fieldset class="review">
    <legend><code>${shown(name)}</code></legend>
    ${prose(t("Description"), description, "review-about")} ${argumentsView(name, args)}
    <div class="choices">
      ${allowed.map(
        (decision) =>
          html`<label class="choice">
            <input type="radio" name=${key} value=${decision} ?checked=${allowed.length === 1} />
            <span>${LABELS[decision]}</span>
          </label>`,
      )}
    </div>
    ${detail("edit", "args", t("Arguments, as JSON"), visible(inJson(args)))}
    ${detail("reject", "reason", t("Reason (optional)"), "")}
    ${detail("respond", "message", t("Reply that stands in for the tool's result"), "")}
  </fieldset>
`;

/** Shown by the style sheet while its decision is the chosen one. */
const detail = (decision, name, label, text) => html`
  <label class="detail for-${decision}">
    <span>${label}</span>
    <textarea
      name=${name}
      rows=${Math.min(12, text.split("\n").length + 1)}
      class=${name === "args" ? "code-field" : ""}
      spellcheck=${name !== "args"}
      .defaultValue=${text}
    ></textarea>
  </label>
`;

function argumentsView(name, args) {
  const entries = Object.entries(args);
  if (!entries.length) return html`<p class="muted">${t("No arguments")}</p>`;
  return html`
    <div
      class="interrupt-box"
      tabindex="0"
      role="group"
      aria-label=${t("Arguments of {name}", { name: name.slice(0, 80) })}
    >
      <dl class="arguments">
        ${entries.map(
          ([key, value]) => html`
            <dt>${shown(key)}</dt>
            <dd>${shown(typeof value === "string" ? value : inJson(value))}</dd>
          `,
        )}
      </dl>
    </div>
  `;
}

/** The answer in a form, as `{value}`; null when something is missing, which the form then says. */
function read(form, interrupt) {
  const request = requestOf(interrupt);
  const { value, problem = "" } = READ[request.kind](form, request);
  form.querySelector(HINT).textContent = problem;
  return problem ? null : { value };
}

const READ = {
  review(form, request) {
    const read = [...form.querySelectorAll(".review")].map((fields, index) =>
      decided(fields, request.actions[index]),
    );
    const problem = read.find((answer) => answer.problem)?.problem;
    return problem
      ? { problem }
      : {
          value: reviewAnswer(
            request,
            read.map(({ decision }) => decision),
          ),
        };
  },
  result(form, { id, schema, isBare }) {
    const args = filled(form, schema);
    return args ? { value: { [id]: isBare ? args.answer : args } } : INCOMPLETE;
  },
  form(form, { schema }) {
    const content = filled(form, schema);
    return content ? { value: { action: "accept", content } } : INCOMPLETE;
  },
  address: () => ({ value: { action: "accept" } }),
  question: answered,
  value: answered,
  /** A breakpoint takes any answer. */
  pause: () => ({ value: true }),
};

const INCOMPLETE = { problem: t("Correct the fields above.") };

/** What the fields of a schema hold; null if something is wrong. */
function filled(form, schema) {
  const fields = questionFields(schema);
  const read = readFields(form, (typed) =>
    fields ? argsOf(fields, typed) : argsOfText({}, "{}", typed[0]),
  );
  return read && read.args;
}

function decided(fields, action) {
  const text = (name) => fields.querySelector(`[name=${name}]`).value;
  const choice = fields.querySelector("input:checked")?.value;
  const answer = decisionOf(action, {
    choice,
    args: text("args"),
    reason: text("reason"),
    message: text("message"),
  });
  return answer.problem ? { problem: `${action.name.slice(0, 80)}: ${answer.problem}` } : answer;
}

function answered(form) {
  const { answer, json } = form.elements;
  if (!answer.value.trim()) return { problem: t("Write an answer.") };
  const isJson = json.checked && jsonKind(answer.value) !== null;
  return { value: isJson ? jsonOf(answer.value) : answer.value.trim() };
}
