/** The page: puts state, views and actions together. */

import { render } from "../vendor/lit-html/lit-html.js";
import { accountView } from "./account-view.js";
import { Announcer } from "./announce.js";
import * as api from "./api.js";
import { approvalsView } from "./approvals-view.js";
import { barView, noteView } from "./bar-view.js";
import { copy } from "./clipboard.js";
import { Composer } from "./composer.js";
import { confirmed } from "./confirm.js";
import { Drafts } from "./drafts.js";
import { FormKeeper } from "./form-keeper.js";
import { InspectorPanel } from "./inspector-panel.js";
import { isComposing } from "./keys.js";
import { currentId, currentVersion, showId, showVersion, takeMessage, urlOf } from "./location.js";
import { LoginDialog } from "./login-dialog.js";
import { ListActions } from "./list-actions.js";
import { Models } from "./models.js";
import { painter } from "./paint.js";
import { Panels } from "./panels.js";
import { textOf } from "./parts.js";
import { Reading } from "./reading.js";
import { RovingList } from "./roving.js";
import { Follower } from "./scroll.js";
import { sentenceOf } from "./sentences.js";
import { Session } from "./session.js";
import { listenForKeys } from "./shortcuts.js";
import { onWord, tell } from "./tabs.js";
import { SearchField } from "./search-field.js";
import { foundView } from "./search-view.js";
import { lighten, nextTheme } from "./theme.js";
import { ThreadList } from "./thread-list.js";
import { ThreadSearch } from "./thread-search.js";
import { ThreadStore } from "./thread-store.js";
import { threadView } from "./thread-view.js";
import { threadsView } from "./threads-view.js";
import { Tools } from "./tools.js";
import { UndoLine } from "./undo-line.js";
import { VersionWalk } from "./version-walk.js";
import { WaitingApprovals } from "./waiting-approvals.js";
import { Words } from "./words.js";

const EXAMPLES = [
  "What is 17 * 23, and what time is it in Tokyo?",
  "Draw a line chart of 1, 4, 9, 16",
  "Let me choose between red, green and blue",
  "Convert 100 fahrenheit to celsius",
];

const FIRST_PAINT = 30;

const element = (id) => document.getElementById(id);
const page = {
  model: null,
  examples: EXAMPLES,
  /** How many messages are painted, from the end. */
  limit: Infinity,
  /** Of the first message of the thread that was painted last. */
  firstKey: null,
  /** The message that is edited: `{id, text, version, error?}`. */
  editing: null,
  failure: null,
  renaming: null,
  /** Another tab has told of the thread while a run was read here. */
  isBehind: false,
  /** Who asks, where people are told apart. */
  asker: null,
  tools: new Tools((tools) => {
    page.tools = tools;
    paintThread();
    paintApprovals();
    afterPaint(() => {
      const grown = element("log").querySelector(`${APPROVAL}:focus`);
      if (grown) follower.reveal(grown);
    });
  }),
};

