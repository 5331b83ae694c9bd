/** The log of a thread, its empty state, and how its last run ended. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { guard } from "../vendor/lit-html/directives/guard.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { isUndecided } from "./approvals.js";
import { withDates } from "./dates.js";
import { icons } from "./icons.js";
import { interruptsView } from "./interrupt-view.js";
import { failure, messageView } from "./message-view.js";
import { outboxView, unsentOf } from "./outbox-view.js";
import { settings } from "./settings.js";
import { t } from "./texts.js";
import { withUi } from "./ui-messages.js";
import { lookedAtView } from "./versions-view.js";

/**
 * @param {any} state  of the thread store
 * @param {{examples: string[], graph, editing: Record<string, any> | null, limit: number, asker:
 *   string | null, tools, feedback?}} about `graph`: that of the thread; `limit`: messages;
 *   `tools`: see `tools.js`
 * @param {any} actions
 */
export function threadView(
  state,
  { examples, graph, editing, limit, asker, tools, feedback },
  actions,
) {
  if (state.missing) return missing(actions);
  const waiting = outboxView(state, editing, actions);
  if (state.loading && !state.messages.length) return html`${skeleton()} ${waiting}`;
  const isEmptyThread = !state.messages.length && !state.queue.length && !unsentOf(state).length;
  if (isEmptyThread && !state.problem) return empty(examples, graph, actions);
  const idle = state.run === null;
  const told = state.messages.filter((message) => !isEmpty(message, state));
  const messages = withUi(told, state.ui);
  const lastRemoved = messages.findLast(({ removed }) => removed);
  return html`
    ${state.hasEarlier && limit >= messages.length ? earlier(state, actions) : nothing}
    ${repeat(
      limit < messages.length ? messages.slice(-limit) : messages,
      (message) => message.key,
      (message) => {
        const isEdited = editing !== null && message.id === editing.id;
        const dropped = isEdited ? messages.length - messages.indexOf(message) - 1 : 0;
        const { answers, decisions } = state;
        const thumbs = feedback?.of(state.id, message.id);
        const about = {
          answers,
          decisions,
          asker,
          tools,
          editing: isEdited ? editing : null,
          dropped,
          idle,
          thumbs,
          isToldBelow: message === messages.at(-1) && isOver(message, state),
        };
        const view = guard([message, ...Object.values(about)], () =>
          messageView(message, about, actions),
        );
        return message === lastRemoved ? [view, shortened()] : view;
      },
    )}
    ${interruptsView(state, actions)} ${waiting} ${ending(state, actions)}
    ${state.looksAt !== null && idle ? lookedAtView(actions) : nothing}
  `;
}

const shortened = () =>
  html`<p class="mark">${icons.stopped} ${t("The model no longer gets the messages above")}</p>`;

const earlier = ({ loadingEarlier }, actions) => html`
  <button
    type="button"
    class="quiet more earlier"
    aria-disabled=${String(loadingEarlier)}
    @click=${actions.onEarlier}
  >
    ${loadingEarlier ? t("Loading earlier messages…") : t("Earlier messages")}
  </button>
`;

/** The graph has stopped to ask before a word was said. */
const isEmpty = ({ role, parts, running }, { interrupts }) =>
  interrupts.length > 0 && role === "assistant" && !parts.length && !running;

const skeleton = () => html`
  <div class="loading" role="img" aria-label=${t("Loading the thread")}>
    <div class="skeleton bubble"></div>
    <div class="skeleton lines"></div>
    <div class="skeleton bubble"></div>
    <div class="skeleton lines"></div>
  </div>
`;

const GONE = t(
  "It was deleted, or the link is not whole. What you have written comes along into a new one.",
);

const missing = (actions) => html`
  <div class="empty">
    <h2>${t("This thread is gone")}</h2>
    <p>${GONE}</p>
    <button type="button" class="primary" @click=${actions.onNew}>${t("New thread")}</button>
  </div>
`;

const empty = (examples, graph, actions) => {
  const { welcome, prompts } = settings;
  const groups = prompts ?? (examples.length ? [{ prompts: examples.map(asPrompt) }] : []);
  const about = welcome?.text ?? (groups.length ? (prompts ? null : OFFER) : graph?.description);
  return html`
    <div class="empty">
      <h2>${welcome?.heading ?? t("What would you like to know?")}</h2>
      ${about ? html`<p>${about}</p>` : nothing} ${groups.map((group) => offer(group, actions))}
    </div>
  `;
};

const OFFER = t("Ask something, or try one of these. Each shows what the stream can carry.");

const asPrompt = (example) => ({ label: example, message: example });

const offer = ({ heading, prompts }, actions) => html`
  ${heading ? html`<h3 class="examples-heading">${heading}</h3>` : nothing}
  <ul class="examples">
    ${prompts.map(
      ({ label, message }) =>
        html`<li>
          <button type="button" class="example" @click=${() => actions.onExample(message)}>
            ${withDates(label)}
          </button>
        </li>`,
    )}
  </ul>
`;

function ending(state, actions) {
  if (state.run) return nothing;
  if (state.problem) {
    const { detail, retry } = state.problem;
    const button =
      retry &&
      html`<button type="button" @click=${actions.onRetry}>${icons.again} ${t("Retry")}</button>`;
    return banner("danger", detail, button);
  }
  const last = state.messages.at(-1);
  if (!last || !isOver(last, state)) return nothing;
  const goOn = (word) =>
    html`<button type="button" @click=${actions.onResume}>${icons.again} ${word}</button>`;
  if (last.error) return banner("danger", failure(last.error), goOn(t("Retry")));
  if (last.ended && state.runState === "interrupted") return interrupted(goOn(t("Continue")));
  if (last.ended || last.finishReason === "length")
    return banner("info", t("The reply is not finished."), goOn(t("Continue")));
  const isCut =
    last.role === "user" || (last.finishReason === undefined && state.runState !== "finished");
  if (isCut) return interrupted(goOn(t("Continue")));
  return nothing;
}

/** The last message waits for nobody: a banner below it tells how it ended. */
const isOver = (last, state) =>
  !state.run && !state.problem && !state.interrupts.length && !waitsForApproval(last, state);

/** A thread does not go on past a question; but what a crash left unfinished beside it does. */
function waitsForApproval({ parts }, { runState }) {
  const open = parts.filter(isUndecided);
  return runState === "interrupted"
    ? open.some(({ approval }) => approval.mayHaveRun)
    : open.length > 0;
}

const interrupted = (button) =>
  banner("warning", t("The reply was interrupted before it was finished."), button);

const banner = (tone, words, button) => html`
  <div class="banner ${tone}" role="alert">
    ${tone === "info" ? icons.info : icons.warning}
    <p>${words}</p>
    ${button || nothing}
  </div>
`;
