/** What the keys of the page do; see `shortcuts.js` for which these are. */

import { loaded } from "./notice.js";

/**
 * @param {{thread, editing, words, composer, panels, roving, notice, threads: HTMLElement, log:
 *   HTMLElement, keys: HTMLElement, onOpen}} page
 */
export function keyActions(page) {
  const { thread, editing, words, composer, panels, roving, threads } = page;
  const toList = () => {
    panels.show("threads", true);
    return threads.querySelector(":not([hidden]) > input[type=search]");
  };
  const actions = {
    onSearch: () => (toList() ?? roving).focus(),
    onThreads() {
      toList();
      roving.focus();
    },
    onField: () => composer.focus(),
    /** The message that was written last: one that is queued, or the last of the thread. */
    onEditLast() {
      const { outbox, messages } = thread.state;
      const queued = outbox.findLast((item) => item.queued && !item.isSending);
      const last = messages.findLast(({ role }) => role === "user");
      if (queued) words.takeBack(queued);
      else if (last?.id && !thread.busy) editing.begin(last.id);
      else return false;
      return true;
    },
    async onKeys() {
      const { showKeys } = await loaded(import("./keys-dialog.js"));
      showKeys(page, actions);
    },
  };
  return actions;
}
