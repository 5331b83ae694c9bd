"""What one server costs beside another, with a confidence interval.

Two processes of the same program differ by some percent for as long as they live, by where their
memory lies. So both servers are started anew several times, and the interval is that of the means
of those starts; within a start the servers take turns, which evens out the machine's own speed.
"""

import math
import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tests.benchmarks.processes import Process

STARTS, PAIRS = 10, 6
T_95 = {4: 3.182, 5: 2.776, 6: 2.571, 8: 2.365, 10: 2.262}
"""Student's t for 95 %, two-sided, by the number of starts: of one degree of freedom less."""

Servers = Callable[[int], AbstractContextManager[tuple[Process, Process]]]
"""Starts both servers for the n-th time: the one that is measured, and the one beside it."""
Figures = Mapping[str, float]
Measure = Callable[[Process], Awaitable[Figures]]


@dataclass(frozen=True)
class Ratio:
    """Of the one server's figure to the other's: a geometric mean, and what 95 % lie between."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, logarithms: Sequence[float]) -> "Ratio":
        """Of the logarithms of each start's mean."""
        count, mean = len(logarithms), statistics.mean(logarithms)
        half = T_95[count] * statistics.stdev(logarithms) / math.sqrt(count)
        return cls(*map(math.exp, (mean - half, mean, mean + half)))

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f} to {self.high:.2f})"


async def ratios(
    servers: Servers, measure: Measure, starts: int = STARTS, pairs: int = PAIRS
) -> tuple[Mapping[str, Ratio], Figures, Figures]:
    """The ratio of each figure; and the medians of both servers' own."""
    means: dict[str, list[float]] = {}
    seen: tuple[list[Figures], list[Figures]] = ([], [])
    for start in range(starts):
        with servers(start) as both:
            for server in both:
                await measure(server)
            taken = [await _pair(both, measure, swapped=bool(n % 2)) for n in range(pairs)]
        for name in taken[0][0]:
            logs = [math.log(ours[name] / beside[name]) for ours, beside in taken]
            means.setdefault(name, []).append(statistics.mean(logs))
        for ours, beside in taken:
            seen[0].append(ours)
            seen[1].append(beside)
    found = {name: Ratio.of(logs) for name, logs in means.items()}
    return found, _medians(seen[0]), _medians(seen[1])


async def _pair(
    both: tuple[Process, Process], measure: Measure, *, swapped: bool
) -> tuple[Figures, Figures]:
    if not swapped:
        return await measure(both[0]), await measure(both[1])
    beside = await measure(both[1])
    return await measure(both[0]), beside


def _medians(seen: Sequence[Figures]) -> Figures:
    return {name: statistics.median(figures[name] for figures in seen) for name in seen[0]}


async def report_difference(
    title: str, servers: Servers, cpu_seconds: Callable[[Process], Awaitable[float]]
) -> None:
    """Print by how many percent the first server costs more."""

    async def measure(server: Process) -> Figures:
        return {"cpu": await cpu_seconds(server)}

    found, _, _ = await ratios(servers, measure)
    low, middle, high = (100 * (r - 1) for r in _ends(found["cpu"]))
    print(f"{title}: server CPU a turn, difference: {middle:+.1f} %")
    print(f"{title}: 95 % of it lies between {low:+.1f} % and {high:+.1f} %")


def _ends(ratio: Ratio) -> tuple[float, float, float]:
    return ratio.low, ratio.middle, ratio.high
