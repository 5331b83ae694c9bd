/** The page: puts state, views and actions together. */

import { Announcer, Speaker } from "./announce.js";
import * as api from "./api.js";
import { Composer } from "./composer.js";
import { confirmed } from "./confirm.js";
import { Drafts } from "./drafts.js";
import { Editing } from "./editing.js";
import { FormKeeper } from "./form-keeper.js";
import { paragraphs } from "./format.js";
import { Graphs } from "./graphs.js";
import { InspectorPanel } from "./inspector-panel.js";
import { nameOfInterrupt } from "./interrupt-view.js";
import { keyActions } from "./key-actions.js";
import { ListActions } from "./list-actions.js";
import {
  currentVersion,
  firstId,
  leaveBegun,
  showBegun,
  showId,
  showVersion,
  takeMessage,
  urlOf,
} from "./location.js";
import { Models } from "./models.js";
import { loaded, Notice } from "./notice.js";
import { listen } from "./page-events.js";
import { Painting } from "./painting.js";
import { Panels } from "./panels.js";
import { Questions } from "./questions.js";
import { Reading } from "./reading.js";
import { RovingList } from "./roving.js";
import { Follower } from "./scroll.js";
import { SearchField } from "./search-field.js";
import { Session } from "./session.js";
import { shows } from "./settings.js";
import { listenForKeys } from "./shortcuts.js";
import { onWord, tell } from "./tabs.js";
import { t } from "./texts.js";
import { nextTheme } from "./theme.js";
import { threadActions } from "./thread-actions.js";
import { ThreadList } from "./thread-list.js";
import { ThreadSearch } from "./thread-search.js";
import { isAsked, waitsForAnswer } from "./thread-state.js";
import { ThreadStore } from "./thread-store.js";
import { Tools } from "./tools.js";
import { WaitingApprovals } from "./waiting-approvals.js";
import { Words } from "./words.js";

/** Messages of a thread that are painted at once when it opens. */
const FIRST_PAINT = 30;

/** @returns {any} of its own kind: what is made of it knows which */
const element = (id) => document.getElementById(id);
const [log, scroller, status] = ["log", "scroller", "status"].map(element);

const about = {
  /** What `GET /health` says. */
  model: null,
  /** Prompts of the demo, where that is served. */
  examples: [],
  /** How many messages are painted, from the end. */
  limit: Infinity,
  /** The thread whose title is edited. */
  renaming: null,
  /** Who asks, where people are told apart. */
  asker: null,
  tools: new Tools((tools) => {
    about.tools = tools;
    painting.thread();
    painting.approvals();
    questions.grown();
  }),
};
/** Another tab has told of the thread while a run was read here. */
let isBehind = false;
let undoLine;

