/** Messages behind those of the thread: those that wait on the server, and those not sent yet. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { imageParts, imagesView } from "./attachments.js";
import { withDates } from "./dates.js";
import { icons } from "./icons.js";
import { editor } from "./message-view.js";
import { isHeld, isWhole, notSaid } from "./outbox.js";
import { imagesOf, textOf } from "./parts.js";
import { sentenceOf } from "./sentences.js";
import { t } from "./texts.js";
import { isAsked } from "./thread-state.js";

const ANSWER_FIRST = t("Waits: your answer comes first");
const NO_IMAGES = t("Waits: its images are not in this tab");

/**
 * @param {any} state  of the thread store
 * @param {Record<string, any> | null} editing  `{id, text, error?}` of a message that is edited
 * @param {any} actions  `onEdit`, `onEditInput`, `onEdited`, and what the buttons do
 */
export const outboxView = (state, editing, actions) => html`
  ${repeat(
    state.queue,
    ({ runId }) => runId,
    (message, index) =>
      editing !== null && message.id === editing.id
        ? editor(message, editing, 0, actions, t("Save"))
        : queued(message, index === 0, state, actions),
  )}
  ${repeat(
    unsentOf(state),
    ({ id }) => id,
    (item) => (state.run && !state.problem ? behind(item, actions) : unsent(item, state, actions)),
  )}
`;

/**
 * A message that is to begin a run stands in the thread while it is on its way. One that another
 * tab has sent may be known to wait before this tab hears that it is sent.
 */
export const unsentOf = ({ outbox, queue, run }) =>
  notSaid(outbox, queue).filter(({ isSending }) => !isSending || (run && run.id !== null));

const bubble = (text, images) => html`
  <div class="bubble">
    ${imagesView(images)} ${text ? html`<p class="said">${withDates(text)}</p>` : nothing}
  </div>
`;

const waits = (mark, why) =>
  html`<span class="mark"
    >${mark}${why ? html`<span class="queue-why">${why}</span>` : nothing}</span
  >`;

const button = (name, act, title = "") =>
  html`<button type="button" class="quiet" title=${title || nothing} @click=${act}>
    ${name}
  </button>`;

function unsent(item, state, actions) {
  const held = isHeld(state, item);
  const why = isWhole(item) ? (held ? ANSWER_FIRST : "") : NO_IMAGES;
  return html`
    <article class="message user unsent" aria-label=${t("You")}>
      ${bubble(item.text, imageParts(item.images))}
      <div class="actions queue-bar">
        ${waits(html`${icons.warning} ${t("Not sent yet")}`, why)}
        ${held ? button(t("Send"), () => actions.onSendHeld(item)) : nothing}
        ${button(t("Take back"), () => actions.onTakeBack(item))}
      </div>
    </article>
  `;
}

/** The server is about to get it, or gets the message before it. */
const behind = (item, actions) => html`
  <article class="message user unsent queued" aria-label=${t("Queued message")}>
    ${bubble(item.text, imageParts(item.images))}
    <div class="actions queue-bar">
      ${waits(html`${icons.clock} ${t("Sending")}`, "")}
      ${item.isSending ? nothing : button(t("Take back"), () => actions.onTakeBack(item))}
    </div>
  </article>
`;

function queued(message, isNext, state, actions) {
  const { problem, id } = message;
  const text = id === null ? t("An answer") : textOf(message);
  const why = problem ? sentenceOf(problem) : isNext ? reason(state) : "";
  const mark = problem
    ? html`${icons.warning} ${t("Not begun")}`
    : html`${icons.clock} ${t("Queued")}`;
  return html`
    <article class="message user unsent queued" aria-label=${t("Queued message")}>
      ${bubble(text, imagesOf(message))}
      <div class="actions queue-bar">
        ${waits(mark, why)} ${id === null ? nothing : send(message, state, actions)}
        ${id === null ? nothing : button(t("Edit"), () => actions.onEdit(id))}
        ${button(t("Withdraw"), () => actions.onWithdraw(message))}
      </div>
    </article>
  `;
}

function reason(state) {
  if (state.run) return t("Sent when the reply is complete");
  return isAsked(state) ? ANSWER_FIRST : "";
}

function send(message, state, actions) {
  if (message.problem) return button(t("Try again"), () => actions.onAgain(message));
  const now = () => actions.onSendNow(message);
  if (state.run) return button(t("Stop and send"), now, t("Stops the reply"));
  return isAsked(state) ? button(t("Send"), now) : nothing;
}
