/** Where somebody read in each thread, in the tab's storage: a reload leads back to it. */

const KEY = "places";
const MAX_THREADS = 60;

export class Places {
  /** By a thread's id; who was there last is at the end. */
  #places = new Map(stored());

  /** @returns {{message: string, px: number} | null}  null: the end */
  of(id) {
    return this.#places.get(id) ?? null;
  }

  /** @param {{message: string, px: number} | null} place */
  keep(id, place) {
    if (id === null) return;
    this.#places.delete(id);
    if (place) this.#places.set(id, place);
    const kept = [...this.#places].slice(-MAX_THREADS);
    try {
      sessionStorage.setItem(KEY, JSON.stringify(kept));
    } catch {
      // The storage is full.
    }
  }

  clear() {
    this.#places.clear();
    sessionStorage.removeItem(KEY);
  }
}

function stored() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? [];
  } catch {
    return [];
  }
}