const announcer = new Announcer(status);
const speaker = new Speaker(element("spoken"), log);
const notice = new Notice(status, () => painting.thread());
const panels = new Panels(
  { threads: element("threads"), inspector: element("inspector"), approvals: element("approvals") },
  () => {
    approvals.watch(panels.isOpen("approvals"));
    painting.all();
  },
);
const inspector = new InspectorPanel(element("inspector"), {
  onClose: () => panels.show("inspector", false),
  about: () => ({ development: graphs.development, id: thread.state.id, graph: graphs.chosen }),
});
const follower = new Follower(scroller, log, () => painting.thread());
const composer = new Composer(element("composer"), {
  onSend: (text, images, how) => send(text, images, how),
  onStop: () => thread.stop(),
  onEditLast: () => keys.onEditLast(),
  onDraft: (draft, images) => words.keepDraft(thread.state.id, draft, images),
  onTold: (sentence) => {
    status.textContent = sentence;
  },
  onProblem: (sentence) => notice.say(sentence),
});
const drafts = new Drafts((id, before, after) => words.changedElsewhere(id, before, after));
const forms = new FormKeeper(log, (kept) => drafts.keep(thread.state.id, { forms: kept }));
const session = new Session(element("login"), {
  onUser({ id, method, display_name: name, approves, extensions }) {
    if (extensions?.includes("feedback")) offerFeedback();
    about.asker = method === "off" ? null : name;
    list.isShared = method !== "off";
    if (approves) approvals.refresh();
    models.load();
    graphs.load();
    words.start(id, showWords);
    painting.all();
  },
  onEnd: leave,
});
const models = new Models(() => {
  thread.model = models.chosen;
  composer.limit(models.maxChars);
  composer.attachments.allow(
    models.images,
    shows("images") ? models.refusal : t("No images can be sent here."),
  );
  painting.bar();
});
const graphs = new Graphs(() => {
  thread.graph = graphs.chosen;
  painting.bar();
  painting.thread();
});
const list = new ThreadList(() => {
  painting.list();
  noticeDecision();
  noticeTitle();
});
const search = new ThreadSearch(
  () => painting.list(),
  (sentence) => {
    status.textContent = sentence;
  },
);
new SearchField(element("search"), element("thread-list"), {
  onWords: (text) => search.look(text),
  onLeave: () => panels.closeDrawer() || composer.focus(),
});
const approvals = new WaitingApprovals(() => {
  painting.approvals();
  painting.bar();
});
const thread = new ThreadStore({
  onChange: () => painting.thread(),
  onStarted(id, isNew, follows) {
    if (isNew) {
      drafts.keep(null, { draft: "", images: [], edit: null, forms: {} });
      showBegun(id);
    }
    composer.taken();
    editing.begun(follows);
    showVersion(null);
    list.refresh();
    tell({ type: "run", id });
  },
  onSettled(state) {
    list.refresh();
    if (state.messages.length <= 2) list.awaitTitle(state.id);
    tell({ type: "run", id: state.id });
    if (isBehind) catchUp();
    if (isAsked(state)) questions.showNext();
  },
  onEvent: (event) => inspector.event(event),
  onRequest: (body) => inspector.request(body),
  onRefused(text, images, error) {
    composer.restore(text, images);
    if (error?.code === "unknown_graph") graphs.load();
  },
  onEditRefused: (edited, error) => editing.refused(edited, error),
  onResumed: (ids) => forms.forget(ids.map(nameOfInterrupt)),
  onOutbox(id, outbox, before) {
    painting.list();
    return words.keepOutbox(id, outbox, before);
  },
  onTakenLate(id) {
    list.refresh();
    tell({ type: "run", id });
    if (id === thread.state.id) catchUp();
  },
  onQueue: () => tell({ type: "queue", id: thread.state.id }),
  isKept: (item) => drafts.isKept(item),
  onWaits: () => composer.taken(),
  onNotLoaded: (error) => notice.say(error.message),
});
thread.graph = graphs.chosen;

const words = new Words({ drafts, composer, thread, notice });
const editing = new Editing({
  thread,
  drafts,
  composer,
  follower,
  notice,
  onChange: () => painting.thread(),
});
const questions = new Questions({
  log,
  panel: element("approvals"),
  composer,
  follower,
  thread,
  approvals,
});
const reading = new Reading({
  ...{ thread, follower, log, scroller, status, notice },
  onWhole() {
    about.limit = Infinity;
    painting.thread();
  },
});

const ask = (question, action) => confirmed(element("confirm"), question, action);
const listActions = new ListActions({
  ...{ list, search, thread, drafts, field: composer, notice },
  node: element("thread-list"),
  showUndo,
  confirmed: ask,
  undoSeconds: () => about.model?.undo_seconds ?? 0,
  onOpen: open,
  onRename(id) {
    about.renaming = id;
    painting.list();
  },
  onNothingLeft: () => element("new").focus(),
});
const roving = new RovingList(element("thread-list"), {
  F2: ({ dataset }) => search.isOn || !shows("rename") || listActions.onRename(dataset.thread),
  Delete: ({ dataset: { thread: id } }) => {
    if (!shows("delete")) return;
    const known = [...list.state.threads, ...search.state.threads, thread.state];
    listActions.onForget(id, known.find((entry) => entry.id === id)?.title);
  },
});
const keys = keyActions({
  ...{ thread, editing, words, composer, panels, roving, log, notice, onOpen: open },
  threads: element("threads"),
  keys: element("keys"),
});

const painting = new Painting({
  ...{ about, thread, list, search, roving, follower, composer, editing, forms, drafts },
  ...{
    announcer,
    speaker,
    notice,
    graphs,
    models,
    panels,
    session,
    approvals,
    inspector,
    listActions,
  },
  threadActions: threadActions({
    ...{
      thread,
      editing,
      questions,
      words,
      drafts,
      composer,
      follower,
      notice,
      log,
      scroller,
      status,
    },
    ...{ confirmed: ask, onSend: send, onOpen: open },
  }),
  barActions: {
    onGraph: (name) => graphs.choose(name),
    onModel: (name) => models.choose(name),
    onNew: () => open(null),
    onLogOut: () => notice.told(session.logOut()),
    onTheme() {
      nextTheme();
      painting.bar();
    },
    onKeys: keys.onKeys,
    onExport: (format) =>
      notice.told(
        loaded(import("./export.js")).then(({ exportThread }) =>
          exportThread(thread.state, format),
        ),
      ),
    onPrint: () =>
      notice.told(loaded(import("./print.js")).then(({ printThread }) => printThread(thread))),
    onInspect: () => panels.toggle("inspector"),
    onApprove() {
      panels.toggle("approvals");
      if (panels.isOpen("approvals")) questions.showOthers();
    },
  },
  approvalActions: {
    onDecide: (call, decision) => questions.decideForOthers(call, decision),
    onReload: () => approvals.refresh(),
    onMore: () => approvals.showMore(),
    onPainted: () => questions.othersPainted(),
    onClose() {
      panels.show("approvals", false);
      element("approve")?.focus();
    },
  },
  accountActions: { onLogOut: () => notice.told(session.logOut()) },
});

