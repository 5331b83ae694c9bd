/**
 * The open thread: its messages, its live run, and all that a person can do with it.
 * `state` is replaced, never changed in place.
 */

import * as api from "./api.js";
import { imageParts } from "./attachments.js";
import { isOnItsWay, undecided } from "./approvals.js";
import { keyed } from "./interrupts.js";
import { hydrated, joined, newAnswer, newQuestion, restored, settledIn, upTo } from "./messages.js";
import { bodyOf, isWhole, marked, newItem, notSaid, without } from "./outbox.js";
import { imagesOf, toAccumulated } from "./parts.js";
import { alone, atOnce, basedOn, changed, following, holdOf, ordered, queued } from "./queue.js";
import { DONE, readRun } from "./run-stream.js";
import { sentenceOf } from "./sentences.js";
import { Turn } from "./turn.js";
import { endOf, withVersions } from "./versions.js";

const EMPTY = {
  id: null,
  title: "",
  /** From some message on to the last; `hasEarlier`: the thread has others before these. */
  messages: [],
  hasEarlier: false,
  loadingEarlier: false,
  earlierFailed: false,
  runState: null,
  /** The id of its last run, as far as it is known here: what an edit is made on. */
  version: undefined,
  /** The version of a message whose branch is shown in the place of the thread; null: the thread is. */
  looksAt: null,
  /** Messages that could not be sent yet, then those that are queued; see `outbox.js`, `queue.js`. */
  outbox: [],
  loading: false,
  missing: false,
  run: null,
  problem: null,
  answers: {},
  /** Decisions on calls that wait for an approval, by its id, until the server has them. */
  decisions: {},
  /** What the graph stopped to ask, and the answers to it that are on their way or failed. */
  interrupts: [],
  resuming: null,
};

const MAX_DECISION_TRIES = 3;
const RETRY_MS = 10_000;
const MAX_RETRY_MS = 60_000;
const DECIDED = { message: "Somebody else has decided on this call, or it waits no longer." };

/** The thread is not what the page shows. */
const isOutdated = ({ status, code }) => status === 409 || code === "unknown_version";

export class ThreadStore {
  state = EMPTY;
  /** The model that new turns name; null: the server's. A turn that goes on keeps its own. */
  model = null;
  #reader = null;
  #retryTimer;
  #retryMs = RETRY_MS;
  /** The message that was sent last. */
  #posted = null;
  /** The message that the server has not answered for yet. */
  #sending = null;

  /**
   * @param {{onChange, onStarted, onSettled, onEvent, onRequest, onRefused, onEditRefused, onOutbox, isKept,
   *   onWaits, onNotLoaded}} listeners
   */
  constructor(listeners) {
    this.listeners = listeners;
  }

  get busy() {
    return this.state.run !== null;
  }

  /**
   * Show a thread, and go on with its live run if there is one; null: a new thread.
   *
   * @param {object[]} outbox  messages that are still to be sent there
   * @param {string | null} version  that is looked at
   */
  async open(id, outbox = [], version = null) {
    this.#leave();
    this.#set({ ...EMPTY, id, loading: id !== null, outbox, looksAt: version });
    await this.#reload();
  }

  /**
   * Look at the branch that has a version of a message; null: at the thread. A live run goes on. The
   * thread stays as it is until something is sent from here.
   */
  async look(version) {
    this.#leave();
    const { id, looksAt: before } = this.state;
    const outbox = this.state.outbox.map(({ isSending: _, ...item }) => item);
    const nothing = { run: null, problem: null, answers: {}, decisions: {}, interrupts: [], resuming: null };
    this.#set({ ...this.state, ...nothing, outbox, looksAt: version, loading: true });
    await this.#reload();
    const isSame = this.state.id === id && this.state.looksAt === version;
    if (isSame && this.state.problem) this.#set({ ...this.state, looksAt: before });
  }

