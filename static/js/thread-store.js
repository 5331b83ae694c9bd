/**
 * The open thread: what it shows is in `state`; how it is read from the server, and changed, stands
 * here and in its parts: messages that are sent (`sender`) and those that wait on the server
 * (`queue`), answers (`answers`), what begins a run (`posts`), the run that is live (`run`).
 */

import * as api from "./api.js";
import { Answers } from "./answers.js";
import { decisionsBut } from "./approvals.js";
import { prepare } from "./components.js";
import { keyed } from "./interrupts.js";
import { LiveRun } from "./live-run.js";
import { hydrated, joined, newAnswer, newQuestion, upTo } from "./messages.js";
import { imagesOf } from "./parts.js";
import { Posts } from "./posts.js";
import { Queue, queueOf } from "./queue.js";
import { Sender } from "./sender.js";
import { EMPTY, NO_RUN, isOutdated, placeOf } from "./thread-state.js";
import { uiIn } from "./ui-messages.js";
import { endOf } from "./versions.js";

/** Nothing answers, or what stands before the server says that it does not. */
const AWAY = [0, 502, 504];

export class ThreadStore {
  state = EMPTY;
  /** The model that new turns name; null: the server's. A turn that goes on keeps its own. */
  model = null;
  /** The graph that a new thread names; null: the server's default. */
  graph = null;
  run = new LiveRun(this);
  posts = new Posts(this);
  queue = new Queue(this);
  sender = new Sender(this);
  answers = new Answers(this);

  /**
   * @param {{onChange, onStarted, onSettled, onEvent, onRequest, onRefused, onEditRefused,
   *   onResumed, onOutbox, onQueue, isKept, onTakenLate, onWaits, onNotLoaded}} listeners
   */
  constructor(listeners) {
    this.listeners = listeners;
  }

  /** Take the place of parts of the state. For this store's parts. */
  set(changes) {
    this.state = { ...this.state, ...changes };
    this.listeners.onChange();
  }

  get busy() {
    return this.state.run !== null;
  }

  /** The model, as a body names it. */
  get named() {
    return this.model === null ? {} : { model: this.model };
  }

  /**
   * Show a thread, and go on with its live run if there is one; null: a new thread.
   *
   * @param {Record<string, any>[]} outbox  messages that are still to be sent there
   * @param {string | null} version  that is looked at
   */
  async open(id, outbox = [], version = null) {
    this.leave();
    this.set({ ...EMPTY, id, outbox, looksAt: version });
    await this.reload();
  }

  /**
   * Look at the branch that has a version of a message; null: at the thread. A live run goes on.
   * The thread stays as it is until something is sent from here.
   */
  async look(version) {
    this.sender.pause();
    this.leave();
    const { id, looksAt: before, interrupts } = this.state;
    const outbox = this.state.outbox.map(({ isSending: _, ...item }) => item);
    this.set({ ...NO_RUN, outbox, looksAt: version });
    await this.reload();
    const isSame = this.state.id === id && this.state.looksAt === version;
    if (isSame && this.state.problem) this.set({ looksAt: before, interrupts });
  }

  /** Load the thread, and send what waits in it. */
  async reload() {
    const { id } = this.state;
    this.set({ loading: id !== null });
    await this.refresh();
    if (this.state.id === id && !this.state.problem) this.sender.flush();
  }

  /** Load the thread again: what the server says holds. */
  async refresh() {
    const { id, looksAt } = this.state;
    if (id === null) return;
    const { reader } = this.run;
    const isSame = () => this.state.id === id && this.state.looksAt === looksAt;
    let loaded;
    try {
      loaded = await api.thread(id, { version: looksAt });
      await prepare();
    } catch (error) {
      if (isSame()) this.#notLoaded(error);
      return;
    }
    if (!isSame() || this.run.reader !== reader || this.busy) return;
    this.#hydrate(loaded);
    if (loaded.run) this.run.attach(loaded);
    else this.queue.watch();
  }

