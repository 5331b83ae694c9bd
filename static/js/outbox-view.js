/** Messages that wait to be sent, behind those of the thread. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { imageParts, imagesView } from "./attachments.js";
import { icons } from "./icons.js";

/** @param {object[]} items  see `outbox.js` @param {{onWithdraw}} actions */
export const outboxView = (items, actions) => repeat(items, ({ id }) => id, (item) => unsent(item, actions));

const unsent = (item, actions) => html`
  <article class="message user unsent" aria-label="You">
    <div class="bubble">${imagesView(imageParts(item.images))} ${item.text ? html`<p class="said">${item.text}</p>` : nothing}</div>
    <div class="actions">
      <span class="mark">${icons.warning} Not sent yet</span>
      <button type="button" class="quiet" @click=${() => actions.onWithdraw(item)}>Take back</button>
    </div>
  </article>
`;
