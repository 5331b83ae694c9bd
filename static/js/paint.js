/** When the page is painted. */

/** Paintings that wait for their frame. @type {Set<() => void>} */
const due = new Set();

/** At most once a frame; a hidden tab has no frames, so there a timer paints. */
export function painter(paint) {
  const run = () => due.delete(run) && paint();
  return () => {
    if (due.has(run)) return;
    due.add(run);
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

/** Paint what is to be painted, and draw long texts to their ends: paper does not wait. */
export function drawAtOnce() {
  for (const run of due) run();
  for (const pace of unfinished) pace.atOnce();
}

/** Work that is done again and again while something grows. */
export class Pace {
  #work;
  #restsUntil = 0;
  #timer;
  /** Work that goes on. */
  #steps = null;
  /** The method that does it again at its end. */
  #again = null;

  /**
   * @param {() => Iterable<void> & Iterator<void>} work  goes on in a further task after each
   *   `yield`
   */
  constructor(work) {
    this.#work = work;
  }

  /** Do the work, once its rest is over. */
  soon() {
    const rest = this.#restsUntil - performance.now();
    if (this.#steps) this.#again ??= "soon";
    else if (rest > 0) {
      this.#timer ??= setTimeout(() => this.now(), rest);
      unfinished.add(this);
    } else this.now();
  }

  now() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#steps) {
      this.#again = "now";
      return;
    }
    const began = { at: performance.now(), isHidden: document.hidden };
    const steps = this.#work();
    if (steps.next().done) {
      this.#measure(began);
      this.#finish();
    } else {
      this.#steps = steps;
      unfinished.add(this);
      this.#goOn(steps, began);
    }
  }

  /** Do in this task what goes on or rests. */
  atOnce() {
    const isDue = this.#timer !== undefined || this.#again !== null;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const steps of [this.#steps ?? [], isDue ? this.#work() : []]) Array.from(steps);
    this.#steps = null;
    this.#again = null;
    this.#finish();
  }

  #goOn(steps, began) {
    const step = () => {
      if (this.#steps !== steps) return;
      let isDone = true;
      try {
        isDone = steps.next().done;
      } finally {
        if (isDone) this.#measure(began, steps);
        else this.#goOn(steps, began);
      }
    };
    // A hidden tab has no frames that wait, and slow timers.
    if (document.hidden) queueMicrotask(step);
    else setTimeout(step);
  }

  #finish() {
    unfinished.delete(this);
    if (!isDrawing()) for (const then of waiting.splice(0)) setTimeout(then);
  }

  #measure({ at, isHidden }, steps = null) {
    // The browser lays out what was made before it comes to this. In a hidden tab it comes late,
    // whatever the work was.
    setTimeout(() => {
      const took = isHidden || document.hidden ? 0 : performance.now() - at;
      this.#restsUntil = took > SLOW_MS ? performance.now() + REST * took : 0;
      if (this.#steps !== steps) return;
      const again = this.#again;
      this.#steps = null;
      this.#again = null;
      if (again) this[again]();
      else if (this.#timer === undefined) this.#finish();
    });
  }
}
