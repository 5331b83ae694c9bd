/** The list of threads, by day, or the archive; the open one is in it, however old it is. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { guard } from "../vendor/lit-html/directives/guard.js";
import { ref } from "../vendor/lit-html/directives/ref.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { byDay, shortMoment } from "./days.js";
import { formatInstant, formatMoment } from "./format.js";
import { icons } from "./icons.js";
import { isComposing } from "./keys.js";
import { urlOf } from "./location.js";
import { t } from "./texts.js";
import { visible } from "./unseen.js";

/**
 * @param {{threads, cursor, loaded, failed, isArchive}} list
 * @param {{openId: string | null, open: Record<string, any> | null, renaming: string | null,
 *   unsent: Set<string>}} about `open`: the open thread's entry, for where the list has not come to
 *   it
 * @param {{onOpen, onRename, onRenamed, onArrange, onForget, onMore, onReload, onArchive}} actions
 */
export function threadsView(list, about, actions) {
  if (!list.loaded)
    return html`<div class="skeleton lines" role="img" aria-label=${t("Loading threads")}></div>`;
  if (list.failed && !list.threads.length) {
    return html`<p class="threads-note">
      ${t("The list could not be loaded.")}
      <button type="button" class="link" @click=${actions.onReload}>${t("Retry")}</button>
    </p>`;
  }
  const { open } = about;
  const isFar = open && !list.isArchive && !list.threads.some(({ id }) => id === open.id);
  const threads = distinct(list.threads);
  return html`
    ${list.isArchive ? archiveTitle(actions) : nothing}
    ${
      list.threads.length || isFar
        ? nothing
        : html`<p class="threads-note">
            ${list.isArchive ? t("Nothing is archived.") : t("Your threads will be listed here.")}
          </p>`
    }
    ${[...(isFar ? [[t("Open"), [open]]] : []), ...byDay(threads)].map(
      ([day, threads]) => html`
        <h3>${day}</h3>
        <ul>
          ${repeat(
            threads,
            ({ id }) => id,
            (thread) => row(thread, about, actions),
          )}
        </ul>
      `,
    )}
    ${
      list.cursor
        ? html`<button type="button" class="quiet more" @click=${actions.onMore}>
            ${t("Show older threads")}
          </button>`
        : nothing
    }
    ${
      list.isArchive
        ? nothing
        : html`<button
            type="button"
            class="quiet more archive"
            data-part="archive"
            @click=${() => actions.onArchive(true)}
          >
            ${icons.archive} ${t("Archived threads")}
          </button>`
    }
  `;
}

const archiveTitle = (actions) => html`
  <h2 class="archive-title">${t("Archived threads")}</h2>
  <button type="button" class="quiet more archive" @click=${() => actions.onArchive(false)}>
    ${t("Back to all threads")}
  </button>
`;

function row(listed, { openId, renaming, unsent }, actions) {
  const thread = {
    ...listed,
    mark:
      !Object.hasOwn(MARKS, listed.run_state) && unsent.has(listed.id)
        ? "unsent"
        : listed.run_state,
  };
  const isOpen = thread.id === openId;
  const isRenamed = renaming === thread.id;
  const shown = () => (isRenamed ? nameForm(thread, actions) : entry(thread, isOpen, actions));
  return html`<li class=${isOpen ? "open" : ""}>
    ${guard([Object.values(thread).join("\n"), isOpen, isRenamed, dayKey()], shown)}
  </li>`;
}

/** What a row says of its time changes with the day. */
const dayKey = () => new Date().toDateString();

const named = (title, told) => (told ? `${visible(title)}, ${told}` : visible(title));

/** Of a title in its row, at least. */
const SEEN_CHARS = 24;

/**
 * Threads whose titles look alike get the moment of their last turn below it, as fine as tells them
 * apart.
 */
function distinct(threads) {
  const alike = [...Map.groupBy(threads, ({ title }) => title.slice(0, SEEN_CHARS)).values()];
  const told = new Map(
    alike.filter((twins) => twins.length > 1).flatMap((twins) => toldApart(twins)),
  );
  return threads.map((thread) =>
    told.has(thread) ? { ...thread, told: told.get(thread) } : thread,
  );
}

/**
 * @param {Record<string, any>[]} twins
 * @param {((instant: string) => string)[]} [formats]
 * @returns {[Record<string, any>, string][]}
 */
