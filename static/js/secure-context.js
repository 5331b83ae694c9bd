/**
 * Ids, locks and the clipboard, wherever the page comes from. Over plain HTTP from another host there is no secure
 * context, and so no `crypto.randomUUID`, `navigator.locks` or `navigator.clipboard`; each has a substitute here. No
 * other module of the page uses what needs a secure context.
 */

/** A random id. @param {number} digits  hexadecimal, an even number */
export function randomHex(digits) {
  const bytes = crypto.getRandomValues(new Uint8Array(digits / 2));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A tab that holds a lock objects within this time. */
const ANSWER_MS = 150;
const RETRY_MS = 1000;

/**
 * Locks that the tabs of a browser agree on by messages: a tab that holds a lock objects when another one asks for it, and
 * a tab that was closed, or has crashed, does not. A tab that is too busy to object may lose its lock; then two tabs
 * may send the same message, which is once in the thread all the same, by its idempotency key.
 */
export class TabLocks {
  #channel;
  /** By name: who has the lock in this tab, or asks for it. */
  #claims = new Map();

  constructor(channel = new BroadcastChannel("turnstream-locks")) {
    this.#channel = channel;
    channel.addEventListener("message", ({ data }) => this.#hear(data));
  }

  /** As `navigator.locks.request`, for exclusive locks. */
  async request(name, { ifAvailable = false, signal } = {}, act) {
    while (!(await this.#take(name))) {
      if (ifAvailable) return act(null);
      await pause(RETRY_MS);
      signal?.throwIfAborted();
    }
    try {
      signal?.throwIfAborted();
      return await act({ name });
    } finally {
      this.#claims.delete(name);
    }
  }

  async #take(name) {
    if (this.#claims.has(name)) return false;
    const claim = { id: randomHex(16), isHeld: false, isLost: false };
    this.#claims.set(name, claim);
    this.#channel.postMessage({ asksFor: name, id: claim.id });
    await pause(ANSWER_MS);
    claim.isHeld = !claim.isLost;
    if (claim.isLost) this.#claims.delete(name);
    return claim.isHeld;
  }

  /** Of two tabs that ask before either has the lock, the one with the smaller id gets it. */
  #hear({ asksFor, objectsTo, id }) {
    const claim = this.#claims.get(asksFor ?? objectsTo);
    if (!claim) return;
    if (objectsTo) claim.isLost ||= claim.id === id;
    else if (claim.isHeld || claim.id < id) this.#channel.postMessage({ objectsTo: asksFor, id });
    else claim.isLost = true;
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const locks = navigator.locks ?? new TabLocks();

/**
 * Copy a text. One that is not there yet is promised at once: some browsers take only what a click itself brings.
 *
 * @param {string | Promise<string>} text @throws {Error} if the browser does not allow it
 */
export async function copyText(text) {
  if (!navigator.clipboard) return copySelected(await text);
  if (typeof text === "string") return navigator.clipboard.writeText(text);
  const plain = text.then((words) => new Blob([words], { type: "text/plain" }));
  return navigator.clipboard.write([new ClipboardItem({ "text/plain": plain })]);
}

function copySelected(text) {
  const { activeElement } = document;
  const field = document.createElement("textarea");
  field.className = "copied-text";
  field.readOnly = true;
  field.value = text;
  document.body.append(field);
  field.focus({ preventScroll: true });
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  activeElement?.focus({ preventScroll: true });
  if (!isCopied) throw new Error("The browser does not allow a page to copy.");
}
