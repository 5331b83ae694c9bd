"""The cost of one server beside another, with a confidence interval.

Two processes of the same program differ by some percent for as long as they live, by where their
memory lies. So both servers are started anew several times, and the interval is that of the means
of those starts; within a start the servers take turns, which evens out the machine's own speed.
"""

import math
import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from tests.benchmarks.processes import Process

STARTS, PAIRS = 10, 6
T_95 = {3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 8: 2.365, 10: 2.262}
"""Student's t for 95 %, two-sided, by the number of starts: of one degree of freedom less."""

Servers = Callable[[int], AbstractContextManager[tuple[Process, Process]]]
"""Start both servers for the n-th time: the one that is measured, and the one beside it."""
Figures = Mapping[str, float]
Measure = Callable[[Process], Awaitable[Figures]]


@dataclass(frozen=True)
class Ratio:
    """One server's figure by the other's: the geometric mean, with its 95 % interval."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, logarithms: Sequence[float]) -> "Ratio":
        """Make a ratio of the logarithms of each start's mean."""
        count, mean = len(logarithms), statistics.mean(logarithms)
        half = T_95[count] * statistics.stdev(logarithms) / math.sqrt(count)
        return cls(*map(math.exp, (mean - half, mean, mean + half)))

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f} to {self.high:.2f})"

    def as_difference(self) -> str:
        """Format the ratio as percents above or below one."""
        middle, low, high = (100 * (r - 1) for r in (self.middle, self.low, self.high))
        return f"{middle:+.1f} % ({low:+.1f} to {high:+.1f})"


@dataclass
class Compared:
    """The figures of one measure, of both servers, over all starts."""

    logarithms: dict[str, list[float]] = field(default_factory=dict)
    """The mean of each start, by figure."""
    measured: list[Figures] = field(default_factory=list)
    beside: list[Figures] = field(default_factory=list)

    def add(self, taken: Sequence[tuple[Figures, Figures]]) -> None:
        """Add the pairs of one start."""
        for name in taken[0][0]:
            logs = [math.log(figures[name] / beside[name]) for figures, beside in taken]
            self.logarithms.setdefault(name, []).append(statistics.mean(logs))
        self.measured.extend(figures for figures, _ in taken)
        self.beside.extend(beside for _, beside in taken)

    def ratio(self, name: str) -> Ratio:
        return Ratio.of(self.logarithms[name])

    def medians(self, name: str) -> tuple[float, float]:
        """Return the figure of the server that is measured, and of the one beside it."""
        measured, beside = (
            statistics.median(each[name] for each in side) for side in (self.measured, self.beside)
        )
        return measured, beside


async def compare(
    servers: Servers,
    measures: Sequence[Measure],
    warm_up: Callable[[Process], Awaitable[object]],
    starts: int = STARTS,
    pairs: int = PAIRS,
) -> Sequence[Compared]:
    """Compare both servers in each of the measures."""
    found = [Compared() for _ in measures]
    for start in range(starts):
        with servers(start) as both:
            for server in both:
                await warm_up(server)
            for measure, compared in zip(measures, found, strict=True):
                swaps = [bool((start + n) % 2) for n in range(pairs)]
                compared.add([await _pair(both, measure, swapped=swapped) for swapped in swaps])
    return found


async def _pair(
    both: tuple[Process, Process], measure: Measure, *, swapped: bool
) -> tuple[Figures, Figures]:
    if not swapped:
        return await measure(both[0]), await measure(both[1])
    beside = await measure(both[1])
    return await measure(both[0]), beside


async def report_difference(
    title: str, servers: Servers, cpu_seconds: Callable[[Process], Awaitable[float]]
) -> None:
    """Print by how many percent the first server costs more."""

    async def measure(server: Process) -> Figures:
        return {"cpu": await cpu_seconds(server)}

    (found,) = await compare(servers, [measure], measure)
    difference = found.ratio("cpu").as_difference()
    print(f"{title}: server CPU a turn, difference: {difference}")
