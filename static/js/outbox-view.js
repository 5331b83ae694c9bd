/** Messages that wait to be sent, behind those of the thread. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { imageParts, imagesView } from "./attachments.js";
import { withDates } from "./dates.js";
import { icons } from "./icons.js";
import { isWhole } from "./outbox.js";
import { holdOf } from "./queue.js";

/**
 * @param {Record<string, any>[]} items  see `outbox.js`, `queue.js`
 * @param {any} state  of the thread store
 * @param {{onWithdraw, onDiscard, onSendNow}} actions
 */
export function outboxView(items, state, actions) {
  const first = items.find(({ queued }) => queued);
  const hold = holdOf(state) ?? (first && !isWhole(first) ? "images" : null);
  const why = state.run ? "Sent when the reply is complete" : WHY[hold];
  return repeat(
    items,
    ({ id }) => id,
    (item) =>
      item.queued
        ? inQueue(item, item === first ? why : undefined, state, actions)
        : unsent(item, actions),
  );
}

/** By `holdOf`, or why this tab does not send it. */
const WHY = {
  images: "Waits: its images are not in this tab",
  asked: "Waits: your answer comes first",
  failed: "Waits: the reply failed",
  stopped: "Waits: the reply was stopped",
  interrupted: "Waits: the reply was interrupted",
  problem: "Waits: not sent yet",
};

const bubble = ({ text, images }) => html`
  <div class="bubble">
    ${imagesView(imageParts(images))}
    ${text ? html`<p class="said">${withDates(text)}</p>` : nothing}
  </div>
`;

const unsent = (item, actions) => html`
  <article class="message user unsent" aria-label="You">
    ${bubble(item)}
    <div class="actions">
      <span class="mark">${icons.warning} Not sent yet</span>
      <button type="button" class="quiet" @click=${() => actions.onWithdraw(item)}>
        Take back
      </button>
    </div>
  </article>
`;

const inQueue = (item, why, { run }, actions) => html`
  <article class="message user unsent queued" aria-label="Queued message">
    ${bubble(item)}
    <div class="actions queue-bar">
      <span class="mark"
        >${icons.clock} Queued${why ? html`<span class="queue-why">${why}</span>` : nothing}</span
      >
      <button
        type="button"
        class="quiet"
        title=${run ? "Stops the reply" : nothing}
        @click=${() => actions.onSendNow(item)}
      >
        ${run ? "Stop and send" : "Send"}
      </button>
      <button type="button" class="quiet" @click=${() => actions.onWithdraw(item)}>Edit</button>
      <button type="button" class="quiet" @click=${() => actions.onDiscard(item)}>Withdraw</button>
    </div>
  </article>
`;
