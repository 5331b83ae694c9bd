/**
 * Sends messages, and keeps those that the server does not have yet (`outbox.js`). While a run is
 * live the server has them wait for its end (`queue.js`).
 */

import * as api from "./api.js";
import { imageParts, imagesFrom } from "./attachments.js";
import { newAnswer, newQuestion } from "./messages.js";
import {
  alone,
  behindFirst,
  bodyOf,
  changed,
  isFor,
  isHeld,
  isWhole,
  marked,
  newItem,
  notSaid,
  seenIn,
  without,
} from "./outbox.js";
import { textOf } from "./parts.js";
import { isOutdated, placeOf } from "./thread-state.js";

const RETRY_MS = 10_000;
const MAX_RETRY_MS = 60_000;
const ONLINE_RETRY_MS = 1000;

export class Sender {
  #thread;
  #retryTimer;
  #retryMs = RETRY_MS;
  /** The message that was sent last. */
  #posted = null;
  /** The message that the server has not answered for yet. */
  #sending = null;

  /** @param {import("./thread-store.js").ThreadStore} thread */
  constructor(thread) {
    this.#thread = thread;
  }

  /**
   * A message goes behind those that wait to be sent. While a run is live it waits on the server.
   *
   * @param {string} text
   * @param {Record<string, any>[]} [images]  see `attachments.js`
   * @param {{stops?: boolean}} [how]  it begins before all others, and stops the live run
   */
  send(text, images = [], { stops = false } = {}) {
    const { state, named, graph, listeners } = this.#thread;
    const { id, outbox, run, loading } = state;
    const isNext = !outbox.length && !run;
    const before = run && this.#posted ? this.#posted : outbox.at(-1);
    const further = { ...named, graph, ...(isNext ? placeOf(state) : {}) };
    const item = seenIn(state, newItem(text, id, before, further, images));
    // What is sent while a thread is loaded stands behind its messages.
    if (isNext && !loading) return this.#deliver(item);
    const isAhead = stops && run;
    this.#keep(isAhead ? [{ ...item, stops }, ...outbox] : [...outbox, item]);
    if (run || loading) listeners.onWaits();
    return this.flush();
  }

  /** A message that waits on the server begins now; a live run is stopped for it. */
  async sendNow(message) {
    const thread = this.#thread;
    const { state, named } = thread;
    if (thread.busy) {
      await this.#stopFor(message, state.run.id);
      return;
    }
    const { id, outbox: before } = state;
    if (before.some((one) => one.id === message.id)) return;
    const further = { ...named, ...placeOf(state) };
    const images = imagesFrom(message.parts);
    // Under its own id, and kept before the server gives it up: it is neither lost nor sent twice.
    const item = seenIn(
      state,
      newItem(textOf(message), id, undefined, further, images, message.id),
    );
    this.#keep([{ ...item, isSending: true }, ...before]);
    try {
      await thread.queue.withdraw(message);
    } catch (error) {
      if (!error.isTransient) {
        this.#forget(id, item);
        throw error;
      }
      if (thread.state.id !== id) return;
      // It may have been withdrawn: the thread tells, which is loaded before anything is sent.
      const { outbox } = thread.state;
      this.#keep(outbox.map((one) => (one.id === item.id ? item : one)));
      thread.fail(error, () => thread.reload());
      return;
    }
    if (thread.state.id !== id) {
      thread.listeners.onOutbox(id, [item], []);
      return;
    }
    this.#keep([item, ...without(thread.state.outbox, item.id)]);
    await this.flush();
  }