const announcer = new Announcer(element("status"));
const sides = { threads: element("threads"), inspector: element("inspector"), approvals: element("approvals") };
const panels = new Panels(sides, () => {
  approvals.watch(panels.isOpen("approvals"));
  paintAll();
});
const inspector = new InspectorPanel(element("inspector"), {
  onClose: () => panels.show("inspector", false),
});
const follower = new Follower(element("scroller"), element("log"), () => paintThread());
const composer = new Composer(element("composer"), {
  onSend: (text, images, how) => send(text, images, how),
  onStop: () => thread.stop(),
  onEditLast: editLast,
  onDraft: (draft, images) => words.keepDraft(thread.state.id, draft, images),
  onTold: (words) => {
    element("status").textContent = words;
  },
  onProblem: (words) => told(Promise.reject(new Error(words))),
});
const drafts = new Drafts((id, before, after) => words.changedElsewhere(id, before, after));
const forms = new FormKeeper(element("log"), (kept) => drafts.keep(thread.state.id, { forms: kept }));
const session = new Session(new LoginDialog(element("login")), {
  onUser({ id, method, display_name: name, approves }) {
    page.asker = method === "off" ? null : name;
    list.isShared = method !== "off";
    if (approves) approvals.refresh();
    models.load();
    words.start(id, showWords);
    paintAll();
  },
  onEnd: leave,
});
const models = new Models(() => {
  thread.model = models.chosen;
  composer.attachments.allow(models.images, models.refusal);
  paintBar();
});
const list = new ThreadList(() => {
  paintList();
  noticeDecision();
  noticeTitle();
});
const search = new ThreadSearch(
  () => paintList(),
  (words) => {
    element("status").textContent = words;
  },
);
const searchField = new SearchField(element("search"), element("thread-list"), {
  onWords: (words) => search.look(words),
  onLeave: () => panels.closeDrawer() || composer.focus(),
});
const approvals = new WaitingApprovals(() => {
  paintApprovals();
  paintBar();
});
const thread = new ThreadStore({
  onChange: () => paintThread(),
  onStarted(id, isNew) {
    if (isNew) drafts.forget(null);
    composer.taken();
    if (page.editing === null) drafts.keep(id, { edit: null });
    else page.editing.version = thread.state.version;
    showId(id, { replace: !isNew });
    showVersion(null);
    list.refresh();
    tell({ type: "run", id });
  },
  onSettled(state) {
    list.refresh();
    if (page.model?.titles && state.messages.length <= 2) list.awaitTitle(state.id);
    tell({ type: "run", id: state.id });
    if (page.isBehind) catchUp();
    if (state.interrupts.length || isAsked(state)) focusQuestion();
  },
  onEvent: (event) => inspector.event(event),
  onRequest: (body) => inspector.request(body),
  onRefused: (text, images) => composer.restore(text, images),
  onEditRefused({ id, text }, error) {
    const { version } = thread.state;
    page.editing = { id, text, version, error: sentenceOf(error) };
    checkEditing();
    paintThread();
    requestAnimationFrame(() => focusEditor());
  },
  onOutbox: (id, outbox, before) => words.keepOutbox(id, outbox, before),
  isKept: (id, item) => drafts.isKept(id, item),
  onWaits: () => composer.taken(),
  onNotLoaded: (error) => told(Promise.reject(new Error(sentenceOf(error)))),
});

const words = new Words({ drafts, composer, thread, told });

const isAsked = ({ messages }) => messages.at(-1)?.parts.some((part) => part.state === "pending");

const reading = new Reading({
  thread,
  follower,
  log: element("log"),
  scroller: element("scroller"),
  status: element("status"),
  afterPaint: (then) => afterPaint(then),
  told,
  onWhole() {
    page.limit = Infinity;
    paintThread();
  },
});

const versionWalk = new VersionWalk({
  thread,
  follower,
  log: element("log"),
  status: element("status"),
  afterPaint: (then) => afterPaint(then),
});

const threadActions = {
  onAnswer: (callId, result) => {
    follower.pin();
    composer.focus();
    thread.answer(callId, result);
  },
  async onDecide(id, decision) {
    follower.pin();
    const decided = thread.decide(id, decision);
    afterPaint(() => (element("log").querySelector(APPROVAL) ?? composer).focus());
    await decided;
    if (thread.state.decisions[id]?.state === "failed") focusApproval(id);
  },
  async onAnswerInterrupts(values) {
    follower.pin();
    composer.focus();
    await thread.answerInterrupts(values);
    if (thread.state.resuming) focusQuestion();
  },
  onEdit(messageId) {
    const { messages, version } = thread.state;
    const message = messages.find(({ id }) => id === messageId);
    page.editing = messageId === null ? null : { id: messageId, text: textOf(message), version };
    drafts.keep(thread.state.id, { edit: page.editing });
    paintThread();
    if (messageId === null) composer.focus();
    else requestAnimationFrame(() => focusEditor());
  },
  onEditInput(text) {
    page.editing.text = text;
    drafts.keep(thread.state.id, { edit: page.editing });
  },
  onEdited(messageId, text) {
    const { version } = page.editing;
    if (thread.busy) {
      page.editing = { ...page.editing, error: "A reply is being written. Stop it, or wait for its end." };
      paintThread();
      return;
    }
    page.editing = null;
    follower.pin();
    composer.focus();
    thread.edit(messageId, text, version);
  },
  async onRegenerate(messageId) {
    const { messages } = thread.state;
    const dropped = messages.slice(messages.findIndex(({ id }) => id === messageId) + 1);
    if (dropped.length && !(await confirmed(element("confirm"), droppedWords(dropped), "Regenerate"))) return;
    if (thread.busy) return;
    follower.pin();
    composer.focus();
    thread.regenerate(messageId);
  },
  async onEarlier() {
    await thread.earlier();
    afterPaint(() => {
      const isLost = document.activeElement === document.body;
      if (isLost) element("scroller").focus({ preventScroll: true });
    });
  },
  onLook: (version, message, step) => versionWalk.go(version, message, step),
  onLookBack: () => versionWalk.back(),
  onExample: (text) => send(text),
  onRetry: () => thread.retry(),
  onResume: () => thread.resume(),
  onWithdraw: (item) => words.takeBack(item),
  onDiscard(item) {
    thread.withdraw(item);
    composer.focus();
  },
  onSendNow(item) {
    follower.pin();
    composer.focus();
    thread.sendNow(item);
  },
  async onNew() {
    const { text } = composer;
    const images = composer.attachments.take();
    drafts.forget(thread.state.id);
    await open(null);
    if (text.trim() || images.length) composer.restore(text, images);
    composer.focus();
  },
};

