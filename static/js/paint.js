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
