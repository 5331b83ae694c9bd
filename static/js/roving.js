/**
 * A list that is one stop of the Tab key. In it, arrow keys lead from row to row, and in a row from
 * its link to its buttons and back. Rows are what the views have made of them: this sees elements
 * alone.
 */

const ROW = "li";
const STOP = `${ROW}, .more`;
const IN_ROW = "a, button";

const isShown = (element) => element.offsetParent !== null;

export class RovingList {
  #list;
  /** The address of the link that Tab leads to. */
  #current = null;

  /**
   * @param {HTMLElement} list
   * @param {Record<string, (link: HTMLElement) => void>} keys  what further keys do on a row
   */
  constructor(list, keys) {
    this.#list = list;
    this.keys = keys;
    list.addEventListener("keydown", (event) => this.#key(event));
    list.addEventListener("focusin", ({ target }) => {
      const link = linkOf(/** @type {Element} */ (target).closest(STOP));
      if (!link) return;
      this.#current = nameOf(link);
      this.#stopAt(link);
    });
  }

  /** After a painting. */
  update() {
    const links = this.#links;
    this.#stopAt(
      links.find((link) => nameOf(link) === this.#current) ??
        links.find((link) => link.ariaCurrent === "page") ??
        links[0],
    );
  }

  focus() {
    const link = this.#links.find(({ tabIndex }) => tabIndex === 0);
    link?.focus();
    return Boolean(link);
  }

  /** The first link of each row, and the buttons between rows and behind them. */
  get #links() {
    return [...this.#list.querySelectorAll(STOP)].map(linkOf).filter(Boolean);
  }

  #stopAt(stop) {
    if (!stop) return;
    const others = this.#list.querySelectorAll(`${ROW}:not(:has(form)) :is(${IN_ROW}), .more`);
    for (const element of others) element.tabIndex = element === stop ? 0 : -1;
  }

  #key(event) {
    const { key, target, ctrlKey, metaKey, altKey, shiftKey } = event;
    if (ctrlKey || metaKey || altKey || shiftKey || target.closest("form, [popover], dialog"))
      return;
    const row = target.closest(ROW);
    const link = linkOf(/** @type {Element} */ (target).closest(STOP));
    if (!link) return;
    const next = this.#step(key, link) ?? this.#aside(key, row, target);
    if (next) next.focus();
    else if (row && Object.hasOwn(this.keys, key)) this.keys[key](link);
    else return;
    event.preventDefault();
  }

  #step(key, link) {
    const links = this.#links;
    const at = links.indexOf(link);
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: links.length - 1 }[key];
    return to === undefined ? undefined : links[Math.max(0, Math.min(to, links.length - 1))];
  }

  #aside(key, row, target) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!by || !row) return undefined;
    const stops = [...row.querySelectorAll(IN_ROW)].filter(isShown);
    return stops[stops.indexOf(target) + by];
  }
}

const linkOf = (stop) => (stop?.matches(ROW) ? stop.querySelector("a") : stop);
const nameOf = (link) => link.getAttribute("href") ?? link.textContent.trim();
