/** The field of the search, and what it found, with the words marked. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { shortMoment } from "./days.js";
import { formatInstant } from "./format.js";
import { legible } from "./bounds.js";
import { urlOf } from "./location.js";
import { t } from "./texts.js";
import { visible } from "./unseen.js";

/**
 * @param {{words, threads, cursor, loading, failure}} search @param {string | null} openId
 * @param {{onOpen, onMoreFound}} actions
 */
export function foundView(search, openId, actions) {
  const { threads, cursor, loading, failure } = search;
  if (failure) return html`<p class="threads-note">${failure}</p>`;
  if (!threads.length)
    return html`<p class="threads-note">
      ${loading ? t("Searching…") : t("No thread has these words.")}
    </p>`;
  return html`
    <h3>${t("Found")}</h3>
    <ul aria-busy=${String(loading)}>
      ${repeat(
        threads,
        ({ id }) => id,
        (thread) => foundThread(thread, openId, actions),
      )}
    </ul>
    ${
      cursor
        ? html`<button type="button" class="quiet more" @click=${actions.onMoreFound}>
            ${t("Show more threads")}
          </button>`
        : nothing
    }
  `;
}

const foundThread = ({ id, title, found, archived, updated_at: at }, openId, actions) => html`
  <li class="found ${id === openId ? "open" : ""}">
    <a
      href=${urlOf(id, null, found.message_id ?? null)}
      data-thread=${id}
      aria-current=${id === openId ? "page" : nothing}
      @click=${(event) => actions.onOpen(event, id, placeOf(found))}
    >
      <span class="thread-name">
        <span class="thread-title">${title ? marked(found.title, visible) : t("Untitled")}</span>
        ${
          found.text
            ? html`<span class="thread-excerpt">${marked(found.text, legible)}</span>`
            : nothing
        }
        <time class="thread-told" datetime=${at} title=${formatInstant(at)}
          >${shortMoment(at)}${archived ? ", archived" : ""}</time
        >
      </span>
    </a>
  </li>
`;

/** Where the words were found; null: in the title alone. */
const placeOf = ({ text, message_id: message }) =>
  message
    ? {
        message,
        words: text.filter(({ is_match: isMatch }) => isMatch).map((segment) => segment.text),
        text: text.map((segment) => segment.text).join(""),
      }
    : null;

const marked = (segments, shown) =>
  segments.map(({ text, is_match: isMatch }) =>
    isMatch ? html`<mark>${shown(text)}</mark>` : shown(text),
  );
