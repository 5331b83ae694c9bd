/**
 * Sends messages, and keeps those that wait to be sent: see `outbox.js` and `queue.js` for what
 * they are.
 */

import { imageParts } from "./attachments.js";
import { newAnswer, newQuestion } from "./messages.js";
import { bodyOf, isWhole, marked, newItem, notSaid, without } from "./outbox.js";
import {
  alone,
  atOnce,
  basedOn,
  changed,
  following,
  holdOf,
  isFor,
  ordered,
  queued,
  seenIn,
  unseen,
} from "./queue.js";
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
   * A message goes behind those that wait to be sent. While a run is live it is queued.
   *
   * @param {string} text
   * @param {Record<string, any>[]} [images]  see `attachments.js`
   * @param {{stops?: boolean}} [how]  it stops the live run instead
   */
  send(text, images = [], { stops = false } = {}) {
    const { state, named, graph, listeners } = this.#thread;
    const { id, outbox, run, loading } = state;
    const isNext = outbox.every((one) => one.queued);
    const before = run && this.#posted ? this.#posted : outbox.at(-1);
    const further = { ...named, graph, ...(isNext ? placeOf(state) : {}) };
    const item = seenIn(state, newItem(text, id, before, further, images));
    if (run) return this.#queue(item, stops);
    // What is sent while a thread is loaded stands behind its messages.
    if (isNext && !loading) return this.#deliver(item);
    this.#keep(ordered([...outbox, item]));
    if (loading) listeners.onWaits();
    return this.flush();
  }

  #queue(item, stops) {
    const thread = this.#thread;
    const { outbox, run } = thread.state;
    this.#keep(ordered([...outbox, stops ? item : queued(item, run.id)]));
    thread.listeners.onWaits();
    return stops ? thread.stop() : undefined;
  }

  /** A queued message goes next; a live run is stopped for it. */
  sendNow({ id }) {
    const thread = this.#thread;
    const { state } = thread;
    this.#keep(
      ordered(state.outbox.map((item) => (item.id === id ? seenIn(state, atOnce(item)) : item))),
    );
    return thread.busy ? thread.stop() : this.flush();
  }

  /** Do not send a message that waits. */
  withdraw(item) {
    const { state, busy, posts } = this.#thread;
    if (!busy) posts.abandon(item.body.thread_id);
    this.#keep(without(state.outbox, item.id));
  }

  /**
   * Send the first of the messages that wait, unless a run is live; its end sends the next. A
   * queued one waits until nothing holds it. What is older than a question is queued.
   */
  flush() {
    const { state } = this.#thread;
    const { id, outbox } = state;
    if (holdOf(state) === "asked") this.#keep(unseen(outbox, state));
    const first = () => (this.#thread.state.id === id ? this.#sendable : undefined);
    if (!first()) return undefined;
    // Tabs with a new thread each do not wait for one another.
    const threadId = first().body.thread_id;
    this.#thread.posts.abandon(threadId);
    return alone(threadId, (done) => {
      const item = first();
      return item && this.#thread.listeners.isKept(item) ? this.#deliver(item, done) : undefined;
    });
  }

  get #sendable() {
    const { state, busy } = this.#thread;
    const { outbox, loading, missing, looksAt } = state;
    if (busy || loading || missing) return undefined;
    // Another one would stand at the wrong place.
    if (looksAt !== null && outbox[0]?.body.version !== looksAt) return undefined;
    const [first] = outbox;
    return first && isWhole(first) && !(first.queued && holdOf(state)) ? first : undefined;
  }

  /** @param {() => void} [onAnswered]  the server has taken the message, or has not */
  #deliver(waiting, onAnswered) {
    const { state, posts } = this.#thread;
    const item = basedOn(waiting);
    if (state.outbox.includes(waiting)) {
      const outbox = state.outbox.map((one) => (one === waiting ? item : one));
      if (item !== waiting) this.#keep(outbox);
      this.#thread.set({ outbox: marked(outbox, item, true) });
    }
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
  begun(item, runId, isNew) {
    const { outbox } = this.#thread.state;
    this.#sending = null;
    this.#retryMs = RETRY_MS;
    // What other tabs have for a new thread of theirs waits on.
    const own = isNew ? outbox.filter(isFor(item.body.thread_id)) : outbox;
    if (isNew || outbox.length)
      this.#keep(following(without(own, item?.id), runId), isNew ? [item, ...own] : outbox);
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
      this.#keep(ordered(marked(outbox, item, false)));
      thread.listeners.onWaits();
      if (isBusy) thread.reload();
      else thread.fail(error, () => this.flush());
      return;
    }
    this.#keep(without(outbox, item.id));
    // It had come through, and only the answer to that was lost.
    if (error.code === "message_exists") thread.listeners.onWaits();
    else {
      thread.listeners.onRefused(item.text, item.images, error);
      thread.fail(error, null);
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

  /** The thread was loaded: what is in it was sent. */
  loaded() {
    const { outbox, messages } = this.#thread.state;
    const left = notSaid(outbox, messages);
    if (left.length < outbox.length) this.#keep(left);
  }

  /** Another tab of the browser has changed what waits in this thread. */
  changedElsewhere(before, after) {
    const { outbox, messages } = this.#thread.state;
    // A tab that changes the storage may not have seen yet what this one has sent.
    this.#thread.set({ outbox: notSaid(changed(outbox, before, after), messages) });
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
    const words = own && !isAmong ? [...state.outbox, own] : state.outbox;
    this.#sending = null;
    if (state.outbox.length) this.#keep([]);
    this.#thread.set({ messages: [], interrupts: [], missing: true });
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
    const plain = (items) => items.map(({ isSending: _, ...item }) => item);
    this.#thread.set({ outbox });
    return this.#thread.listeners.onOutbox(this.#thread.state.id, plain(outbox), plain(before));
  }
}