  async #reload() {
    const { id } = this.state;
    await this.refresh();
    if (this.state.id === id && !this.state.problem) this.flush();
  }

  /** Load the thread again: what the server says holds. */
  async refresh() {
    const { id, looksAt } = this.state;
    if (id === null) return;
    const reader = this.#reader;
    let loaded;
    try {
      loaded = await api.thread(id, { version: looksAt });
    } catch (error) {
      if (this.state.id === id && this.state.looksAt === looksAt) this.#notLoaded(error);
      return;
    }
    if (this.state.id !== id || this.state.looksAt !== looksAt || this.#reader !== reader || this.busy) return;
    this.#hydrate(loaded);
    if (loaded.run) this.#attach(loaded);
  }

  /** Load the messages before those that are shown. */
  async earlier() {
    const { id, looksAt, messages, hasEarlier, loadingEarlier } = this.state;
    const first = messages[0];
    if (!hasEarlier || loadingEarlier || !first?.id) return;
    this.#set({ ...this.state, loadingEarlier: true, earlierFailed: false });
    const isSame = () => this.state.id === id && this.state.messages[0]?.key === first.key;
    let page = null;
    try {
      page = await api.thread(id, { before: first.id, version: looksAt });
    } catch (error) {
      if (isSame()) this.#notEarlier(error);
    }
    if (this.state.id !== id) return;
    this.#set({ ...this.state, loadingEarlier: false });
    if (page === null || !isSame()) return;
    const earlier = [...hydrated(page.messages, []), ...this.state.messages];
    this.#set({ ...this.state, messages: earlier, hasEarlier: page.has_earlier });
  }

  /** The thread has changed meanwhile: what it shows is loaded anew. */
  #notEarlier(error) {
    if (error.code === "unknown_message") {
      this.refresh();
      return;
    }
    this.#set({ ...this.state, earlierFailed: true });
    this.listeners.onNotLoaded(error);
  }

  /**
   * A message goes behind those that wait to be sent. While a run is live it is queued.
   *
   * @param {object[]} [images]  see `attachments.js`
   * @param {{stops?: boolean}} [how]  it stops the live run instead
   */
  send(text, images = [], { stops = false } = {}) {
    const { id, outbox, run, looksAt, loading } = this.state;
    const isNext = outbox.every((one) => one.queued);
    const before = [...(run && this.#posted ? [this.#posted] : []), ...outbox];
    const item = newItem(text, id, before, { ...this.#named, ...(isNext ? this.#there : {}) }, images);
    if (run) return this.#queue(item, stops && run.id !== null);
    // What is sent while a version is loaded stands behind that one.
    const isEarly = looksAt !== null && loading;
    if (isNext && !isEarly) return this.#deliver(item);
    this.#outboxIs(ordered([...outbox, item]));
    if (isEarly) this.listeners.onWaits();
    return this.flush();
  }

  #queue(item, stops) {
    const { outbox, run } = this.state;
    this.#outboxIs(ordered([...outbox, stops ? item : queued(item, run.id)]));
    this.listeners.onWaits();
    return stops ? this.stop() : undefined;
  }

  /** A queued message goes next; a live run is stopped for it. */
  sendNow({ id }) {
    this.#outboxIs(ordered(this.state.outbox.map((item) => (item.id === id ? atOnce(item) : item))));
    return this.busy ? this.stop() : this.flush();
  }

  /**
   * Send the first of the messages that wait, unless a run is live; its end sends the next. A queued
   * one waits until nothing holds it.
   */
  flush() {
    const { id } = this.state;
    const first = () => (this.state.id === id ? this.#sendable : undefined);
    if (!first()) return undefined;
    return alone(id, (done) => {
      const item = first();
      return item && this.listeners.isKept(id, item) ? this.#deliver(item, done) : undefined;
    });
  }

  get #sendable() {
    const { outbox, loading, missing, looksAt } = this.state;
    if (this.busy || loading || missing) return undefined;
    // Another one would stand at the wrong place.
    if (looksAt !== null && outbox[0]?.body.version !== looksAt) return undefined;
    const [first] = outbox;
    return first && isWhole(first) && !(first.queued && holdOf(this.state)) ? first : undefined;
  }

  /** Messages of an earlier visit, of which it is known only now that they may be sent. */
  take(outbox) {
    if (!outbox.length) return;
    const all = [...outbox, ...this.state.outbox];
    this.#outboxIs(notSaid(all, this.state.messages), all);
    this.flush();
  }

  /** Another tab of the browser has changed what waits in this thread. */
  changedElsewhere(before, after) {
    this.#set({ ...this.state, outbox: changed(this.state.outbox, before, after) });
  }

  /**
   * The page is left: a message that is on its way waits for the next visit, which sends it again as it
   * was. It may have come through.
   */
  pause() {
    const item = this.#sending;
    if (!item) return;
    this.#sending = null;
    const others = without(this.state.outbox, item.id);
    this.#outboxIs([{ ...item, isSending: true }, ...others], others);
    this.listeners.onWaits();
  }

  /** Another tab has deleted the thread, and these messages that wait there. */
  deletedElsewhere(waiting) {
    const item = this.#sending;
    const known = new Set([item, ...this.state.outbox].map((one) => one?.id));
    const outbox = [...this.state.outbox, ...waiting.filter(({ id }) => !known.has(id))];
    this.#leave();
    this.#set({ ...this.state, run: null, problem: null, loading: false, outbox });
    this.#gone({ item });
  }

  /** Do not send a message that waits. */
  withdraw(item) {
    this.#outboxIs(without(this.state.outbox, item.id));
  }

  /** The network is back. */
  comeBack() {
    if (this.state.problem?.isUnreachable) return this.retry();
    return this.flush();
  }

  /** @param {() => void} [onTaken]  the server has taken the message, or has not */
  #deliver(waiting, onTaken) {
    const before = this.state.messages;
    const item = basedOn(waiting);
    if (this.state.outbox.includes(waiting)) {
      if (item !== waiting) this.#outboxIs(this.state.outbox.map((one) => (one === waiting ? item : one)));
      this.#set({ ...this.state, outbox: marked(this.state.outbox, item, true) });
    }
    this.#posted = item;
    this.#set({ ...this.state, messages: [...before, newQuestion(item.text, imageParts(item.images)), newAnswer()] });
    return this.#post(bodyOf(item), { before, item, onTaken }, item.key);
  }

  /** @param {object[]} [before]  what is kept of it */
  #outboxIs(outbox, before = this.state.outbox) {
    const plain = (items) => items.map(({ isSending: _, ...item }) => item);
    this.#set({ ...this.state, outbox });
    this.listeners.onOutbox(this.state.id, plain(outbox), plain(before));
  }

  /** @param {string} [version]  the one that the edit was begun on */
  edit(messageId, text, version) {
    const before = this.state.messages;
    const kept = upTo(before, messageId);
    const images = imagesOf(before[kept.length] ?? { parts: [] });
    this.#set({ ...this.state, messages: [...kept, newQuestion(text, images), newAnswer()] });
    const parts = [...images, ...(text ? [{ type: "text", text }] : [])];
    const edit = { message_id: messageId, message: images.length ? { parts } : text };
    const body = { edit, ...this.#there, based_on: version, ...this.#named };
    return this.#post(body, { before, edited: { id: messageId, text }, branches: true });
  }

  regenerate(messageId) {
    const before = this.state.messages;
    this.#set({ ...this.state, messages: [...upTo(before, messageId), newAnswer()] });
    const body = { regenerate: messageId, ...this.#there, based_on: this.state.version };
    return this.#post({ ...body, ...this.#named }, { before, branches: true });
  }

  /** Go on after a stop, an error or a crash, from where the server says that the thread is. */
  async resume() {
    await this.refresh();
    if (this.busy || this.state.problem) return;
    await this.#post({ continue: true, ...this.#there }, { before: this.#withAnswer() });
  }

  /** Answer a question; the answer is kept until the server has it. */
  async answer(callId, result) {
    this.#answered(callId, { result, state: "sending" });
    await this.#whenIdle(() => {
      if (this.state.answers[callId]?.state !== "sending") return undefined;
      const before = this.state.messages;
      const answers = [{ tool_call_id: callId, result }];
      return this.#post({ tool_results: answers, ...this.#there }, { before, callId });
    });
  }

  /**
   * Decide on a call that waits for an approval. While a run is live the decision waits; the form
   * keeps what was typed until the server has it.
   *
   * @param {string} id  of the approval @param {{approved: boolean, args?, reason?}} decision
   */
  async decide(id, decision) {
    if (!isOnItsWay(this.state.decisions[id])) await this.#decide(id, decision, 1);
  }

  async #decide(id, decision, tries) {
    const waiting = { state: "waiting" };
    this.#decided(id, waiting);
    await this.#whenIdle(() => {
      if (this.state.decisions[id] !== waiting) return undefined;
      const call = undecided(this.state.messages.at(-1), id);
      if (!call) return this.#decided(id, { state: "failed", error: DECIDED });
      this.#decided(id, { state: "sending" });
      const approval = { tool_call_id: call.toolCallId, approval_id: id, ...decision };
      const again = tries < MAX_DECISION_TRIES ? () => this.#decide(id, decision, tries + 1) : null;
      const undo = { before: this.state.messages, approvalId: id, again };
      return this.#post({ approvals: [approval], ...this.#there }, undo);
    });
  }

  /** Answer open interrupts, by id; the forms keep what was typed until the server has it. */
  async answerInterrupts(values) {
    this.#set({ ...this.state, resuming: { values: new Map(Object.entries(values)) } });
    const before = this.#withAnswer();
    await this.#post({ resume: values }, { before, resumed: true });
  }

  async stop() {
    const { id, run } = this.state;
    if (!run || id === null) return;
    this.#set({ ...this.state, run: { ...run, stopping: true }, decisions: this.#withoutWaiting() });
    try {
      await api.stop(id);
    } catch (error) {
      if (!this.busy) return;
      this.#set({ ...this.state, run: { ...this.state.run, stopping: false } });
      this.#fail(error, () => (this.busy ? this.stop() : this.flush()));
    }
  }

  retry() {
    const { problem } = this.state;
    this.#set({ ...this.state, problem: null });
    return problem?.retry?.();
  }

  rename(id, title) {
    if (this.state.id === id) this.#set({ ...this.state, title });
  }

  /** From where a body goes on, if that is not the thread. */
  get #there() {
    const { looksAt, version } = this.state;
    return looksAt === null ? {} : { version: looksAt, based_on: version };
  }

  get #named() {
    return this.model === null ? {} : { model: this.model };
  }

  /** Have the thread end with a message that a run can go on with; returns what was there before. */
  #withAnswer() {
    const before = this.state.messages;
    if (before.at(-1)?.role !== "assistant") {
      this.#set({ ...this.state, messages: [...before, newAnswer()] });
    }
    return before;
  }

  async #post(body, undo, key = crypto.randomUUID()) {
    const id = this.state.id;
    const sent = id === null ? body : { thread_id: id, must_exist: true, ...body };
    const attempt = () => this.#start(sent, key, undo, attempt);
    await attempt();
  }

  async #start(body, key, undo, again) {
    clearTimeout(this.#retryTimer);
    this.#sending = undo.item ?? null;
    const reader = this.#reader = new AbortController();
    const turn = new Turn(this.state.messages.at(-1), performance.now());
    this.#set({ ...this.state, problem: null, run: { id: null, attempt: 0 } });
    this.#update(turn);
    this.listeners.onRequest(body);
    let response;
    try {
      response = await api.startRun(body, key, reader.signal);
    } catch (error) {
      if (!reader.signal.aborted) this.#refused(error, undo, again);
      undo.onTaken?.();
      return;
    }
    if (reader.signal.aborted) return;
    const isElsewhere = (body.version ?? null) !== this.state.looksAt;
    this.#begun(response.headers, turn, undo);
    undo.onTaken?.();
    await this.#follow(turn, { response, isElsewhere });
  }

  /** The server has taken the request: the thread and its messages get their ids. */
  #begun(headers, turn, { callId, resumed, item, branches }) {
    this.#sending = null;
    const userId = headers.get("X-Message-Id");
    const id = headers.get("X-Thread-Id");
    const isNew = this.state.id === null;
    turn.message.id = `${userId}.a`;
    const messages = this.state.messages.map((message) =>
      message.role === "user" && message.id === null ? { ...message, id: userId } : message,
    );
    const run = { ...this.state.run, id: headers.get("X-Run-Id") };
    const interrupts = resumed ? this.#notAnswered() : [];
    const learns = branches || this.state.looksAt !== null;
    const about = { id, messages, run, interrupts, version: run.id, looksAt: null };
    this.#set({ ...this.state, ...about, resuming: null, runState: "live" });
    this.#retryMs = RETRY_MS;
    if (callId) this.#accepted(callId, turn);
    this.#update(turn);
    this.listeners.onStarted(id, isNew);
    if (learns) this.#learnVersions(turn);
    const { outbox } = this.state;
    if (outbox.length) this.#outboxIs(following(without(outbox, item?.id), run.id), isNew ? [] : outbox);
  }

  /** A branch has begun: which versions its messages have by now. What fails is learned at the next load. */
  async #learnVersions(turn) {
    const { id, version } = this.state;
    const loaded = await api.thread(id).catch(() => null);
    const isSame = this.state.id === id && this.state.version === version && this.state.looksAt === null;
    if (!loaded || !isSame) return;
    [turn.message] = withVersions([turn.message], loaded.messages);
    this.#set({ ...this.state, messages: withVersions(this.state.messages, loaded.messages) });
  }

  #attach({ id, run }) {
    const message = this.state.messages.find((item) => item.id === run.message_id);
    const parts = message.parts.slice(run.first_part).map(toAccumulated);
    const earlier = { ...message, parts: message.parts.slice(0, run.first_part) };
    const turn = new Turn(earlier, undefined, parts.length);
    turn.take({ parts, metadata: { steps: [], unstable_data: [] }, status: { type: "running" } });
    this.#reader = new AbortController();
    this.#set({ ...this.state, run: { id: run.id, attempt: 0 }, runState: "live" });
    this.#update(turn);
    return this.#follow(turn, { cursor: run.cursor, parts, threadId: id });
  }

  /** @param {{isElsewhere?: boolean}} source  `isElsewhere`: it goes on from other messages than those shown */
  async #follow(turn, source) {
    const reader = this.#reader;
    const { signal } = reader;
    const changed = () => !signal.aborted && this.#update(turn);
    let end;
    try {
      end = await readRun({
        threadId: this.state.id,
        parts: [],
        ...source,
        signal,
        onMessage: (message) => {
          turn.take(message);
          for (const settled of turn.newlySettled()) this.#settle(settled);
          changed();
        },
        onEvent: (event) => {
          turn.see(event, performance.now());
          if (!signal.aborted) this.#discard(turn.newlyDiscarded());
          this.listeners.onEvent(event);
        },
        onConnection: (attempt) => {
          if (!signal.aborted) this.#set({ ...this.state, run: { ...this.state.run, attempt } });
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      this.#closeRun(turn);
      this.#fail(error, () => this.refresh());
      return;
    }
    if (signal.aborted) return;
    this.#closeRun(turn);
    const orderly = end === DONE && !turn.message.error && !turn.message.ended && !turn.isStale;
    if (!orderly || source.isElsewhere) await this.refresh();
    this.listeners.onSettled(this.state);
    if (!this.state.problem && !this.#isAsked) this.flush();
  }

  /** A message that waits closes no question that the person has not seen. */
  get #isAsked() {
    const { interrupts, messages } = this.state;
    return interrupts.length > 0 || Boolean(messages.at(-1)?.parts.some(({ state }) => state === "pending"));
  }

  #closeRun(turn) {
    turn.finish(performance.now());
    this.#reader = null;
    const interrupts = keyed([...this.state.interrupts, ...turn.interrupts], this.state.interrupts);
    const runState = interrupts.length ? "waiting" : "finished";
    this.#set({ ...this.state, run: null, runState, interrupts, decisions: this.#withoutSent() });
    this.#update(turn);
    this.#wake();
  }

  #refused(error, undo, again) {
    const { item, callId, resumed } = undo;
    const before = restored(undo.before, this.state.messages);
    this.#reader = null;
    this.#sending = null;
    this.#set({ ...this.state, run: null });
    this.#wake();
    if (undo.approvalId) {
      this.#notDecided(error, { ...undo, before });
      return;
    }
    if (resumed) {
      this.#notResumed(error, before);
      return;
    }
    if (callId) {
      this.#answered(callId, { ...this.state.answers[callId], state: "failed", error });
      this.#set({ ...this.state, messages: before });
      if (!error.isTransient) this.refresh();
      return;
    }
    if (error.code === "thread_not_found") {
      this.#gone(undo);
      return;
    }
    if (item) {
      this.#notSent(error, item, before);
      return;
    }
    if (undo.edited) {
      this.#notEdited(error, undo.edited, before);
      return;
    }
    if (error.isTransient) {
      const waiting = this.state.messages.map((message) =>
        message.running ? { ...message, running: false } : message,
      );
      this.#set({ ...this.state, messages: waiting });
      this.#fail(error, again);
      return;
    }
    this.#set({ ...this.state, messages: before });
    this.#fail(error, null);
    if (isOutdated(error)) this.refresh();
  }

  /** The thread was deleted elsewhere: the words that were meant for it go back to the field. */
  #gone({ item, edited }) {
    const words = [...this.state.outbox, edited ?? item];
    if (this.state.outbox.some(({ id }) => id === item?.id)) words.pop();
    if (this.state.outbox.length) this.#outboxIs([]);
    this.#set({ ...this.state, messages: [], interrupts: [], missing: true });
    for (const { text, images } of words.filter(Boolean).reverse()) this.listeners.onRefused(text, images);
  }

  /** A message waits until the server can be reached, or goes back to the field. */
  #notSent(error, item, before) {
    const waits = this.state.outbox.some(({ id }) => id === item.id);
    const isBusy = waits && error.code === "run_in_progress";
    this.#set({ ...this.state, messages: before });
    if (error.isTransient || isBusy) {
      this.#outboxIs(ordered(marked(this.state.outbox, item, false)));
      this.listeners.onWaits();
      if (isBusy) this.refresh();
      else this.#failedToSend(error);
      return;
    }
    this.#outboxIs(without(this.state.outbox, item.id));
    // It had come through, and only the answer to that was lost.
    if (error.code === "message_exists") this.listeners.onWaits();
    else {
      this.listeners.onRefused(item.text, item.images);
      this.#fail(error, null);
    }
    if (isOutdated(error)) this.refresh();
  }

  #failedToSend(error) {
    this.#fail(error, () => this.flush());
    if (!this.state.problem.isUnreachable) return;
    this.#retryTimer = setTimeout(() => this.comeBack(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
  }

  /** The editor opens again with what was typed and why; if the thread has changed, on what it is now. */
  async #notEdited(error, edited, messages) {
    const { id } = this.state;
    this.#set({ ...this.state, messages });
    if (isOutdated(error)) await this.refresh();
    if (this.state.id === id) this.listeners.onEditRefused(edited, error);
  }

  /** The forms open again; one that was answered elsewhere is gone when the thread is loaded. */
  async #notResumed(error, messages) {
    const { values } = this.state.resuming;
    this.#set({ ...this.state, messages, resuming: { values, error } });
    if (error.isTransient) return;
    await this.refresh();
    const isOther = this.state.resuming?.values !== values;
    if (isOther || this.state.interrupts.some(({ id }) => values.has(id))) return;
    this.#set({ ...this.state, resuming: null });
    if (!this.busy && !this.state.missing) this.#fail(error, null);
  }

  /**
   * The form opens again, or shows what somebody else has decided. A run that was started elsewhere
   * is followed to its end; then the decision is sent again, if the call still waits for it.
   */
  async #notDecided(error, { before, approvalId: id, again }) {
    const isBusy = error.code === "run_in_progress" && again;
    const answer = isBusy ? { state: "waiting" } : { state: "failed", error };
    this.#set({ ...this.state, messages: before });
    this.#decided(id, answer);
    if (error.isTransient || error.code === "invalid_arguments") return;
    await this.refresh();
    if (!isBusy || this.state.decisions[id] !== answer) return;
    if (undecided(this.state.messages.at(-1), id)) await again();
    else this.#decided(id, { state: "failed", error: DECIDED });
  }

  #notAnswered() {
    return this.state.interrupts.filter(({ id }) => !this.state.resuming.values.has(id));
  }

  #discard(ids) {
    if (!ids.length) return;
    const interrupts = this.state.interrupts.filter(({ id }) => !ids.includes(id));
    this.#set({ ...this.state, interrupts });
  }

  #notLoaded(error) {
    if (error.code === "unknown_version") {
      this.look(null);
      this.listeners.onNotLoaded(error);
      return;
    }
    const missing = error.status === 404;
    this.#set({ ...this.state, loading: false, missing });
    if (missing) this.#gone({});
    else this.#fail(error, () => this.#reload());
  }

  #hydrate(loaded) {
    const shown = joined(loaded, this.state.messages, this.state.hasEarlier);
    const interrupts = keyed(loaded.interrupts ?? [], this.state.interrupts);
    const { id, title, run_id: version, version: looksAt = null } = loaded;
    const runState = looksAt === null ? loaded.run_state : endOf(loaded.messages);
    const about = { id, title, runState, version, looksAt, loading: false, missing: false };
    this.#set({ ...this.state, ...about, ...shown, interrupts });
    const { outbox } = this.state;
    const left = notSaid(outbox, shown.messages);
    if (left.length < outbox.length) this.#outboxIs(left);
  }

  #fail(error, retry) {
    const isUnreachable = error.status === 0 && retry !== null;
    const problem = { code: error.code ?? "failed", detail: sentenceOf(error), retry, isUnreachable };
    this.#set({ ...this.state, problem });
  }

  /** A call of an earlier message that the server has closed. */
  #settle(settled) {
    this.#set({ ...this.state, messages: settledIn(this.state.messages, settled) });
  }

  /** The server has taken an answer: it stands in the message that the run goes on with. */
  #accepted(callId, turn) {
    const { result } = this.state.answers[callId];
    turn.settle({ tool_call_id: callId, end: "result", result });
    const { [callId]: _, ...answers } = this.state.answers;
    this.#set({ ...this.state, answers });
  }

  #answered(callId, answer) {
    this.#set({ ...this.state, answers: { ...this.state.answers, [callId]: answer } });
  }

  #decided(id, answer) {
    this.#set({ ...this.state, decisions: { ...this.state.decisions, [id]: answer } });
  }

  /** The run that a decision has started is over: the server has it. */
  #withoutSent() {
    return this.#decisionsBut("sending");
  }

  /** Who stops a run means those that would follow it, too. */
  #withoutWaiting() {
    return this.#decisionsBut("waiting");
  }

  #decisionsBut(state) {
    const kept = Object.entries(this.state.decisions).filter(([, answer]) => answer.state !== state);
    return Object.fromEntries(kept);
  }

  #update(turn) {
    const { messages } = this.state;
    const index = messages.findLastIndex((message) => message.key === turn.message.key);
    if (index < 0) return;
    this.#set({ ...this.state, messages: messages.with(index, turn.shown()) });
  }

  #leave() {
    clearTimeout(this.#retryTimer);
    this.#posted = this.#sending = null;
    this.#reader?.abort();
    this.#reader = null;
    this.#wake();
  }

  #waiting = [];

  /** An answer that is given while a run is live waits for its end; of several, one starts a run. */
  async #whenIdle(start) {
    while (this.busy) await new Promise((resolve) => this.#waiting.push(resolve));
    await start();
  }

  #wake() {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #set(state) {
    this.state = state;
    this.listeners.onChange();
  }
}
