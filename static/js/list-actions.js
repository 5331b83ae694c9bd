/** What is done to threads in the list, the way back from it, and where the focus is after that. */

import { tell } from "./tabs.js";

const ARCHIVED_SECONDS = 10;

export class ListActions {
  #renaming = null;

  /**
   * @param {{list, search, thread, drafts, field, node: Element, undoLine, told, confirmed, undoSeconds, afterPaint,
   *   onOpen, onRename, onNothingLeft}} page  `field`: the composer; `node`: the list's element; `onRename` gets the
   *   id of the thread whose title is edited, or null
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
    const { list, thread, told } = this.page;
    if (this.#renaming !== id) return;
    this.onRename(null);
    if (isDone) this.#focus(id);
    if (title === null) return;
    if (!(await told(list.rename(id, title)))) return;
    thread.rename(id, title);
    tell({ type: "threads" });
  };

  /** What can be brought back is deleted without a question. */
  onForget = async (id, title) => {
    const { list, thread, drafts, undoLine, told, confirmed, undoSeconds, onOpen } = this.page;
    const name = `“${title || "Untitled"}”`;
    const seconds = undoSeconds();
    if (!seconds && !(await confirmed(`Delete ${name}?`))) return;
    const wasOpen = thread.state.id === id;
    let until = null;
    const keepFocus = this.#beside(id);
    if (!(await told(list.forget(id).then((moment) => (until = moment))))) return;
    const words = drafts.of(id);
    tell({ type: "gone", id, waiting: words.outbox });
    drafts.forget(id);
    if (wasOpen) onOpen(null);
    keepFocus();
    if (until !== null) undoLine.show(`Deleted ${name}.`, () => this.#restore(id, words, wasOpen), seconds);
  };

  async #restore(id, words, wasOpen) {
    const { list, thread, drafts, field, told, onOpen } = this.page;
    if (!(await told(list.restore(id)))) return;
    drafts.keep(id, words);
    tell({ type: "run", id });
    if (wasOpen && thread.state.id === null && field.isEmpty) await onOpen(id);
    this.#focus(id);
  }

  /** @param {{pinned?: boolean, archived?: boolean}} changes */
  onArrange = async (id, changes, title) => {
    const { undoLine } = this.page;
    const keepFocus = "archived" in changes ? this.#beside(id) : () => this.#focus(id);
    if (!(await this.#arrange(id, changes))) return;
    keepFocus();
    if (!changes.archived) return;
    const undo = async () => {
      if (await this.#arrange(id, { archived: false })) this.#focus(id);
    };
    undoLine.show(`Archived “${title || "Untitled"}”.`, undo, ARCHIVED_SECONDS);
  };

  async #arrange(id, changes) {
    const { list, told } = this.page;
    const isDone = await told(list.arrange(id, changes));
    if (isDone) tell({ type: "threads" });
    return isDone;
  }

  onArchive = async (isArchive) => {
    const { list, node, afterPaint } = this.page;
    await list.show(isArchive);
    afterPaint(() => node.querySelector(".archive")?.focus());
  };

  onMoreFound = () => this.page.told(this.page.search.more());
  onMore = () => this.page.told(this.page.list.more());
  onReload = () => this.page.list.refresh();

  /** The link of a thread, if it is in the list. */
  linkOf(id) {
    return id ? this.page.node.querySelector(`[data-thread="${CSS.escape(id)}"]`) : null;
  }

  #focus(id) {
    this.page.afterPaint(() => this.linkOf(id)?.focus());
  }

  /** The focus goes to the thread beside one that leaves the list, unless it is elsewhere. */
  #beside(id) {
    const { list, afterPaint, onNothingLeft } = this.page;
    const { threads } = list.state;
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
