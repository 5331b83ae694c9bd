/**
 * From one version of a message to another: what is read stays where it is, and so does the focus.
 */

import { showVersion } from "./location.js";
import { afterPaint } from "./paint.js";
import { t } from "./texts.js";
import { inPlaceOf } from "./versions.js";

export class VersionWalk {
  /** @param {{thread, follower, composer, log: HTMLElement, status: HTMLElement}} page */
  constructor(page) {
    this.page = page;
  }

  /**
   * @param {string} version  to look at
   * @param {any} from  the message in whose place it is
   * @param {"previous" | "next"} step  the button that was pressed
   */
  async version(version, from, step) {
    const { thread, follower, log, status } = this.page;
    const place = follower.placeOf(article(log, from));
    await thread.look(version);
    showVersion(thread.state.looksAt);
    const message = inPlaceOf(thread.state.messages, from, version);
    if (!message) return;
    const number = message.versions.indexOf(version) + 1;
    status.textContent = t("Version {number} of {count}", {
      number,
      count: message.versions.length,
    });
    afterPaint(() => {
      const shown = article(log, message);
      if (!shown) return;
      if (Math.abs(follower.placeOf(shown).px - place.px) > 1)
        follower.restore({ ...place, message: message.id });
      if (isFree(document.activeElement, step))
        shown.querySelector(`[data-look=${step}]`)?.focus({ preventScroll: true });
    });
  }

  /** To what the thread itself is. */
  async thread() {
    const { thread, follower, composer } = this.page;
    await thread.look(null);
    showVersion(thread.state.looksAt);
    follower.pin();
    afterPaint(() => document.activeElement === document.body && composer.focus());
  }
}

/** Nobody who went on to something else is taken away from it. */
const isFree = (focused, step) => focused === document.body || focused?.dataset.look === step;

const article = (log, { id }) => log.querySelector(`[data-message="${CSS.escape(id)}"]`);
