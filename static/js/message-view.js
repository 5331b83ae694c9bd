/** One message: its parts, and what can be done with it. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { ref } from "../vendor/lit-html/directives/ref.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { answerText, canBeCopied } from "./answer-text.js";
import { approvalCard, decidedCall } from "./approval-card.js";
import { isUndecided } from "./approvals.js";
import { imagesView } from "./attachments.js";
import { copy } from "./clipboard.js";
import { componentView } from "./components.js";
import { withDates } from "./dates.js";
import { fitHeight } from "./field-height.js";
import { formatInstant, formatMoment, formatMs, formatNumber } from "./format.js";
import { icons } from "./icons.js";
import { enterHint, isComposing, sends } from "./keys.js";
import { safeLink } from "./links.js";
import { markdown } from "./markdown.js";
import { imagesOf, isDrawn, isOfBrowser, RENDER, SELECT, textOf } from "./parts.js";
import { resultWords, selection } from "./selection.js";
import { CUT_OFF, sentenceOf } from "./sentences.js";
import { shows } from "./settings.js";
import { speakersOf } from "./steps.js";
import { plural, t } from "./texts.js";
import { toolCard } from "./tool-card.js";
import { visible } from "./unseen.js";
import { versionsView } from "./versions-view.js";

/**
 * @param {Record<string, any>} message
 * @param {{answers: Record<string, any>, decisions: Record<string, any>, asker: string | null,
 *   tools, editing, dropped: number, idle: boolean, isToldBelow: boolean}} about `editing`:
 *   `{text, error?}` of a message that is edited; `dropped`: messages that do not follow an edit;
 *   `isToldBelow`: the page tells below the message how it ended
 * @param {{onAnswer, onDecide, onEdit, onEditInput, onEdited, onRegenerate, onLook}} actions
 */
export const messageView = (message, about, actions) =>
  message.role === "user"
    ? userMessage(message, about, actions)
    : assistantMessage(message, about, actions);

function userMessage(message, { editing, dropped, idle }, actions) {
  const text = textOf(message);
  if (editing) return editor(message, editing, dropped, actions);
  return html`
    <article class="message user" aria-label=${t("You")} data-message=${message.id ?? nothing}>
      <div class="bubble">${imagesView(imagesOf(message))} ${text ? said(text) : nothing}</div>
      <div class="actions">
        ${text ? copyButton(message) : nothing}
        ${
          message.id && idle
            ? html`<button
                type="button"
                class="icon-button"
                data-part="edit"
                aria-label=${t("Edit message")}
                title=${t("Edit")}
                @click=${() => actions.onEdit(message.id)}
              >
                ${icons.pencil}
              </button>`
            : nothing
        }
        ${sentAt(message)}
      </div>
      ${versionsView(message, actions.onLook)}
    </article>
  `;
}

/** A longer message is folded. */
const LONG = { characters: 1200, lines: 12 };

function said(text) {
  const isLong = text.length > LONG.characters || text.split("\n").length > LONG.lines;
  if (!isLong) return html`<p class="said" dir="auto">${withDates(text)}</p>`;
  return html`
    <p class="said folded" dir="auto">${withDates(text)}</p>
    <button type="button" class="quiet unfold" aria-expanded="false" @click=${unfold}>
      ${t("Show all")}
    </button>
  `;
}

function unfold({ currentTarget: button }) {
  const isFolded = button.previousElementSibling.classList.toggle("folded");
  button.ariaExpanded = String(!isFolded);
  button.textContent = isFolded ? t("Show all") : t("Show less");
}

const sentAt = ({ createdAt }) =>
  createdAt
    ? html`<time
        class="figures sent-at"
        datetime=${createdAt}
        title=${formatInstant(createdAt)}
        data-shown=${formatMoment(createdAt)}
      ></time>`
    : nothing;

const fitEditor = (field) => field && queueMicrotask(() => fitHeight(field, 0.6));

const left = (count) =>
  plural(
    count,
    "The message that follows stays with this version.",
    "The {count} messages that follow stay with this version.",
  );

/**
 * The form of a message that is edited; `word`: what its button says.
 *
 * @param {Record<string, any>} message @param {Record<string, any>} editing  `{text, error?}`
 * @param {number} dropped @param {any} actions
 */