const listActions = new ListActions({
  list,
  search,
  thread,
  drafts,
  field: composer,
  node: element("thread-list"),
  undoLine: new UndoLine(element("undo"), element("status")),
  told,
  confirmed: (question) => confirmed(element("confirm"), question),
  undoSeconds: () => page.model?.undo_seconds ?? 0,
  afterPaint: (then) => afterPaint(then),
  onOpen: open,
  onRename(id) {
    page.renaming = id;
    paintList();
  },
  onNothingLeft: () => element("new").focus(),
});

const paintThread = painter(() => {
  const { state } = thread;
  follower.hasEnd = state.messages.length > 0;
  checkEditing();
  renderThread(state);
  forms.restore(state.run === null && !state.loading && state.messages.length > 0);
  render(noteView(state.run, page.failure), element("connection"));
  element("latest").hidden = follower.pinned;
  composer.show(thread.busy, Boolean(state.run?.stopping));
  announcer.follow(state);
  if (page.isSaved !== isSaved(state)) paintBar();
  const title = state.id === null ? "New thread" : state.title || titleOf(state);
  element("title").textContent = title;
  document.title = `${title} · turnstream`;
});

/** What failed to load is loaded only when it is asked for. */
function readOn() {
  if (follower.isNearTop && !thread.state.earlierFailed) thread.earlier();
}

/** Messages that are put before those which are seen move none of these. */
function renderThread(state) {
  const change = () => render(threadView(state, page, threadActions), element("log"));
  const first = element("log").querySelector("article");
  const key = state.messages[0]?.key;
  const isEarlier = page.firstKey !== key && state.messages.some((one) => one.key === page.firstKey);
  page.firstKey = key;
  if (isEarlier && first && !follower.pinned) follower.keep(first, change);
  else change();
}

const roving = new RovingList(element("thread-list"), {
  F2: ({ dataset }) => listActions.onRename(dataset.thread),
  Delete: ({ dataset: { thread: id } }) => {
    const { title } = list.state.threads.find((entry) => entry.id === id) ?? thread.state;
    listActions.onForget(id, title);
  },
});

/** A long list is not made anew after each search. */
const rows = { all: document.createElement("div"), found: document.createElement("div") };

const paintList = painter(() => {
  const { id, title, missing, messages, runState } = thread.state;
  const open = id && !missing && messages.length ? { id, title, run_state: runState } : null;
  const about = { openId: id, open, renaming: page.renaming };
  const view = search.isOn ? foundView(search.state, id, listActions) : threadsView(list.state, about, listActions);
  const shown = search.isOn ? rows.found : rows.all;
  render(view, shown);
  if (!shown.isConnected) element("thread-list").replaceChildren(shown);
  const row = listActions.linkOf(id);
  if (row && page.shownId !== id) row.scrollIntoView({ block: "nearest" });
  page.shownId = row ? id : null;
  roving.update();
});

const isSaved = ({ id, messages }) => id !== null && messages.length > 0;

const paintBar = painter(() => {
  const about = {
    model: page.model,
    models,
    inspecting: panels.isOpen("inspector"),
    approving: panels.isOpen("approvals"),
    waiting: session.user?.approves ? approvals.state.calls.length : null,
    saved: (page.isSaved = isSaved(thread.state)),
  };
  const actions = {
    onModel: (name) => models.choose(name),
    onTheme: changeTheme,
    onKeys: keyActions.onKeys,
    onExport: (format) => told(import("./export.js").then(({ exportThread }) => exportThread(thread.state, format))),
    onInspect: () => panels.toggle("inspector"),
    onApprove: () => {
      panels.toggle("approvals");
      if (panels.isOpen("approvals")) afterPaint(() => listOfApprovals().focus());
    },
  };
  render(barView(about, actions), element("bar"));
});

const paintAccount = painter(() => {
  const actions = { onLogOut: () => told(session.logOut()) };
  render(accountView(session.user, actions), element("account"));
});

