/**
 * What is painted where: each painter shows one region of the page as things are, at most once a
 * frame.
 */

import { render } from "../vendor/lit-html/lit-html.js";
import { barView, noteView } from "./bar-view.js";
import { cut } from "./bounds.js";
import { isOpenToChoice } from "./graphs.js";
import { afterDrawing, isDrawing, painter } from "./paint.js";
import { textOf } from "./parts.js";
import { TITLE } from "./settings.js";
import { t } from "./texts.js";
import { threadView } from "./thread-view.js";
import { threadsView } from "./threads-view.js";
import { visible } from "./unseen.js";

const element = (id) => document.getElementById(id);

export class Painting {
  /** Of the first message of the thread that was painted last. */
  #firstKey = null;
  #shownMessages = 0;
  /** The thread whose row was painted last as that of the open one. */
  #shownId = null;
  /** What the bar shows of the thread, as it was painted last. */
  #barOf = "";
  #looksAt = null;
  /** Whether the end of a drawing is waited for. */
  #isToSpeak = false;
  /** Those that not everybody needs, by name, once they are loaded. */
  #views = {};
  /** A long list is not made anew after each search. */
  #rows = { all: document.createElement("div"), found: document.createElement("div") };

  /**
   * @param {Record<string, any>} page
   *   `about`: `{model, examples, limit, renaming, asker, tools}`; and thread, list, search,
   *   roving, follower, composer, editing, forms, drafts, announcer, speaker, notice, graphs,
   *   models, panels, session, approvals, inspector; `actions`: threadActions, listActions,
   *   barActions, approvalActions, accountActions
   */
  constructor(page) {
    this.page = page;
  }

  all() {
    this.thread();
    this.list();
    this.account();
    this.approvals();
    this.page.inspector.paint();
    this.bar();
  }

  thread = painter(() => {
    const { thread, follower, editing, forms, composer, announcer, notice } = this.page;
    const { state } = thread;
    follower.hasEnd = state.messages.length > 0;
    editing.check();
    render(noteView(state.run, notice.words), element("connection"));
    this.#roomForNotes(state);
    this.#log(state);
    if (this.#looksAt !== state.looksAt) forms.again();
    this.#looksAt = state.looksAt;
    forms.restore(
      state.looksAt === null && state.run === null && !state.loading && state.messages.length > 0,
    );
    element("latest").hidden = follower.pinned;
    composer.show(thread.busy, Boolean(state.run?.stopping));
    announcer.follow(state);
    this.#speak();
    if (this.#barOf !== JSON.stringify(this.#shownInBar())) this.bar();
    const title = state.id === null ? t("New thread") : visible(state.title || titleOf(state));
    element("title").textContent = title;
    document.title = `${title} · ${TITLE}`;
  });

  /**
   * The room of a note stays when it goes, until a message comes: nothing moves away from under a
   * finger.
   */
  #roomForNotes({ messages }) {
    const isTaken = !this.page.follower.pinned || element("connection").childElementCount > 0;
    const isSame = messages.length === this.#shownMessages;
    const { classList } = element("notes");
    classList.toggle("kept", isTaken || (isSame && classList.contains("kept")));
  }

  /** A reply that was there, and the end of one, may be drawn after this painting. */
  #speak() {
    const { thread, speaker } = this.page;
    speaker.follow(thread.state);
    if (this.#isToSpeak || !isDrawing()) return;
    this.#isToSpeak = true;
    afterDrawing(() => {
      this.#isToSpeak = false;
      this.#speak();
    });
  }

  /** Messages that are put before those which are seen move none of these. */
  #log(state) {
    const { about, editing, follower, graphs, threadActions } = this.page;
    const log = element("log");
    const shown = { ...about, graph: graphs.of(state), editing: editing.message };
    const change = () => render(threadView(state, shown, threadActions), log);
    const first = log.querySelector("article");
    const key = state.messages[0]?.key;
    const isEarlier =
      this.#firstKey !== key && state.messages.some((one) => one.key === this.#firstKey);
    this.#firstKey = key;
    if (isEarlier && first && !follower.pinned) follower.keep(first, change);
    else change();
    // A log that is shorter than what is seen does not change its size.
    if (this.#shownMessages !== state.messages.length) follower.follow();
    this.#shownMessages = state.messages.length;
  }

  list = painter(() => {
    const { about, thread, list, search, roving, drafts, listActions } = this.page;
    const { id, title, missing, messages, runState } = thread.state;
    const open = id && !missing && messages.length ? { id, title, run_state: runState } : null;
    const foundView =
      search.isOn && this.#view("foundView", () => import("./search-view.js"), this.list);
    if (search.isOn && !foundView) return;
    const shown = search.isOn ? this.#rows.found : this.#rows.all;
    const view = search.isOn
      ? foundView(search.state, id, listActions)
      : threadsView(
          list.state,
          { openId: id, open, renaming: about.renaming, unsent: drafts.unsent },
          listActions,
        );
    render(view, shown);
    if (!shown.isConnected) element("thread-list").replaceChildren(shown);
    const row = listActions.linkOf(id);
    if (row && this.#shownId !== id) row.scrollIntoView({ block: "nearest" });
    this.#shownId = row ? id : null;
    roving.update();
  });

  /**
   * A view, once it is loaded, which is painted then. What cannot be loaded is asked for again by
   * the next painting.
   */
  #view(name, load, paint) {
    const keep = (loaded) => {
      this.#views[name] = loaded[name];
      paint();
    };
    if (!this.#views[name]) load().then(keep, () => {});
    return this.#views[name];
  }

  bar = painter(() => {
    const { about, graphs, models, panels, session, approvals, barActions } = this.page;
    const ofThread = this.#shownInBar();
    this.#barOf = JSON.stringify(ofThread);
    const shown = {
      ...ofThread,
      graphs,
      model: about.model,
      models,
      inspecting: panels.isOpen("inspector"),
      approving: panels.isOpen("approvals"),
      waiting: session.user?.approves ? approvals.state.calls.length : null,
      session: Boolean(session.user?.session),
    };
    render(barView(shown, barActions), element("bar"));
  });

  #shownInBar() {
    const {
      thread: { state },
      graphs,
    } = this.page;
    return { saved: isSaved(state), graph: graphs.of(state), isNew: isOpenToChoice(state) };
  }

  account = painter(() => {
    const { session, accountActions } = this.page;
    if ((session.user?.method ?? "off") === "off") return;
    const view = this.#view("accountView", () => import("./account-view.js"), this.account);
    if (view) render(view(session.user, accountActions), element("account"));
  });

  approvals = painter(() => {
    const { about, panels, session, approvals, approvalActions } = this.page;
    if (!session.user?.approves) return;
    const view = this.#view("approvalsView", () => import("./approvals-view.js"), this.approvals);
    if (!view || !panels.isOpen("approvals")) return;
    render(view(approvals.state, about.tools, approvalActions), element("approvals"));
    approvalActions.onPainted();
  });
}

const isSaved = ({ id, messages }) => id !== null && messages.length > 0;

function titleOf({ messages }) {
  const [first] = messages;
  const said = first && (textOf(first) || first.parts.find(({ alt }) => alt)?.alt);
  return said ? cut(said, 60) : t("Thread");
}
