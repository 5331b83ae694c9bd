/** Rows and columns; numbers to the right. Long tables are sorted, filtered and paged. */

import { AsyncDirective, directive } from "../../vendor/lit-html/async-directive.js";
import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { csvButton } from "../../js/csv.js";
import { formatNumber } from "../../js/format.js";
import { formatsOf, grid } from "../../js/grid.js";
import { plural, t } from "../../js/texts.js";
import { onTheme } from "../../js/theme.js";
import { found, ordered } from "./rows.js";

const PAGE = 50;
/** With fewer rows there is nothing to look for. */
const MANY = 10;

export const draw = (props, { isStreaming }) => html`${table(props, isStreaming)}`;

const table = directive(
  class extends AsyncDirective {
    #props;
    #isStreaming;
    #words = "";
    /** A column, by its number; null: as they came. */
    #by = null;
    #isDown = false;
    #page = 0;
    #leave;

    render(props, isStreaming) {
      this.#props = props;
      this.#isStreaming = isStreaming;
      this.#leave ??= onTheme(() => this.#paint());
      return this.#view();
    }

    disconnected() {
      this.#leave?.();
      this.#leave = undefined;
    }

    reconnected() {
      this.#leave = onTheme(() => this.#paint());
    }

    #paint() {
      this.setValue(this.#view());
    }

    #filter(words) {
      this.#words = words;
      this.#page = 0;
      this.#paint();
    }

    /** Upwards, downwards, as they came. */
    #sort(column) {
      const isNew = this.#by !== column;
      this.#by = isNew || !this.#isDown ? column : null;
      this.#isDown = !isNew && !this.#isDown;
      this.#page = 0;
      this.#paint();
    }

    #turn(by) {
      this.#page += by;
      this.#paint();
    }

    #view() {
      const { title, columns, rows } = this.#props;
      const heads = columns.map(({ key, label }) => label ?? key);
      const all = rows.map((row) =>
        columns.map(({ key }) => (Object.hasOwn(row, key) ? row[key] : null)),
      );
      const isRight = columns.map(
        ({ align }, i) => align === "right" || (!align && isNumeric(all, i)),
      );
      const formats = formatsOf(heads, all);
      const shown = ordered(found(all, this.#words, formats), this.#by, this.#isDown);
      const pages = Math.ceil(shown.length / PAGE);
      this.#page = Math.max(0, Math.min(this.#page, pages - 1));
      const sorting = {
        by: this.#by,
        isDown: this.#isDown,
        onSort: (column) => this.#sort(column),
        formats,
      };
      return html`
        ${rows.length > MANY ? filter((words) => this.#filter(words)) : nothing}
        ${grid(title ?? t("Table"), heads, this.#onPage(shown), isRight, sorting)}
        <div class="component-bar">
          <span class="muted" role="status">${count(shown, rows)}</span>
          ${shown.length > PAGE ? this.#pages(shown.length) : nothing}
          ${csvButton(title, () => [heads, ...shown], this.#isStreaming)}
        </div>
      `;
    }

    /** On paper are all of them. */
    #onPage(rows) {
      if (document.documentElement.classList.contains("printing")) return rows;
      return rows.slice(this.#page * PAGE, (this.#page + 1) * PAGE);
    }

    #pages(length) {
      const first = this.#page * PAGE;
      const last = Math.min(first + PAGE, length);
      const turn = (words, by, isPossible) =>
        html`<button
          type="button"
          class="quiet"
          aria-label=${words}
          ?disabled=${!isPossible}
          @click=${() => this.#turn(by)}
        >
          ${by < 0 ? "‹" : "›"}
        </button>`;
      return html`<span class="table-pages">
        ${turn(t("Previous rows"), -1, first > 0)}
        <span class="muted">${formatNumber(first + 1)}–${formatNumber(last)}</span>
        ${turn(t("Next rows"), 1, last < length)}
      </span>`;
    }
  },
);

const filter = (onWords) => html`
  <input
    type="search"
    class="table-filter"
    placeholder=${t("Filter rows")}
    aria-label=${t("Filter rows")}
    autocomplete="off"
    @input=${({ currentTarget }) => onWords(currentTarget.value)}
  />
`;

const count = (shown, rows) =>
  shown.length === rows.length
    ? plural(rows.length, "{count} row", "{count} rows")
    : plural(rows.length, "{shown} of {count} row", "{shown} of {count} rows", {
        shown: formatNumber(shown.length),
      });

const isNumeric = (rows, column) =>
  rows.length > 0 && rows.every((row) => row[column] === null || typeof row[column] === "number");