const paintApprovals = painter(() => {
  const actions = {
    onDecide: decideForOthers,
    onReload: () => approvals.refresh(),
    onClose: () => {
      panels.show("approvals", false);
      element("approve")?.focus();
    },
  };
  if (panels.isOpen("approvals")) render(approvalsView(approvals.state, page.tools, actions), element("approvals"));
});

function paintAll() {
  paintThread();
  paintList();
  paintAccount();
  paintApprovals();
  inspector.paint();
  paintBar();
}

function titleOf({ messages }) {
  const [first] = messages;
  const said = first && (textOf(first) || first.parts.find(({ alt }) => alt)?.alt);
  return said ? said.slice(0, 60) : "Thread";
}

/** Nothing stays of whoever was logged in: neither on the page, nor in its memory, nor in storage. */
function leave() {
  document.body.hidden = true;
  drafts.clear();
  reading.clear();
  location.replace(urlOf(null));
}

function changeTheme() {
  nextTheme();
  paintBar();
}

/** @param {{stops?: boolean}} [how]  see `ThreadStore.send` */
function send(text, images, how) {
  if (thread.state.missing) {
    composer.restore(text, images);
    element("log").querySelector("button")?.focus();
    return;
  }
  follower.pin();
  thread.send(text, images, how);
}

/** What was written in a thread and not sent. */
function showWords(id) {
  const { draft, images, edit, forms: kept } = drafts.of(id);
  composer.open(draft, images);
  forms.open(kept);
  page.editing = edit;
  paintThread();
}

/** The message that is edited may be gone by now: what was typed goes to the field. */
function checkEditing() {
  const { messages, loading, run, hasEarlier } = thread.state;
  if (page.editing === null || loading || run || !messages.length || hasEarlier) return;
  if (messages.some(({ id }) => id === page.editing.id)) return;
  const { text, error } = page.editing;
  page.editing = null;
  drafts.keep(thread.state.id, { edit: null });
  composer.restore(text);
  told(Promise.reject(new Error(error ?? "The message that you edit is gone. What you have typed is in the field.")));
}

function droppedWords(messages) {
  const count = messages.length === 1 ? "The message" : `The ${messages.length} messages`;
  const first = messages.map(textOf).find(Boolean) ?? "";
  const quoted = first.length > 60 ? `${first.slice(0, 60)}…` : first;
  const stays = messages.length === 1 ? "stays" : "stay";
  return `Regenerate this reply? ${count} after it${quoted ? `, from “${quoted}” on,` : ""} ${stays} with this version.`;
}

/** @param {{isBack?: boolean, found?: object | null}} [from]  see `Reading.begin` */
async function open(id, { isBack = false, found = null } = {}) {
  reading.keep();
  if (!isBack) showId(id);
  announcer.reset();
  panels.closeDrawer();
  follower.pin();
  page.limit = FIRST_PAINT;
  const loaded = words.opened(id, isBack ? currentVersion() : null);
  showWords(id);
  paintList();
  await loaded;
  if (thread.state.id !== id) return;
  showVersion(thread.state.looksAt);
  paintList();
  follower.pin();
  reading.begin(id, { isBack, found });
  if (!found && matchMedia("(hover: hover)").matches) composer.focus();
}

/** The message that was written last: one that is queued, or the last of the thread. */
function editLast() {
  const queued = thread.state.outbox.findLast((item) => item.queued && !item.isSending);
  if (queued) {
    words.takeBack(queued);
    return true;
  }
  const last = thread.state.messages.findLast(({ role }) => role === "user");
  if (!last?.id || thread.busy) return false;
  threadActions.onEdit(last.id);
  return true;
}

function focusEditor() {
  const field = document.querySelector(".editor textarea");
  field?.focus();
  field?.setSelectionRange(field.value.length, field.value.length);
}

/**
 * The next thing to do is to answer; but nobody who is typing is taken away from it. Of a call that
 * waits for an approval the form itself has the focus: no key that is struck then decides.
 */
function focusQuestion() {
  if (!composer.isEmpty) return;
  afterPaint(() => {
    const next = element("log").querySelector(`form.question:not(.approval) ${FIELD}, ${APPROVAL}`);
    next?.focus({ preventScroll: true });
    if (next?.matches(APPROVAL)) follower.reveal(next);
    else follower.follow();
  });
}

const FIELD = ":is(input, textarea, button)";
const APPROVAL = "form.approval[aria-busy=false]";

/** A decision that was not taken: back to its form, unless somebody is elsewhere by now. */
function focusApproval(id) {
  afterPaint(() => {
    const { activeElement } = document;
    const isElsewhere = ![document.body, element("message"), listOfApprovals()].includes(activeElement);
    if (isElsewhere || (activeElement === element("message") && !composer.isEmpty)) return;
    document.querySelector(`form[data-approval="${CSS.escape(id)}"]`)?.focus();
  });
}