export function editor(message, { text, error }, dropped, actions, word = t("Send")) {
  const submit = (event) => {
    event.preventDefault();
    const edited = String(new FormData(event.currentTarget).get("text")).trim();
    if (edited || imagesOf(message).length) actions.onEdited(message.id, edited);
  };
  const keys = (event) => {
    if (isComposing(event)) return;
    if (event.key === "Escape") {
      event.stopPropagation();
      actions.onEdit(null);
    } else if (sends(event)) {
      event.preventDefault();
      event.currentTarget.form.requestSubmit();
    }
  };
  return html`
    <form class="message user editor" @submit=${submit}>
      ${imagesView(imagesOf(message))}
      <textarea
        name="text"
        rows="3"
        dir="auto"
        aria-label=${t("Edit your message")}
        enterkeyhint=${enterHint()}
        .defaultValue=${text}
        ${ref(fitEditor)}
        @input=${({ currentTarget }) => {
          fitEditor(currentTarget);
          actions.onEditInput(currentTarget.value);
        }}
        @keydown=${keys}
      ></textarea>
      ${
        error
          ? html`<p class="question-failed" role="alert">
              ${icons.warning} ${t("Not sent.")} ${error}
            </p>`
          : nothing
      }
      <div class="editor-bar">
        <span class="muted">${dropped ? left(dropped) : nothing}</span>
        <button type="button" class="quiet" @click=${() => actions.onEdit(null)}>
          ${t("Cancel")}
        </button>
        <button type="submit" class="primary">${word}</button>
      </div>
    </form>
  `;
}

function assistantMessage(message, about, actions) {
  const { running } = message;
  const speakers = speakersOf(message);
  // Not by their places: who speaks is known by those of all parts.
  const said = message.parts.map((part, index) => ({ part, speaker: speakers[index] }));
  const shown = said.filter(({ part }) => part.type !== "source");
  const parts = shown.map(({ part }) => part);
  return html`
    <article
      class="message assistant"
      aria-label=${t("Assistant")}
      aria-busy=${Boolean(running)}
      data-message=${message.id ?? nothing}
    >
      ${repeat(
        shown,
        ({ part }, index) => keyOf(part, index),
        ({ part, speaker: name }) => html`${speaker(name)}${partView(part, about, actions)}`,
      )}
      ${
        running && isWaiting(parts)
          ? html`<p class="waiting" aria-hidden="true"><i></i><i></i><i></i></p>`
          : nothing
      }
      ${sourcesView(message.parts)} ${mark(message, about)}
      ${running ? versionsView(message, actions.onLook) : footer(message, about, actions)}
    </article>
  `;
}

/** A call has its own element: what a person set in a table is not the next table's. */
const keyOf = (part, index) => `${part.key ?? index}-${part.type}-${part.toolCallId ?? ""}`;

const speaker = (name) =>
  name
    ? html`<p class="speaker" data-part="nodes">
        <span class="visually-hidden">${t("From")} </span>${visible(name)}
      </p>`
    : nothing;

/** The pages that an answer is based on, once each, below it. */
function sourcesView(parts) {
  const sources = parts.filter(({ type }) => type === "source");
  if (!sources.length) return nothing;
  const byUrl = new Map(sources.map((source) => [source.url, source]));
  return html`
    <section class="sources" aria-label=${t("Sources")}>
      <p class="sources-heading" aria-hidden="true">${t("Sources")}</p>
      <ol>
        ${[...byUrl.values()].map(
          ({ url, title }) =>
            html`<li>
              ${sourceLink(url, visible(title || url))}
              ${title ? html`<span class="muted">${hostOf(url)}</span>` : nothing}
            </li>`,
        )}
      </ol>
    </section>
  `;
}

const sourceLink = (url, words) =>
  safeLink(url)
    ? html`<a href=${safeLink(url)} target="_blank" rel="noopener noreferrer nofollow" dir="auto"
        >${words}</a
      >`
    : html`<span dir="auto">${words}</span>`;

const hostOf = (url) => (URL.canParse(url) ? new URL(url).host : "");

/** The deployer does not show such a part. */
const isHidden = (part) =>
  (part.type === "reasoning" && !shows("reasoning")) ||
  (part.type === "tool-call" && !shows("tool_calls") && !isDrawn(part));

/** Nothing on the screen says that work goes on. */
function isWaiting(parts) {
  const last = parts.at(-1);
  if (!last || isHidden(last)) return true;
  if (last.type === "tool-call") return !["writing", "running"].includes(last.state);
  return !last.open;
}

const VIEWS = {
  file: ({ data, mimeType, filename }) =>
    mimeType.startsWith("image/")
      ? imagesView([{ image: data, alt: filename }])
      : html`<p>
          <a href=${data} download=${filename || "file"} rel="noopener noreferrer"
            >${filename || t("A file ({type})", { type: mimeType })}</a
          >
        </p>`,
  text: (part) =>
    html`<div
      class="markdown ${part.open ? "streaming" : ""}"
      ${markdown(part.text, Boolean(part.open))}
    ></div>`,
  reasoning: (part) => html`
    <details class="reasoning" data-part="reasoning" ?open=${part.open}>
      <summary>${icons.thought} ${part.open ? t("Thinking") : t("Thought")}</summary>
      <div class="markdown" ${markdown(part.text, Boolean(part.open))}></div>
    </details>
  `,
  "tool-call": (part, about, actions) => {
    const { toolName, toolCallId } = part;
    if (toolName === RENDER) return componentView(part, () => toolCard(part));
    if (part.approval) return gatedCall(part, about, actions);
    if (isOfBrowser(part)) return browserCall(part, about.answers[toolCallId], actions);
    if (toolName !== SELECT) return toolCard(part);
    const answer = about.answers[toolCallId];
    return (
      selection(part, answer, (result) => actions.onAnswer(toolCallId, result)) ?? toolCard(part)
    );
  },
};

