/** What the keys of the page do; see `shortcuts.js` for which these are. */

import { loaded } from "./notice.js";
import { shows } from "./settings.js";

/**
 * @param {{thread, editing, words, composer, panels, roving, notice, threads: HTMLElement, log:
 *   HTMLElement, keys: HTMLElement, onOpen}} page
 */
export function keyActions(page) {
  const { thread, editing, words, composer, panels, roving, threads } = page;
  const toList = () => {
    if (!shows("threads")) return null;
    panels.show("threads", true);
    const field = threads.querySelector(":not([hidden]) > input[type=search]");
    return shows("search") ? field : null;
  };
  const actions = {
    onSearch: () => (toList() ?? roving).focus(),
    onThreads() {
      toList();
      roving.focus();
    },
    onField: () => composer.focus(),
    /** The message that was written last: not sent yet, queued, or the last of the thread. */
    onEditLast() {
      const { outbox, queue, messages } = thread.state;
      const unsent = outbox.findLast((item) => !item.isSending);
      const queued = queue.findLast(({ id }) => id !== null);
      const last = messages.findLast(({ role }) => role === "user");
      if (unsent) words.takeBack(unsent);
      else if (queued) editing.begin(queued.id);
      else if (last?.id && !thread.busy && shows("edit")) editing.begin(last.id);
      else return false;
      return true;
    },
    async onKeys() {
      if (!shows("keys")) return;
      const { showKeys } = await loaded(import("./keys-dialog.js"));
      showKeys(page, actions);
    },
  };
  return actions;
}
