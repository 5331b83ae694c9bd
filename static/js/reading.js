/**
 * Where a thread is read from: its end, where somebody read before, or a message that was found.
 */

import { showVersion } from "./location.js";
import { loaded } from "./notice.js";
import { afterDrawing, afterPaint } from "./paint.js";
import { Places } from "./places.js";
import { t } from "./texts.js";

const MARGIN_PX = 16;
const GONE = t("The message that was found is no longer in this thread.");

export class Reading {
  #places = new Places();
  /** Where somebody is led back to by now. */
  #goal = null;

  /**
   * @param {{thread, follower, log: HTMLElement, scroller: HTMLElement, status: HTMLElement,
   *   notice, onWhole}} page `onWhole`: paint what stands before the end
   */
  constructor(page) {
    this.page = page;
  }

  /** Another thread is opened, or the page is left. */
  keep() {
    const { thread, follower } = this.page;
    if (thread.state.messages.length && !this.#goal)
      this.#places.keep(thread.state.id, follower.place);
  }

  clear() {
    this.#places.clear();
  }

  /**
   * A thread is loaded. The end of a long one is there at once, what stands before it a moment
   * later.
   *
   * @param {string | null} id
   * @param {{isBack: boolean, found: {message: string, words: string[], text: string} | null}} from
   */
  begin(id, { isBack, found }) {
    const { notice, onWhole } = this.page;
    const place = isBack && !found ? this.#places.of(id) : null;
    const focused = document.activeElement;
    this.#goal = place;
    const rest = () => {
      onWhole();
      if (found) afterDrawing(() => notice.told(this.#showFound(id, found, focused)));
      else if (place) afterPaint(() => this.#goBack(id, place));
    };
    requestAnimationFrame(() => setTimeout(rest));
  }

  async #goBack(id, place) {
    await this.#goTo(id, place);
    if (this.#goal === place) this.#goal = null;
  }

  /** Nobody has gone elsewhere meanwhile. */
  #isAtEnd(id) {
    return this.page.thread.state.id === id && this.page.follower.pinned;
  }

  /** Says whether the message is there; it may be further up than what is loaded. */
  async #goTo(id, place) {
    const { thread, follower } = this.page;
    while (this.#isAtEnd(id)) {
      if (follower.restore(place)) return true;
      if (!thread.state.hasEarlier || thread.state.earlierFailed) return false;
      await thread.earlier();
      await new Promise(afterDrawing);
    }
    return false;
  }

  /** Since it was found it may have been left for another version. */
  async #showFound(id, found, focused) {
    const { thread } = this.page;
    const { versionWith, markFound } = await loaded(import("./found-message.js"));
    const place = { message: found.message, px: -MARGIN_PX };
    if (!(await this.#goTo(id, place))) {
      if (!this.#isAtEnd(id) || thread.state.earlierFailed) return;
      const version = await versionWith(found.message, thread.state);
      if (!this.#isAtEnd(id)) return;
      if (version === null) throw new Error(GONE);
      await thread.look(version);
      showVersion(thread.state.looksAt);
      await new Promise(afterDrawing);
      if (!(await this.#goTo(id, place))) return;
    }
    // Nobody who went on to something else is taken away from it.
    const isFree = [document.body, focused].includes(document.activeElement);
    this.#mark(found, isFree, markFound);
  }

  #mark({ message, words, text }, isFree, markFound) {
    const { follower, log, scroller, status } = this.page;
    const article = log.querySelector(`[data-message="${CSS.escape(message)}"]`);
    const px = markFound(article, words, { height: scroller.clientHeight, isFree });
    follower.restore({ message, px });
    const isOwn = article.matches(".user");
    status.textContent = isOwn
      ? text
        ? t("Found in your message: {text}", { text })
        : t("This is your message")
      : text
        ? t("Found in a reply: {text}", { text })
        : t("This is a reply");
  }
}