const listOfApprovals = () => element("approvals").querySelector(".approvals-list");

/** The panel of the approvals keeps the focus. */
async function decideForOthers(call, decision) {
  const decided = approvals.decide(call, decision);
  afterPaint(() => listOfApprovals().focus());
  if (await decided) tell({ type: "threads" });
  else focusApproval(call.id);
}

const afterPaint = (then) => requestAnimationFrame(() => requestAnimationFrame(then));

/** Whether it went well; if not, what went wrong stands above the field for a while. */
async function told(promise) {
  try {
    await promise;
    return true;
  } catch (error) {
    page.failure = error.message;
    element("status").textContent = error.message;
    paintThread();
    setTimeout(() => {
      page.failure = null;
      paintThread();
    }, 6000);
    return false;
  }
}

const keyActions = {
  async onNew() {
    await open(null);
    composer.focus();
  },
  onSearch() {
    panels.show("threads", true);
    const field = element("threads").querySelector("input[type=search]");
    if (field) field.focus();
    else roving.focus();
  },
  onThreads() {
    panels.show("threads", true);
    roving.focus();
  },
  onField: () => composer.focus(),
  onCopy() {
    const buttons = element("log").querySelectorAll(".message.assistant .actions [aria-label^='Copy']");
    [...buttons].at(-1)?.click();
  },
  onEditLast: editLast,
  async onKeys() {
    const { showKeys } = await import("./keys-dialog.js");
    showKeys(element("keys"));
  },
};

function listen() {
  listenForKeys(keyActions);
  element("new").addEventListener("click", () => open(null));
  element("menu").addEventListener("click", () => panels.toggle("threads"));
  element("latest").addEventListener("click", () => follower.pin());
  element("scroller").addEventListener("scroll", readOn, { passive: true });
  element("log").addEventListener("click", ({ target }) => {
    const button = target.closest?.(".copy-code");
    if (button) copy(button.closest(".code").querySelector("code").textContent, button);
  });
  addEventListener("beforeprint", () => lighten(true));
  addEventListener("afterprint", () => lighten(false));
  addEventListener("popstate", () => open(currentId(), { isBack: true }));
  addEventListener("keydown", (event) => {
    const isOpen = document.querySelector("dialog[open], :popover-open");
    if (event.key !== "Escape" || isComposing(event) || event.defaultPrevented || isOpen) return;
    if (panels.closeDrawer()) return;
    if (thread.busy) thread.stop();
    else if (event.target === element("message")) element("scroller").focus({ preventScroll: true });
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    session.check();
    catchUp();
  });
  addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    if (document.body.hidden) location.reload();
    else session.check();
  });
  addEventListener("pagehide", () => {
    reading.keep();
    if (!session.isAsking) thread.pause();
  });
  element("log").addEventListener("copied", ({ detail }) => {
    element("status").textContent = detail === "copied" ? "Copied" : "Copying failed";
  });
  addEventListener("online", () => thread.comeBack());
  onWord(({ type, id, waiting }) => {
    if (!["run", "threads", "gone"].includes(type)) return;
    list.refresh();
    search.refresh();
    if (type === "run" && id === thread.state.id) catchUp();
    if (type === "gone") words.deletedElsewhere(id, waiting);
  });
}

/** Somebody else may have decided on a call of this thread. */
function noticeDecision() {
  const entry = list.state.threads.find(({ id }) => id === thread.state.id);
  if (entry && entry.run_state !== "waiting" && isAsked(thread.state)) catchUp();
}

/** The open thread may have got a title, by a model or in another tab. */
function noticeTitle() {
  const { id, title: before } = thread.state;
  const title = list.state.threads.find((entry) => entry.id === id)?.title;
  if (title === undefined || title === before) return;
  thread.rename(id, title);
  if (before) tell({ type: "threads" });
}

/** Another tab may have gone on with this thread, and left what is queued. */
async function catchUp() {
  page.isBehind = thread.busy;
  if (!thread.busy && thread.state.id !== null) await thread.refresh();
  thread.flush();
}

async function learnModel() {
  page.model = await api.health();
  const { examples } = page.model;
  if (Array.isArray(examples) && examples.length) page.examples = examples.map(String);
  paintBar();
  paintThread();
}

listen();
paintAll();
session.check();
list.refresh();
open(currentId(), { isBack: true, found: takeMessage() });
learnModel().catch(() => {});
