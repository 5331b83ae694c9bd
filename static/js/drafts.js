/**
 * What a person has written and not sent, by thread, until it is sent or somebody else logs in:
 * drafts and messages that wait in the browser's storage, open edits and forms in the tab's. So are
 * drafts: two tabs of a thread each have their own, and a new tab gets the last. Before it is known
 * who writes see `early-words.js`.
 */

import { earlyOf, forgetEarly, keepEarly, takeEarly } from "./early-words.js";
import { paragraphs } from "./format.js";
import { changed, isFor, threadOf } from "./outbox.js";
import { locks } from "./secure-context.js";

const OWNER = "words-of";
const PREFIX = "words:";
const MAX_THREADS = 60;
const MAX_CHARS = 300_000;
const NOTHING = { draft: "", images: [], edit: null, forms: {}, outbox: [] };
/** The database of the images, which have only their keys here; see `kept-images.js`. */
export const IMAGES = "images-of-words";

const keyOf = (id) => `${PREFIX}${id ?? ""}`;
/** @type {[Storage, string[]][]} */
const PLACES = [
  [localStorage, ["draft", "images", "outbox", "isNew"]],
  [sessionStorage, ["draft", "images", "edit", "forms"]],
];
const kept = (storage) => Object.keys(storage).filter((key) => key.startsWith(PREFIX));

export class Drafts {
  isOpen = false;
  #isOver = false;
  /** Ids of messages that found no room in the storage. */
  #unkept = new Set();
  /** By the id of a thread that is not begun: when what waits for it is this tab's. */
  #owned = new Map();

  /**
   * @param {(id: string, before: Record<string, any>[], after: Record<string, any>[]) => void}
   *   onOutbox  another tab has changed it
   */
  constructor(onOutbox) {
    addEventListener("storage", ({ storageArea, key, oldValue, newValue }) => {
      if (!this.isOpen || storageArea !== localStorage || !key?.startsWith(PREFIX)) return;
      const [before, after] = [oldValue, newValue].map((text) => parsed(text).outbox ?? []);
      onOutbox(key.slice(PREFIX.length), before, after);
    });
  }

  /**
   * What was written in this tab until now is kept with the rest.
   *
   * @param {string} owner  whose words they are: those of anybody else are forgotten
   * @param {string | null} openId  of the thread whose draft is in the field: it comes from there
   */
  start(owner, openId) {
    if (localStorage.getItem(OWNER) !== owner) this.#clear();
    localStorage.setItem(OWNER, owner);
    this.isOpen = true;
    // An earlier version of the page kept what begins threads all in one place.
    this.keepOutbox(null, this.of(null).outbox, []);
    this.keep(null, { outbox: [] });
    for (const [id, { draft = "", edit, forms, outbox = [], isNew }] of takeEarly()) {
      const before = this.of(id);
      this.keep(id, {
        draft: id === openId ? before.draft : paragraphs(before.draft, draft),
        edit: edit ?? before.edit,
        forms: { ...before.forms, ...forms },
      });
      this.keepOutbox(isNew ? null : id, outbox, []);
    }
  }

  /** For good: nothing more is kept. */
  clear() {
    this.isOpen = false;
    this.#isOver = true;
    forgetEarly();
    this.#clear();
  }

