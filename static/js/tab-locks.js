/**
 * Locks for the tabs of a browser, in place of `navigator.locks`, which a page over plain HTTP from
 * another host lacks.
 */

/** A tab that holds a lock objects within this time. */
const ANSWER_MS = 150;
const RETRY_MS = 1000;

/**
 * Locks that the tabs of a browser agree on by messages: a tab that holds a lock objects when
 * another one asks for it, and a tab that was closed, or has crashed, does not. A tab that is too
 * busy to object may lose its lock; then two tabs may send the same message, which is once in the
 * thread all the same, by its idempotency key.
 */
export class TabLocks {
  #channel;
  /** By name: who has the lock in this tab, or asks for it. */
  #claims = new Map();

  constructor(channel = new BroadcastChannel("turnstream-locks")) {
    this.#channel = channel;
    channel.addEventListener("message", ({ data }) => this.#hear(data));
  }

  /**
   * As `navigator.locks.request`, for exclusive locks.
   *
   * @param {string} name
   * @param {{ifAvailable?: boolean, signal?: AbortSignal}} options
   * @param {(lock: {name: string} | null) => any} act
   */
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
    const claim = { id: Math.random(), isHeld: false, isLost: false };
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
