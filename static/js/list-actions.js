/** What is done to threads in the list, the way back from it, and where the focus is after that. */

import { afterPaint } from "./paint.js";
import { tell } from "./tabs.js";
import { t } from "./texts.js";
import { visible } from "./unseen.js";

const ARCHIVED_SECONDS = 10;

export class ListActions {
  #renaming = null;

  /**
   * @param {{list, search, thread, drafts, field, node: HTMLElement, showUndo, notice, confirmed,
   *   undoSeconds, onOpen, onRename, onNothingLeft}} page  `field`: the composer; `node`: the
   *   list's element; `onRename` gets the id of the thread whose title is edited, or null
   */
  constructor(page) {
    this.page = page;
  }

  onOpen = (event, id, found = null) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    this.page.onOpen(id, { found });
  };

  onRename = (id) => {
    this.#renaming = id;
    this.page.onRename(id);
  };

  onRenamed = async (id, title, { isDone = false } = {}) => {
    const { list, thread, notice } = this.page;
    if (this.#renaming !== id) return;
    this.onRename(null);
    if (isDone) this.#focus(id);
    if (title === null) return;
    if (!(await notice.told(list.rename(id, title)))) return;
    thread.rename(id, title);
    tell({ type: "threads" });
  };

  /** What can be brought back is deleted without a question. */
  onForget = async (id, title) => {
    const { list, search, thread, drafts, showUndo, notice, confirmed, undoSeconds, onOpen } =
      this.page;
    const name = `“${visible(title || t("Untitled"))}”`;
    const seconds = undoSeconds();
    if (!seconds && !(await confirmed(t("Delete {name}?", { name })))) return;
    let until = null;
    const keepFocus = this.#beside(id);
    if (!(await notice.told(list.forget(id).then((moment) => (until = moment))))) return;
    // Another may be open by now.
    const wasOpen = thread.state.id === id;
    const words = drafts.of(id);
    tell({ type: "gone", id, waiting: words.outbox });
    if (wasOpen) onOpen(null);
    drafts.forget(id);
    await search.refresh();
    keepFocus();
    if (until !== null)
      showUndo(t("Deleted {name}.", { name }), () => this.#restore(id, words, wasOpen), seconds);
  };

  async #restore(id, words, wasOpen) {
    const { list, thread, drafts, field, notice, onOpen } = this.page;
    if (!(await notice.told(list.restore(id)))) return;
    drafts.keep(id, words);
    tell({ type: "run", id });
    if (wasOpen && thread.state.id === null && field.isEmpty) await onOpen(id);
    this.#focus(id);
  }

  /** @param {{pinned?: boolean, archived?: boolean}} changes */
  onArrange = async (id, changes, title) => {
    const { showUndo } = this.page;
    const keepFocus = "archived" in changes ? this.#beside(id) : () => this.#focus(id);
    if (!(await this.#arrange(id, changes))) return;
    keepFocus();
    if (!changes.archived) return;
    const undo = async () => {
      if (await this.#arrange(id, { archived: false })) this.#focus(id);
    };
    showUndo(
      t("Archived {name}.", { name: `“${title || t("Untitled")}”` }),
      undo,
      ARCHIVED_SECONDS,
    );
  };

  async #arrange(id, changes) {
    const { list, notice } = this.page;
    const isDone = await notice.told(list.arrange(id, changes));
    if (isDone) tell({ type: "threads" });
    return isDone;
  }

  onArchive = async (isArchive) => {
    const { list, node } = this.page;
    await list.show(isArchive);
    afterPaint(() => /** @type {HTMLElement} */ (node.querySelector(".archive"))?.focus());
  };

  onMoreFound = () => this.page.notice.told(this.page.search.more());
  onMore = () => this.page.notice.told(this.page.list.more());
  onReload = () => this.page.list.refresh();

  /** The link of a thread, if it is in the list. @returns {HTMLElement | null} */
  linkOf(id) {
    return id ? this.page.node.querySelector(`[data-thread="${CSS.escape(id)}"]`) : null;
  }

  #focus(id) {
    afterPaint(() => this.linkOf(id)?.focus());
  }

  /** The focus goes to the thread beside one that leaves the list, unless it is elsewhere. */
  #beside(id) {
    const { list, search, onNothingLeft } = this.page;
    const { threads } = search.isOn ? search.state : list.state;
    const at = threads.findIndex((entry) => entry.id === id);
    const next = threads[at + 1] ?? threads[at - 1];
    return () =>
      afterPaint(() => {
        if (document.activeElement !== document.body) return;
        const link = this.linkOf(next?.id);
        if (link) link.focus();
        else onNothingLeft();
      });
  }
}