/** A call of a UI tool of the graph. The form for its answer stands below the message. */
function browserCall(part, answer, { onAnswer }) {
  const waits = part.state === "pending" && answer?.state !== "sending";
  return componentView(part, () => toolCard(part), {
    answer: waits ? (result) => onAnswer(part.toolCallId, result) : undefined,
    foot: waits ? failedAnswer(answer) : answeredWith(part, answer),
  });
}

const failedAnswer = (answer) =>
  answer?.state === "failed"
    ? html`<p class="question-failed" role="alert">
        ${icons.warning} ${t("Your answer was not sent.")} ${answer.error?.message}
      </p>`
    : nothing;

function answeredWith({ state, result, disposition }, answer) {
  if (disposition !== "client" || (state !== "result" && !answer)) return nothing;
  const words = resultWords(answer ? answer.result : result);
  return html`<p class="answered" aria-busy=${Boolean(answer)}>
    <span class="answered-prompt">${t("Answer")}</span> <strong>${withDates(words)}</strong>
  </p>`;
}

const NOTE = t("A new message instead cancels the call.");

function gatedCall(part, { decisions, asker, tools }, { onDecide }) {
  const { id } = part.approval;
  const answer = decisions[id];
  if (!isUndecided(part)) return decidedCall(part, answer);
  const about = { tool: tools.of(part.toolName), answer, asker, note: NOTE };
  return approvalCard(part, about, (decision) => onDecide(id, decision));
}

const partView = (part, about, actions) =>
  Object.hasOwn(VIEWS, part.type) ? VIEWS[part.type](part, about, actions) : nothing;

const MARKS = {
  stopped: t("Stopped"),
  shutdown: t("Stopped: the server shut down"),
  ...CUT_OFF,
};

/** Why a reply failed, and the id under which the server's log has it. */
export const failure = (error) => {
  const id = error.id ? html` <small>${t("Error {id}", { id: error.id })}</small>` : nothing;
  return html`${sentenceOf(error)}${id}`;
};

function mark({ ended, error, finishReason, parts, running }, { isToldBelow }) {
  if (running) return nothing;
  if (error)
    return isToldBelow
      ? nothing
      : html`<p class="mark danger">${icons.warning} ${t("Failed:")} ${failure(error)}</p>`;
  if (ended?.reason === "limit") {
    return html`<p class="mark">
      ${icons.stopped}
      ${t("Stopped: {limit} of {value} reached", {
        limit: String(ended.limit).replaceAll("_", " "),
        value: ended.value,
      })}
    </p>`;
  }
  const isEmpty = !ended && finishReason === "other" && parts.at(-1)?.type !== "text";
  const word = isEmpty ? t("The model gave no answer") : MARKS[ended?.reason ?? finishReason];
  return word ? html`<p class="mark">${icons.stopped} ${word}</p>` : nothing;
}

function footer(message, { idle, thumbs }, actions) {
  return html`
    <div class="actions">
      ${versionsView(message, actions.onLook)}
      ${canBeCopied(message) ? copyButton(message) : nothing}
      ${
        message.id && idle
          ? html`<button
              type="button"
              class="icon-button"
              data-part="regenerate"
              aria-label=${t("Regenerate reply")}
              title=${t("Regenerate")}
              @click=${() => actions.onRegenerate(message.id)}
            >
              ${icons.again}
            </button>`
          : nothing
      }
      ${thumbs?.()}
      <span class="figures">${figures(message)}</span>
    </div>
  `;
}

function figures({ timing, usage, steps = [] }) {
  const words = shows("model") ? [...new Set(steps.map(({ model }) => model).filter(Boolean))] : [];
  if (timing && shows("times")) words.push(formatMs(timing.totalMs));
  if (timing?.firstMs !== undefined && shows("times"))
    words.push(t("first word {time}", { time: formatMs(timing.firstMs) }));
  if (usage?.inputTokens && shows("tokens"))
    words.push(
      plural(usage.outputTokens ?? 0, "{input} → {count} token", "{input} → {count} tokens", {
        input: formatNumber(usage.inputTokens),
      }),
    );
  return words.map((word, index) => html`${index ? " · " : nothing}<bdi>${word}</bdi>`);
}

const copyButton = (message) => html`
  <button
    type="button"
    class="icon-button copy-message"
    aria-label=${t("Copy message")}
    title=${t("Copy")}
    @click=${({ currentTarget }) => copy(answerText(message), currentTarget)}
  >
    ${icons.copy}
  </button>
`;
