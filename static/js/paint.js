/** When the page is painted. */

/** At most once a frame; a hidden tab has no frames, so there a timer paints. */
export function painter(paint) {
  let due = false;
  const run = () => {
    due = false;
    paint();
  };
  return () => {
    if (due) return;
    due = true;
    if (document.hidden) setTimeout(run, 200);
    else requestAnimationFrame(run);
  };
}

/** What was to be painted until now has been. */
export const afterPaint = (then) => requestAnimationFrame(() => requestAnimationFrame(then));

/** Paces whose work is not done. @type {Set<Pace>} */
const unfinished = new Set();
/** @type {(() => void)[]} */
const waiting = [];

export const isDrawing = () => unfinished.size > 0;

/** What was to be painted until now has been, and long texts are drawn to their ends. */
export const afterDrawing = (then) => afterPaint(() => (isDrawing() ? waiting.push(then) : then()));

/** After work that takes longer than this comes a rest, `REST` times as long. */
const SLOW_MS = 50;
const REST = 3;

/** Work that is done again and again while something grows. */
export class Pace {
  #work;
  #restsUntil = 0;
  #timer;
  #isWorking = false;
  /** The method that does it again at its end. */
  #again = null;

  /**
   * @param {() => Promise<void> | undefined} work  returns a promise if it goes on in further tasks
   */
  constructor(work) {
    this.#work = work;
  }

  /** Do the work, once its rest is over. */
  soon() {
    const rest = this.#restsUntil - performance.now();
    if (this.#isWorking) this.#again ??= "soon";
    else if (rest > 0) {
      this.#timer ??= setTimeout(() => this.now(), rest);
      unfinished.add(this);
    } else this.now();
  }

  now() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isWorking) {
      this.#again = "now";
      return;
    }
    const began = { at: performance.now(), isHidden: document.hidden };
    const further = this.#work();
    this.#isWorking = further !== undefined;
    if (further) {
      unfinished.add(this);
      further.finally(() => this.#measure(began));
    } else {
      this.#measure(began);
      this.#finish();
    }
  }

  #finish() {
    unfinished.delete(this);
    if (!isDrawing()) for (const then of waiting.splice(0)) setTimeout(then);
  }

  #measure({ at, isHidden }) {
    // The browser lays out what was made before it comes to this. In a hidden tab it comes late,
    // whatever the work was.
    setTimeout(() => {
      const took = isHidden || document.hidden ? 0 : performance.now() - at;
      this.#restsUntil = took > SLOW_MS ? performance.now() + REST * took : 0;
      const again = this.#again;
      this.#isWorking = false;
      this.#again = null;
      if (again) this[again]();
      else if (this.#timer === undefined) this.#finish();
    });
  }
}