  /** A message is not to be sent: it has begun, or somebody has withdrawn it. */
  #forget(threadId, item) {
    const { state, listeners } = this.#thread;
    if (state.id === threadId) this.#keep(without(state.outbox, item.id));
    else listeners.onOutbox(threadId, [], [item]);
  }

  /** A message that waits on the server begins first, and for it a live run is stopped. */
  async #stopFor(message, liveId) {
    await this.#thread.queue.first(message);
    if (this.#thread.state.run?.id === liveId) await this.#thread.stop();
  }

  /** Do not send a message that waits to be sent. */
  withdraw(item) {
    const { state, busy, posts } = this.#thread;
    if (!busy) posts.abandon(item.body.thread_id);
    this.#keep(without(state.outbox, item.id));
  }

  /** The author of a message that is held has seen the question, which it closes. */
  sendHeld({ id }) {
    const { state } = this.#thread;
    this.#keep(state.outbox.map((item) => (item.id === id ? seenIn(state, item) : item)));
    return this.flush();
  }

  /** Send the first of the messages that the server does not have. */
  flush() {
    const { id } = this.#thread.state;
    const first = () => (this.#thread.state.id === id ? this.#sendable : undefined);
    if (!first()) return undefined;
    // Tabs with a new thread each do not wait for one another.
    const threadId = first().body.thread_id;
    this.#thread.posts.abandon(threadId);
    return alone(threadId, (done) => {
      this.#leaveTaken();
      const item = first();
      if (!item) return undefined;
      return this.#thread.busy ? this.#handIn(item) : this.#deliver(item, done);
    });
  }

  /** Another tab has sent it, or taken it back, and word of that has not come yet. */
  #leaveTaken() {
    const { outbox } = this.#thread.state;
    const left = outbox.filter((item) => this.#thread.listeners.isKept(item));
    if (left.length < outbox.length) this.#thread.set({ outbox: left });
  }

  get #sendable() {
    const { state } = this.#thread;
    const { run, outbox, loading, missing, looksAt } = state;
    // What is on its way comes before.
    if (run?.id === null || loading || missing) return undefined;
    const [first] = outbox;
    // Another one would stand at the wrong place.
    if (looksAt !== null && first?.body.version !== looksAt) return undefined;
    return first && isWhole(first) && !isHeld(state, first) ? first : undefined;
  }

  /** Leave a message to the server, which has it wait for the end of the live run. */
  async #handIn(item) {
    const thread = this.#thread;
    const { run, outbox } = thread.state;
    const threadId = item.body.thread_id;
    const isHere = () => thread.state.id === threadId;
    thread.set({ outbox: marked(outbox, item, true) });
    const body = bodyOf(item);
    thread.listeners.onRequest(body);
    let taken;
    try {
      taken = await api.handIn(body, item.key);
    } catch (error) {
      if (!isHere()) return;
      if (error.code === "thread_not_found") this.gone(item);
      else this.#refused(error, item, thread.state.messages);
      return;
    }
    if (isHere()) this.#handedIn(item, taken, run.id);
    else this.#forget(threadId, item);
  }

  #handedIn(item, { run_id: runId, queue_place: place }, liveId) {
    const thread = this.#thread;
    if (place) this.queued(item, runId);
    else {
      this.#keep(without(thread.state.outbox, item.id));
      if (!thread.busy) thread.queue.look();
    }
    this.flush();
    if (place && item.stops)
      this.#stopFor({ runId }, liveId).catch((error) => thread.fail(error, null));
  }

  /** The server has a message, which waits there under the id of its run. */
  queued(item, runId) {
    const thread = this.#thread;
    this.#sending = null;
    this.#retryMs = RETRY_MS;
    const { parts } = newQuestion(item.text, imageParts(item.images));
    thread.queue.add({ runId, id: item.id, parts, problem: null });
    this.#keep(without(thread.state.outbox, item.id));
    thread.listeners.onWaits();
    thread.queue.look();
  }

  /** @param {() => void} [onAnswered]  the server has taken the message, or has not */
  #deliver(item, onAnswered) {
    const { state, posts } = this.#thread;
    if (state.outbox.includes(item)) this.#thread.set({ outbox: marked(state.outbox, item, true) });
    this.#posted = this.#sending = item;
    const before = state.messages;
    this.#thread.set({
      messages: [...before, newQuestion(item.text, imageParts(item.images)), newAnswer()],
    });
    const onRefused = (error, shown) => this.#refused(error, item, shown);
    const how = {
      before,
      item,
      words: item,
      onRefused,
      onAnswered,
      onTakenLate: () => this.#takenLate(item),
    };
    return posts.post(bodyOf(item), how, item.key);
  }

  /** A run has begun, perhaps with a message that waited: it is not to be sent again. */
  begun(item, isNew) {
    const { outbox } = this.#thread.state;
    this.#sending = null;
    this.#retryMs = RETRY_MS;
    // What other tabs have for a new thread of theirs waits on.
    const own = isNew ? outbox.filter(isFor(item.body.thread_id)).map(behindFirst) : outbox;
    if (isNew || outbox.length) this.#keep(without(own, item?.id), isNew ? [item, ...own] : outbox);
    this.flush();
  }

  /** It is in the thread that was left, and waits there no more. */
  #takenLate(item) {
    const { state, listeners } = this.#thread;
    this.#thread.set({ outbox: without(state.outbox, item.id) });
    listeners.onOutbox(item.body.thread_id, [], [item]);
  }

  /** A message waits until the server can be reached, or goes back to the field. */
  #refused(error, item, messages) {
    const thread = this.#thread;
    const { outbox } = thread.state;
    const isBusy = error.code === "run_in_progress" && outbox.some(({ id }) => id === item.id);
    this.#sending = null;
    thread.set({ messages });
    if (error.isTransient || isBusy) {
      // Another run may be live when it is sent again.
      this.#keep(marked(outbox, { ...item, stops: false }, false));
      thread.listeners.onWaits();
      if (!isBusy) thread.fail(error, () => this.flush());
      // Otherwise it is sent when the run is over that is read here.
      else if (!thread.busy) thread.reload();
      return;
    }
    this.#keep(without(outbox, item.id));
    // It had come through, and only the answer to that was lost.
    if (error.code === "message_exists") thread.listeners.onWaits();
    else {
      thread.listeners.onRefused(item.text, item.images, error);
      if (thread.busy) thread.listeners.onNotLoaded(error);
      else thread.fail(error, null);
    }
    if (isOutdated(error)) thread.refresh();
  }

  /** A request that is under way may still fail: it is tried again soon. */
  networkIsBack() {
    this.#retryMs = ONLINE_RETRY_MS;
    return this.#thread.comeBack();
  }

  /**
   * The server is away: it is tried again while something waits, and soon after the network is
   * back.
   */
  later() {
    clearTimeout(this.#retryTimer);
    if (!this.#thread.state.outbox.length && this.#retryMs >= RETRY_MS) return;
    this.#retryTimer = setTimeout(() => this.#thread.comeBack(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
  }

  /** Messages of an earlier visit, of which it is known only now that they may be sent. */
  take(outbox) {
    const { state } = this.#thread;
    const fresh = outbox.filter(({ id }) => !state.outbox.some((item) => item.id === id));
    if (!fresh.length) return;
    // What another tab has left for a new thread is not this tab's next.
    const all = state.id === null ? [...state.outbox, ...fresh] : [...fresh, ...state.outbox];
    this.#keep(notSaid(all, state.messages), all);
    this.#thread.comeBack();
  }

  /** The thread or its queue was loaded: what is in it was sent. */
  loaded() {
    const { outbox, messages, queue } = this.#thread.state;
    const left = notSaid(outbox, [...messages, ...queue]);
    if (left.length < outbox.length) this.#keep(left);
  }

  /** Another tab of the browser has changed what waits in this thread. */
  changedElsewhere(before, after) {
    const { outbox, messages, queue } = this.#thread.state;
    // A tab that changes the storage may not have seen yet what this one has sent.
    const left = notSaid(changed(outbox, before, after), [...messages, ...queue]);
    this.#thread.set({ outbox: left });
  }

  /**
   * The page is left: a message that is on its way waits for the next visit, which sends it again
   * as it was. It may have come through.
   */
  pause() {
    const item = this.#sending;
    if (!item) return;
    this.#sending = null;
    const others = without(this.#thread.state.outbox, item.id);
    // Where there is no room to keep it, it is still the draft.
    if (this.#keep([{ ...item, isSending: true }, ...others], others))
      this.#thread.listeners.onWaits();
  }

  /** Another tab has deleted the thread, and these messages that wait there. */
  deletedElsewhere(waiting) {
    const thread = this.#thread;
    const item = this.#sending;
    const known = new Set([item, ...thread.state.outbox].map((one) => one?.id));
    const outbox = [...thread.state.outbox, ...waiting.filter(({ id }) => !known.has(id))];
    thread.leave();
    thread.set({ run: null, problem: null, loading: false, outbox });
    this.gone(item);
  }

  /** The thread was deleted elsewhere: the words that were meant for it go back to the field. */
  gone(own) {
    const { state, listeners } = this.#thread;
    const isAmong = state.outbox.some(({ id }) => id === own?.id);
    const queued = state.queue.map((message) => ({
      text: textOf(message),
      images: imagesFrom(message.parts),
    }));
    const words = [...queued, ...state.outbox, ...(own && !isAmong ? [own] : [])];
    this.#sending = null;
    if (state.outbox.length) this.#keep([]);
    this.#thread.set({ messages: [], interrupts: [], queue: [], missing: true });
    for (const { text, images } of words.toReversed()) listeners.onRefused(text, images);
  }

  /** Another thread is opened, or another version. */
  leave() {
    clearTimeout(this.#retryTimer);
    this.#posted = this.#sending = null;
  }

  /**
   * @param {Record<string, any>[]} [before]  what is kept of it
   * @returns {boolean} whether there was room for what is added
   */
  #keep(outbox, before = this.#thread.state.outbox) {
    const plain = (items) => items.map(({ isSending: _, stops: __, ...item }) => item);
    this.#thread.set({ outbox });
    return this.#thread.listeners.onOutbox(this.#thread.state.id, plain(outbox), plain(before));
  }
}