function toldApart(twins, [format, ...finer] = [formatMoment, formatInstant]) {
  const told = [...Map.groupBy(twins, (twin) => format(twin.updated_at))];
  return told.flatMap(([words, same]) => {
    /** @type {[Record<string, any>, string][]} */
    const one = [[same[0], words]];
    if (same.length === 1) return one;
    /** @type {[Record<string, any>, string][]} */
    const numbered = same.map((twin, index) => [twin, `${words} (${same.length - index})`]);
    return finer.length ? toldApart(same, finer) : numbered;
  });
}

/** Dots before the title. */
const MARKS = {
  live: t("Generating"),
  waiting: t("Waiting for an answer"),
  unsent: t("Messages are not sent yet"),
};

const entry = (
  { id, title, told, mark, updated_at: at, pinned, archived },
  isOpen,
  actions,
) => html`
  <a
    href=${urlOf(id)}
    data-thread=${id}
    aria-current=${isOpen ? "page" : nothing}
    @click=${(event) => actions.onOpen(event, id)}
  >
    ${
      Object.hasOwn(MARKS, mark)
        ? html`<span class="run-mark ${mark}" role="img" aria-label=${MARKS[mark]}></span>`
        : nothing
    }
    <span class="thread-name">
      <span class="thread-title">${visible(title) || t("Untitled")}</span>
      ${told ? html`<span class="thread-told">${told}</span>` : nothing}
    </span>
    ${
      at && !told
        ? html`<time class="thread-time" datetime=${at} title=${formatInstant(at)}
            >${shortMoment(at)}</time
          >`
        : nothing
    }
  </a>
  <span class="thread-actions">
    ${at ? arranging({ id, name: named(title, told), pinned, archived }, actions) : nothing}
    <button
      type="button"
      class="icon-button"
      data-part="rename"
      aria-label=${t("Rename {name}", { name: named(title, told) })}
      title=${t("Rename")}
      @click=${() => actions.onRename(id)}
    >
      ${icons.pencil}
    </button>
    <button
      type="button"
      class="icon-button"
      data-part="delete"
      aria-label=${t("Delete {name}", { name: named(title, told) })}
      title=${t("Delete")}
      @click=${() => actions.onForget(id, named(title, told))}
    >
      ${icons.bin}
    </button>
  </span>
`;

const arranging = ({ id, name, pinned, archived }, actions) => html`
  ${
    archived
      ? nothing
      : html`<button
          type="button"
          class="icon-button ${pinned ? "pinned" : ""}"
          aria-label=${pinned ? t("Unpin {name}", { name }) : t("Pin {name}", { name })}
          title=${pinned ? t("Unpin") : t("Pin")}
          @click=${() => actions.onArrange(id, { pinned: !pinned }, name)}
        >
          ${icons.pin}
        </button>`
  }
  <button
    type="button"
    class="icon-button"
    data-part="archive"
    aria-label=${archived ? t("Unarchive {name}", { name }) : t("Archive {name}", { name })}
    title=${archived ? t("Unarchive") : t("Archive")}
    @click=${() => actions.onArrange(id, { archived: !archived }, name)}
  >
    ${icons.archive}
  </button>
`;

function nameForm({ id, title }, actions) {
  const submit = (event) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("title")).trim();
    actions.onRenamed(id, name && name !== title ? name : null, { isDone: true });
  };
  /** A click elsewhere keeps what was typed; another window does not end it. */
  const leave = ({ currentTarget, relatedTarget }) => {
    if (currentTarget.contains(relatedTarget) || !document.hasFocus()) return;
    const name = String(new FormData(currentTarget).get("title")).trim();
    actions.onRenamed(id, name && name !== title ? name : null);
  };
  const escape = (event) => {
    if (event.key !== "Escape" || isComposing(event)) return;
    event.stopPropagation();
    actions.onRenamed(id, null, { isDone: true });
  };
  return html`
    <form class="rename" @submit=${submit} @keydown=${escape} @focusout=${leave}>
      <input
        name="title"
        maxlength="200"
        aria-label=${t("New title")}
        autocomplete="off"
        .defaultValue=${title}
        ${ref((input) => input && !input.dataset.seen && select(input))}
      />
      <button type="submit" class="icon-button" aria-label=${t("Save title")}>
        ${icons.check}
      </button>
    </form>
  `;
}

function select(input) {
  input.dataset.seen = "yes";
  queueMicrotask(() => {
    input.focus();
    input.select();
  });
}
