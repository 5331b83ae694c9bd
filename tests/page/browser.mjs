/**
 * Stand-ins for what the page's modules find in a browser. Import this module before those of the
 * page.
 *
 * All tabs share `localStorage` and the locks; each has its own `sessionStorage` and hears the
 * `storage` events of the others. What a tab does is done inside `tab.run`.
 */

import { webcrypto } from "node:crypto";

/** A `Storage`: its items are its properties. */
class TextStorage {
  /** Characters that it has room for. */
  #room = Infinity;
  #onChange;

  constructor(onChange = () => {}) {
    this.#onChange = onChange;
  }

  getItem(key) {
    return Object.hasOwn(this, key) ? this[key] : null;
  }

  setItem(key, text) {
    const used = Object.keys(this).reduce(
      (sum, other) => (other === key ? sum : sum + this[other].length),
      0,
    );
    if (used + text.length > this.#room) throw new Error("QuotaExceededError");
    const before = this.getItem(key);
    this[key] = text;
    this.#onChange(key, before, text);
  }

  removeItem(key) {
    const before = this.getItem(key);
    delete this[key];
    if (before !== null) this.#onChange(key, before, null);
  }

  clear() {
    for (const key of Object.keys(this)) delete this[key];
  }

  limit(room) {
    this.#room = room;
  }
}

const tabs = new Set();

export class Tab {
  session = new TextStorage();
  #listeners = [];

  constructor() {
    tabs.add(this);
  }

  run(act) {
    const before = current;
    current = this;
    try {
      return act();
    } finally {
      current = before;
    }
  }

  listen(type, listener) {
    this.#listeners.push([type, listener]);
  }

  hear(event) {
    for (const [type, listener] of this.#listeners)
      if (type === event.type) this.run(() => listener(event));
  }

  /** Its scripts end; its `sessionStorage` stays. */
  reload() {
    this.#listeners = [];
    locks.leave(this);
  }

  close() {
    this.reload();
    tabs.delete(this);
  }
}

/** `navigator.locks`, of all tabs. */
class Locks {
  /** By name: who holds the lock, then who waits for it. */
  #queues = new Map();

  request(name, { ifAvailable = false, signal } = {}, act) {
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    if (ifAvailable && queue.length) return Promise.resolve(act(null));
    return new Promise((resolve, reject) => {
      const entry = { tab: current };
      entry.begin = () =>
        Promise.resolve()
          .then(() => act({ name }))
          .finally(() => this.#remove(queue, entry))
          .then(resolve, reject);
      signal?.addEventListener("abort", () => {
        if (queue[0] === entry) return;
        this.#remove(queue, entry);
        reject(signal.reason);
      });
      queue.push(entry);
      if (queue[0] === entry) entry.begin();
    });
  }

  leave(tab) {
    for (const queue of this.#queues.values()) {
      for (const entry of queue.filter((one) => one.tab === tab).reverse())
        this.#remove(queue, entry);
    }
  }

  #remove(queue, entry) {
    const index = queue.indexOf(entry);
    if (index < 0) return;
    queue.splice(index, 1);
    if (index === 0) queue[0]?.begin();
  }
}

const locks = new Locks();

function changed(key, oldValue, newValue) {
  const event = { type: "storage", storageArea: globalThis.localStorage, key, oldValue, newValue };
  for (const tab of tabs) if (tab !== current) tab.hear(event);
}

/** The `sessionStorage` of the tab that runs. */
const session = new Proxy(
  {},
  {
    get: (_, name) =>
      typeof current.session[name] === "function"
        ? current.session[name].bind(current.session)
        : current.session[name],
    ownKeys: () => Object.keys(current.session),
    getOwnPropertyDescriptor: (_, name) => Object.getOwnPropertyDescriptor(current.session, name),
  },
);

/** Names of the databases that were deleted. */
export const deletedDatabases = [];

const globals = {
  localStorage: new TextStorage(changed),
  sessionStorage: session,
  navigator: { locks },
  indexedDB: { deleteDatabase: (name) => deletedDatabases.push(name) },
  crypto: webcrypto,
  addEventListener: (type, listener) => current.listen(type, listener),
  matchMedia: () => ({ matches: false, addEventListener: () => {} }),
  // lit-html asks for these two when it is loaded; nothing is rendered here.
  document: { ...document, createComment: () => ({}), createTreeWalker: () => ({}) },
};
for (const [name, value] of Object.entries(globals)) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

let current = new Tab();

/** A browser in which nothing is kept and no other tab is open; the value is its first tab. */
export function newBrowser() {
  for (const tab of [...tabs]) tab.close();
  globalThis.localStorage.limit(Infinity);
  globalThis.localStorage.clear();
  deletedDatabases.length = 0;
  current = new Tab();
  return current;
}