  #clear() {
    localStorage.removeItem(OWNER);
    for (const [storage] of PLACES) for (const key of kept(storage)) storage.removeItem(key);
    indexedDB.deleteDatabase(IMAGES);
  }

  /**
   * @returns {{draft: string, images: Record<string, any>[], edit: {id, text, version} | null,
   *   forms: Record<string, any>, outbox: Record<string, any>[]}}
   */
  of(id) {
    if (!this.isOpen) return { ...NOTHING, ...earlyOf(id), outbox: [] };
    const [shared, own] = PLACES.map(([storage]) => parsed(storage.getItem(keyOf(id))));
    const { draft = "", images = [] } = own.draft || own.images ? own : shared;
    return { ...NOTHING, ...shared, ...own, draft, images };
  }

  /**
   * @param {string | null} id  of a thread; null: the one that is not begun
   * @param {Record<string, any>} changes
   */
  keep(id, changes) {
    if (this.#isOver) return;
    if (!this.isOpen) {
      keepEarly(id, changes);
      return;
    }
    for (const [storage, names] of PLACES) {
      const words = { ...parsed(storage.getItem(keyOf(id))), ...changes };
      const own = names.filter((name) => !isEmpty(words[name])).map((name) => [name, words[name]]);
      if (own.length) store(storage, keyOf(id), { ...Object.fromEntries(own), at: Date.now() });
      else storage.removeItem(keyOf(id));
    }
  }

  /**
   * Other tabs may have changed the stored messages meanwhile: these changes stay. What begins a
   * thread is kept by that thread's id.
   *
   * @returns {boolean} whether there was room for what is added
   */
  keepOutbox(id, after, before) {
    for (const to of new Set([...before, ...after].map(threadOf))) {
      const { outbox: stored = [] } = this.isOpen ? this.of(to) : earlyOf(to);
      const outbox = changed(stored, before.filter(isFor(to)), after.filter(isFor(to)));
      const isNew = id === null && outbox.length > 0;
      if (isNew) this.own(to);
      this.keep(to, { outbox, isNew });
    }
    if (!this.isOpen) return true;
    const lost = after.filter((item) => !has(before, item) && !this.#isStored(item));
    for (const { id } of lost) this.#unkept.add(id);
    return !lost.length;
  }

  /**
   * What waits for a thread that is not begun is one tab's, as long as that is open: tabs learn
   * late what others have changed in the storage.
   *
   * @param {AbortSignal} [signal]  it is not waited for any more
   * @returns {Promise<void>} when it is this tab's; rejects when it is aborted before
   */
  own(id, signal) {
    if (!this.#owned.has(id)) {
      /** @type {Promise<void>} */
      const isMine = new Promise((own, leave) => {
        locks.request(`new:${id}`, { signal }, () => new Promise(() => own())).catch(leave);
      });
      isMine.catch(() => this.#owned.delete(id));
      this.#owned.set(id, isMine);
    }
    return this.#owned.get(id);
  }

  /** Ids of threads that are not begun, for which messages wait. */
  get notBegun() {
    return idsOf(({ isNew }) => isNew);
  }

  /** Ids of threads for which messages wait. */
  get unsent() {
    return new Set(this.isOpen ? idsOf(({ outbox }) => outbox) : []);
  }

  /** Another tab has not sent the message, nor taken it back. */
  isKept(item) {
    return !this.isOpen || this.#unkept.has(item.id) || this.#isStored(item);
  }

  #isStored(item) {
    return has(this.of(threadOf(item)).outbox, item);
  }

  forget(id) {
    if (!this.isOpen) keepEarly(id, { draft: "", edit: null, forms: {}, outbox: [] });
    forgotten = localStorage.getItem(keyOf(id));
    for (const [storage] of PLACES) storage.removeItem(keyOf(id));
  }
}

/** The words that were forgotten last: they may come back. */
let forgotten;

/** Whether what is kept has this text in it. */
export const mentions = (text) =>
  forgotten?.includes(text) ||
  kept(localStorage).some((key) => localStorage.getItem(key).includes(text));

/** Of the threads whose words in the browser's storage are such. */
const idsOf = (isSuch) =>
  kept(localStorage)
    .filter((key) => isSuch(parsed(localStorage.getItem(key))))
    .map((key) => key.slice(PREFIX.length));

const has = (items, { id }) => items.some((item) => item.id === id);

const isEmpty = (value) => !value || (typeof value === "object" && !Object.keys(value).length);

function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** What is too long, or finds no room, is on the page alone. */
function store(storage, key, words) {
  const text = JSON.stringify(words, (name, value) => (name === "dataUrl" ? undefined : value));
  if (text.length > MAX_CHARS) return;
  const others = kept(storage).filter((other) => other !== key);
  if (others.length >= MAX_THREADS) {
    for (const old of byAge(storage, others).slice(MAX_THREADS - 1)) storage.removeItem(old);
  }
  try {
    storage.setItem(key, text);
  } catch {
    // The storage is full.
  }
}

/** The newest first; what is to be sent is not forgotten for drafts. */
function byAge(storage, keys) {
  const ages = keys.map((key) => {
    const { at = 0, outbox = [] } = parsed(storage.getItem(key));
    return [key, outbox.length ? Infinity : at];
  });
  return ages.sort(([, one], [, other]) => (one < other ? 1 : -1)).map(([key]) => key);
}
