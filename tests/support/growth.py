"""How the time of a piece of work grows with its input, on a machine that does other things too."""

from collections.abc import Callable
from time import thread_time

SIZES = (32, 256, 2_048, 16_384)
"""Each is eight times the one before: quadratic work takes 64 times as long."""
MOST = 3 * 8
"""Three times what linear work takes."""
FLOOR_SECONDS = 0.005
"""Work that takes less is not compared: it may be anything that the machine did."""
SCREENED_SECONDS = 0.001
RUNS = 3

Work = Callable[[int], object]
"""Something to do with an input of so many characters."""


def fault_of_growth(work: Work) -> str | None:
    """What is more than linear; None if nothing is. The time is that of this thread alone."""
    for _ in range(3):
        fault = _fault(work)
        if fault is None:
            return None
    return fault


def is_suspicious(work: Work) -> bool:
    """Whether it is worth the time to look at the growth: seldom, for linear work."""
    short = _seconds(work, SIZES[1], runs=1)
    if short > FLOOR_SECONDS:
        return True
    return _seconds(work, SIZES[2], runs=1) > max(SCREENED_SECONDS, 16 * short)


def _fault(work: Work) -> str | None:
    before = _seconds(work, SIZES[0])
    for size in SIZES[1:]:
        now = _seconds(work, size)
        if now > max(FLOOR_SECONDS, MOST * before):
            return f"{size} characters take {now:.4f} s, an eighth of them {before:.4f} s"
        before = now
    return None


def _seconds(work: Work, size: int, runs: int = RUNS) -> float:
    """The least of a few runs, or of one that is far too long."""
    least = float("inf")
    for _ in range(runs):
        start = thread_time()
        work(size)
        least = min(least, thread_time() - start)
        if least > 1:
            break
    return least