  #hydrate(loaded) {
    const shown = joined(loaded, this.state.messages, this.state.hasEarlier);
    const interrupts = keyed(loaded.interrupts ?? [], this.state.interrupts);
    const { id, title, graph = null, run_id: version, version: looksAt = null } = loaded;
    const runState = looksAt === null ? loaded.run_state : endOf(loaded.messages);
    const about = { id, title, graph, runState, version, looksAt, loading: false, missing: false };
    // What was to be tried again is repaired.
    const problem = this.state.problem?.retry ? null : this.state.problem;
    const ui = uiIn(loaded.state);
    this.set({ ...about, ...shown, ui, interrupts, problem, queue: queueOf(loaded.queue) });
    this.sender.loaded();
  }

  #notLoaded(error) {
    if (error.code === "unknown_version") {
      this.look(null);
      this.listeners.onNotLoaded(error);
      return;
    }
    const missing = error.status === 404;
    this.set({ loading: false, missing });
    if (missing) this.sender.gone();
    else this.fail(error, () => this.reload());
  }

  /** Load the messages before those that are shown. */
  async earlier() {
    const { id, looksAt, messages, hasEarlier, loadingEarlier } = this.state;
    const first = messages[0];
    if (!hasEarlier || loadingEarlier || !first?.id) return;
    this.set({ loadingEarlier: true, earlierFailed: false });
    const isSame = () => this.state.id === id && this.state.messages[0]?.key === first.key;
    let page = null;
    try {
      page = await api.thread(id, { before: first.id, version: looksAt });
    } catch (error) {
      if (isSame()) this.#notEarlier(error);
    }
    if (this.state.id !== id) return;
    this.set({ loadingEarlier: false });
    if (page === null || !isSame()) return;
    this.set({
      messages: [...hydrated(page.messages, []), ...this.state.messages],
      hasEarlier: page.has_earlier,
    });
  }

  /** The thread has changed meanwhile: what it shows is loaded anew. */
  #notEarlier(error) {
    if (error.code === "unknown_message") {
      this.refresh();
      return;
    }
    this.set({ earlierFailed: true });
    this.listeners.onNotLoaded(error);
  }

  /** @param {string} [version]  the one that the edit was begun on */
  edit(messageId, text, version) {
    const before = this.state.messages;
    const kept = upTo(before, messageId);
    const images = imagesOf(before[kept.length] ?? { parts: [] });
    this.set({ messages: [...kept, newQuestion(text, images), newAnswer()] });
    const parts = [...images, ...(text ? [{ type: "text", text }] : [])];
    const edit = { message_id: messageId, message: images.length ? { parts } : text };
    const body = { edit, ...placeOf(this.state), based_on: version, ...this.named };
    const onRefused = (error, messages) =>
      this.#notEdited(error, { id: messageId, text }, messages);
    return this.posts.post(body, { before, learns: true, words: { text }, onRefused });
  }

  /**
   * The editor opens again with what was typed and why; if the thread has changed, on what it is
   * now.
   */
  async #notEdited(error, edited, messages) {
    const { id } = this.state;
    this.set({ messages });
    if (isOutdated(error)) await this.refresh();
    if (this.state.id === id) this.listeners.onEditRefused(edited, error);
  }

  /** @param {string} version  the last run of the thread that was shown */
  regenerate(messageId, version) {
    const before = this.state.messages;
    const body = {
      regenerate: messageId,
      ...placeOf(this.state),
      based_on: version,
      ...this.named,
    };
    this.set({ messages: [...upTo(before, messageId), newAnswer()] });
    return this.posts.post(body, { before, learns: true });
  }

  /** Go on after a stop, an error or a crash, from where the server says that the thread is. */
  async resume() {
    const { id, looksAt } = this.state;
    await this.refresh();
    const isSame = this.state.id === id && this.state.looksAt === looksAt;
    if (!isSame || this.busy || this.state.problem) return;
    const body = { continue: true, ...placeOf(this.state) };
    await this.posts.post(body, { before: this.withAnswer(), learns: true });
  }

  /**
   * Have the thread end with a message that a run can go on with; returns what was there before.
   */
  withAnswer() {
    const before = this.state.messages;
    if (before.at(-1)?.role !== "assistant") this.set({ messages: [...before, newAnswer()] });
    return before;
  }

  /**
   * Who stops a run means the decisions that would follow it, too. One that is not taken yet is
   * stopped then.
   */
  async stop() {
    const { id, run, decisions } = this.state;
    if (!run) return;
    this.set({ run: { ...run, stopping: true }, decisions: decisionsBut(decisions, "waiting") });
    if (run.id === null) {
      this.posts.stopLatest();
      return;
    }
    try {
      await api.stop(id, run.id);
    } catch (error) {
      if (!this.busy) return;
      this.set({ run: { ...this.state.run, stopping: false } });
      this.fail(error, () => (this.busy ? this.stop() : this.sender.flush()));
    }
  }

  /** The live run is over: the next one may have begun. */
  async settled() {
    this.listeners.onSettled(this.state);
    await this.queue.look();
    if (!this.state.problem) this.sender.flush();
  }

  /** The server may be in reach again. */
  comeBack() {
    return this.state.problem?.isUnreachable ? this.retry() : this.sender.flush();
  }

  retry() {
    const { problem } = this.state;
    this.set({ problem: null });
    return problem?.retry?.();
  }

  rename(id, title) {
    if (this.state.id === id) this.set({ title });
  }

  /** @param {import("./api.js").Problem} error @param {(() => void) | null} retry */
  fail(error, retry) {
    const isUnreachable = AWAY.includes(error.status) && retry !== null;
    const problem = {
      code: error.code ?? "failed",
      detail: error.message,
      retry,
      isUnreachable,
    };
    this.set({ problem });
    if (isUnreachable) this.sender.later();
  }

  /** Nothing that is on its way concerns what is shown from now on. */
  leave() {
    this.queue.leave();
    this.sender.leave();
    this.run.leave();
  }
}
