"""What one server costs beside another, in paired rounds with a confidence interval."""

import math
import statistics
from collections.abc import Awaitable, Callable

from tests.benchmarks.processes import Process

PAIRS = 12
T_95 = 2.201
"""Student's t for 95 %, two-sided, of PAIRS - 1 degrees of freedom."""


async def report_difference(
    title: str,
    measured: Process,
    beside: Process,
    cpu_seconds: Callable[[Process], Awaitable[float]],
) -> None:
    """Print by how many percent the first costs more; the two take turns in going first."""
    for server in (measured, beside):
        await cpu_seconds(server)
    ratios = []
    for pair in range(PAIRS):
        order = (measured, beside) if pair % 2 else (beside, measured)
        cost = {server.pid: await cpu_seconds(server) for server in order}
        ratios.append(math.log(cost[measured.pid] / cost[beside.pid]))
    mean = statistics.mean(ratios)
    half = T_95 * statistics.stdev(ratios) / math.sqrt(PAIRS)
    low, middle, high = (100 * math.expm1(value) for value in (mean - half, mean, mean + half))
    print(f"{title}: server CPU a turn, difference: {middle:+.1f} %")
    print(f"{title}: 95 % of it lies between {low:+.1f} % and {high:+.1f} %")
