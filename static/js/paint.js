/** At most one painting a frame; a hidden tab has no frames, so there a timer paints. */

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