/**
 * Nothing stays of whoever was logged in: neither on the page, nor in its memory, nor in storage.
 */
function leave() {
  document.body.hidden = true;
  thread.leave();
  thread.posts.end();
  drafts.clear();
  reading.clear();
  location.replace(urlOf(null));
}

/** @param {{stops?: boolean}} [how]  see `Sender.send` */
function send(text, images, how) {
  if (thread.state.missing) {
    composer.restore(text, images);
    log.querySelector("button")?.focus();
    return;
  }
  follower.ask();
  thread.sender.send(text, images, how);
}

/**
 * @param {string | null} id
 * @param {{isBack?: boolean, found?: any}} [from]  see `Reading.begin`
 */
async function open(id, { isBack = false, found = null } = {}) {
  reading.keep();
  leaveBegun();
  if (!isBack) showId(id);
  announcer.reset();
  speaker.reset();
  panels.closeDrawer();
  const { activeElement: from } = document;
  follower.begin();
  about.limit = FIRST_PAINT;
  const loaded = words.opened(id, isBack ? currentVersion() : null);
  showWords(id);
  painting.list();
  await loaded;
  if (thread.state.id !== id) return;
  showVersion(thread.state.looksAt);
  painting.list();
  follower.pin();
  reading.begin(id, { isBack, found });
  const isElsewhere = ![from, document.body].includes(document.activeElement);
  if (!found && !isElsewhere && matchMedia("(hover: hover)").matches) composer.focus();
}

/** See `UndoLine.show`; it is loaded with the first. */
async function showUndo(words, undo, seconds) {
  const { UndoLine } = await loaded(import("./undo-line.js"));
  undoLine ??= new UndoLine(element("undo"), status);
  undoLine.show(words, undo, seconds);
}

/** What was written in a thread and not sent; what is typed already stands behind it. */
function showWords(id, typed = "") {
  const { draft, images, edit, forms: kept } = drafts.of(id);
  composer.open(paragraphs(draft, typed), images);
  forms.open(kept);
  editing.open(edit);
  painting.thread();
}

/** Somebody else may have decided on a call of this thread. */
function noticeDecision() {
  const entry = list.state.threads.find(({ id }) => id === thread.state.id);
  if (entry && entry.run_state !== "waiting" && waitsForAnswer(thread.state)) catchUp();
}

/** The open thread may have got a title, by a model or in another tab. */
function noticeTitle() {
  const { id, title: before } = thread.state;
  const title = list.state.threads.find((entry) => entry.id === id)?.title;
  if (title === undefined || title === before) return;
  thread.rename(id, title);
  if (before) tell({ type: "threads" });
}

/** Another tab may have gone on with this thread, and left what was not sent. */
async function catchUp() {
  isBehind = thread.busy;
  if (!thread.busy && thread.state.id !== null) await thread.refresh();
  thread.sender.flush();
}

/** Another tab of this browser has done something. */
onWord(({ type, id, waiting }) => {
  if (type === "queue" && id === thread.state.id) thread.queue.look();
  if (!["run", "threads", "gone"].includes(type)) return;
  list.refresh();
  search.refresh();
  if (type === "run" && id === thread.state.id) catchUp();
  if (type === "gone") words.deletedElsewhere(id, waiting);
});

async function learnModel() {
  about.model = await api.health();
  const { examples, titles, search: searches } = about.model;
  list.makesTitles = titles;
  element("search").parentElement.hidden = searches === false;
  about.examples = examples ?? [];
  painting.bar();
  painting.thread();
}

async function offerFeedback() {
  const { Feedback } = await import("./feedback.js");
  about.feedback ??= new Feedback(painting, notice, status);
  painting.thread();
}

listenForKeys(keys);
listen({ thread, follower, panels, session, reading, notice, onOpen: open, onSeen: catchUp });
painting.all();
session.check();
list.refresh();
open(firstId(), { isBack: true, found: takeMessage() });
learnModel().catch(() => {});
