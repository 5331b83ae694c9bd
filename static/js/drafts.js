/**
 * What a person has written and not sent, by thread, until it is sent or somebody else logs in: drafts
 * and messages that wait in the browser's storage, open edits and forms in the tab's. So are drafts: two
 * tabs of a thread each have their own, and a new tab gets the last. Nothing is kept before it is known
 * who writes.
 */

import { changed } from "./queue.js";

const OWNER = "words-of";
const PREFIX = "words:";
const MAX_THREADS = 60;
const MAX_CHARS = 300_000;
const NOTHING = { draft: "", images: [], edit: null, forms: {}, outbox: [] };
/** The database of the images, which have only their keys here; see `kept-images.js`. */
export const IMAGES = "images-of-words";

const keyOf = (id) => `${PREFIX}${id ?? ""}`;
const PLACES = [
  [localStorage, ["draft", "images", "outbox"]],
  [sessionStorage, ["draft", "images", "edit", "forms"]],
];
const kept = (storage) => Object.keys(storage).filter((key) => key.startsWith(PREFIX));

export class Drafts {
  isOpen = false;
  /** Ids of messages that found no room in the storage. */
  #unkept = new Set();

  /** @param {(id: string, before: object[], after: object[]) => void} onOutbox  another tab has changed it */
  constructor(onOutbox) {
    addEventListener("storage", ({ storageArea, key, oldValue, newValue }) => {
      if (!this.isOpen || storageArea !== localStorage || !key?.startsWith(PREFIX) || key === keyOf(null)) return;
      const [before, after] = [oldValue, newValue].map((text) => parsed(text).outbox ?? []);
      onOutbox(key.slice(PREFIX.length), before, after);
    });
  }

  /** @param {string} owner  whose words they are: those of anybody else are forgotten */
  start(owner) {
    if (localStorage.getItem(OWNER) !== owner) this.clear();
    localStorage.setItem(OWNER, owner);
    this.isOpen = true;
  }

  clear() {
    this.isOpen = false;
    localStorage.removeItem(OWNER);
    for (const [storage] of PLACES) for (const key of kept(storage)) storage.removeItem(key);
    indexedDB.deleteDatabase(IMAGES);
  }

  /** @returns {{draft: string, images: object[], edit: {id, text, version} | null, forms: object, outbox: object[]}} */
  of(id) {
    if (!this.isOpen) return NOTHING;
    const [shared, own] = PLACES.map(([storage]) => parsed(storage.getItem(keyOf(id))));
    const { draft = "", images = [] } = own.draft || own.images ? own : shared;
    return { ...NOTHING, ...shared, ...own, draft, images };
  }

  /** @param {string | null} id  of a thread; null: the one that is not begun @param {object} changes */
  keep(id, changes) {
    if (!this.isOpen) return;
    for (const [storage, names] of PLACES) {
      const words = { ...parsed(storage.getItem(keyOf(id))), ...changes };
      const own = names.filter((name) => !isEmpty(words[name])).map((name) => [name, words[name]]);
      if (own.length) store(storage, keyOf(id), { ...Object.fromEntries(own), at: Date.now() });
      else storage.removeItem(keyOf(id));
    }
  }

  /** Other tabs may have changed the stored messages meanwhile: these changes stay. */
  keepOutbox(id, after, before) {
    this.keep(id, { outbox: changed(this.of(id).outbox, before, after) });
    const stored = this.of(id).outbox;
    const added = after.filter((item) => !has(before, item));
    for (const item of added) if (!has(stored, item)) this.#unkept.add(item.id);
  }

  /** Another tab has not sent the message, nor taken it back. */
  isKept(id, item) {
    return !this.isOpen || this.#unkept.has(item.id) || has(this.of(id).outbox, item);
  }

  forget(id) {
    for (const [storage] of PLACES) storage.removeItem(keyOf(id));
  }
}

/** Whether what is kept has this text in it. */
export const mentions = (text) => kept(localStorage).some((key) => localStorage.getItem(key).includes(text));

const has = (items, { id }) => items.some((item) => item.id === id);

const isEmpty = (value) => !value || !(typeof value === "string" ? value : Object.keys(value).length);

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
