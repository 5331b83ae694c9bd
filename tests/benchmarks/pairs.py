"""What one server costs beside another, with a confidence interval.

Two processes of the same program differ by some percent for as long as they live, by where their
memory lies. So both servers are started anew several times, and the interval is that of the means
of those starts; within a start the servers take turns, which evens out the machine's own speed.
"""

import math
import statistics
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

from tests.benchmarks.processes import Process

STARTS, PAIRS = 10, 6
T_95 = 2.262
"""Student's t for 95 %, two-sided, of STARTS - 1 degrees of freedom."""

Servers = Callable[[int], AbstractContextManager[tuple[Process, Process]]]
"""Starts both servers for the n-th time: the one that is measured, and the one beside it."""


async def report_difference(
    title: str, servers: Servers, cpu_seconds: Callable[[Process], Awaitable[float]]
) -> None:
    """Print by how many percent the first server costs more."""
    means = []
    for start in range(STARTS):
        with servers(start) as (measured, beside):
            for server in (measured, beside):
                await cpu_seconds(server)
            means.append(await _mean_ratio(measured, beside, cpu_seconds))
    mean = statistics.mean(means)
    half = T_95 * statistics.stdev(means) / math.sqrt(STARTS)
    low, middle, high = (100 * math.expm1(value) for value in (mean - half, mean, mean + half))
    print(f"{title}: server CPU a turn, difference: {middle:+.1f} %")
    print(f"{title}: 95 % of it lies between {low:+.1f} % and {high:+.1f} %")


async def _mean_ratio(
    measured: Process, beside: Process, cpu_seconds: Callable[[Process], Awaitable[float]]
) -> float:
    """As a logarithm."""
    ratios = []
    for pair in range(PAIRS):
        order = (measured, beside) if pair % 2 else (beside, measured)
        cost = {server.pid: await cpu_seconds(server) for server in order}
        ratios.append(math.log(cost[measured.pid] / cost[beside.pid]))
    return statistics.mean(ratios)
