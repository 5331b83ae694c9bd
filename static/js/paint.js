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

/** Work that takes longer than this is followed by a rest, in which others have so many milliseconds for each of its own. */
const SLOW_MS = 50;
const REST = 3;

/** Work that is done again and again while something grows. */
export class Pace {
  #work;
  #restsUntil = 0;
  #timer;

  /** @param {() => void} work */
  constructor(work) {
    this.#work = work;
  }

  /** Do the work, once its rest is over. */
  soon() {
    const rest = this.#restsUntil - performance.now();
    if (rest > 0) this.#timer ??= setTimeout(() => this.now(), rest);
    else this.now();
  }

  now() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const began = performance.now();
    this.#work();
    // The browser lays out what was made before it comes to this.
    setTimeout(() => {
      const took = performance.now() - began;
      this.#restsUntil = took > SLOW_MS ? performance.now() + REST * took : 0;
    });
  }
}
