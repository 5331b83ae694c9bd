"""A turn's cost beside a bare loop over `graph.astream`, both measured in turns in one run.

The turn: one tool call, then 200 words. The model's server outruns the wire, or it speaks a word
each 12 ms, as models do. The bare loop has the event loop and the HTTP parser of the server.
"""

import asyncio
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.benchmarks.client import Turn, turn
from tests.benchmarks.pairs import Figures, ratios
from tests.benchmarks.processes import Process, started

WORDS, TURNS = 200, 24
WORD_SECONDS = 0.012
STARTS = 5


@dataclass(frozen=True)
class Batch:
    cpu_seconds: float
    turns: list[Turn]

    def median(self, figure: Callable[[Turn], float]) -> float:
        return statistics.median(map(figure, self.turns))


async def batch(
    process: Process,
    at_once: int,
    headers: Mapping[str, str] | None = None,
    *,
    turns: int = TURNS,
    spread_seconds: float = 0,
) -> Batch:
    """Turns, `at_once` at a time, each on a thread of its own; the first ones begin within
    `spread_seconds`."""
    waiting = iter(range(turns))
    done: list[Turn] = []

    async def work(place: int) -> None:
        await asyncio.sleep(place * spread_seconds / at_once)
        done.extend([await turn(process.url, headers) for _ in waiting])

    before = process.cpu_seconds()
    await asyncio.gather(*map(work, range(at_once)))
    return Batch(process.cpu_seconds() - before, done)


@dataclass(frozen=True)
class Scenario:
    title: str
    at_once: int
    turns: int = TURNS
    pairs: int = 4
    is_paced: bool = False
    spread_seconds: float = 0

    async def measure(self, server: Process) -> Figures:
        done = await batch(
            server, self.at_once, turns=self.turns, spread_seconds=self.spread_seconds
        )
        return {
            "server CPU a turn, ms": done.cpu_seconds / self.turns * 1000,
            "headers, ms": done.median(lambda t: t.headers) * 1000,
            "first word, ms": done.median(lambda t: t.first_word) * 1000,
            "whole turn, ms": done.median(lambda t: t.end) * 1000,
            "bytes an event": done.median(lambda t: t.bytes / t.events),
            "events": done.median(lambda t: t.events),
        }


SCENARIOS = (
    Scenario("1 at once", 1),
    Scenario("8 at once", 8),
    Scenario("1 at once, paced", 1, turns=4, pairs=2, is_paced=True),
    Scenario("8 at once, paced", 8, turns=16, pairs=2, is_paced=True, spread_seconds=2.4),
    Scenario("burst of 8, paced", 8, turns=8, pairs=3, is_paced=True),
    Scenario("64 at once, paced", 64, turns=64, pairs=2, is_paced=True, spread_seconds=2.4),
)


@contextmanager
def both(is_paced: bool, start: int) -> Iterator[tuple[Process, Process]]:
    """The server and the bare loop, each on a database of its own, on one model server."""
    pace = ("--delay", str(WORD_SECONDS)) if is_paced else ()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        model = stack.enter_context(
            started("tests.support.endpoint", "--words", str(WORDS), "--tool-call", *pace)
        )
        variables = {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "test",
            "TURNSTREAM_MAX_NEW_THREADS": "1000000",
        }
        ours, bare = str(Path(folder, "ours.db")), str(Path(folder, "bare.db"))
        options = ("--port", "0", "--model", "scripted", "--database", ours)
        commands = [("server", *options), ("tests.benchmarks.bare", "--database", bare)]
        made: dict[str, Process] = {}
        for module, *arguments in commands if start % 2 else reversed(commands):
            made[module] = stack.enter_context(started(module, *arguments, **variables))
        yield made["server"], made["tests.benchmarks.bare"]


async def report(scenario: Scenario) -> None:
    found, ours, bare = await ratios(
        partial(both, scenario.is_paced), scenario.measure, STARTS, scenario.pairs
    )
    for name, ratio in found.items():
        print(
            f"{scenario.title}: {name}: {ours[name]:.1f} : {bare[name]:.1f}, ratio {ratio}",
            flush=True,
        )


async def main() -> None:
    for scenario in SCENARIOS:
        await report(scenario)


if __name__ == "__main__":
    asyncio.run(main())
