"""A turn's cost beside a bare loop over `graph.astream`, measured in turn in one run.

The turn: one tool call, then 200 words, from a model server that outruns the wire.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.benchmarks.processes import Process, started

ROUNDS, PACED_ROUNDS, TURNS, WORDS = 7, 3, 24, 200


@dataclass(frozen=True)
class Turn:
    seconds: float
    first_word_seconds: float
    bytes: int
    events: int


@dataclass(frozen=True)
class Round:
    """One batch of turns on one server."""

    cpu_seconds: float
    turns: list[Turn]

    def median(self, figure: Callable[[Turn], float]) -> float:
        return statistics.median(map(figure, self.turns))


@contextmanager
def both(words: int, *paced: str) -> Iterator[tuple[Process, Process]]:
    """The server and the bare loop, each on a database of its own, on one model server."""
    with (
        tempfile.TemporaryDirectory() as folder,
        started("tests.support.endpoint", "--words", str(words), "--tool-call", *paced) as model,
    ):
        variables = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "test"}
        ours, bare = str(Path(folder, "ours.db")), str(Path(folder, "bare.db"))
        with (
            started(
                "server",
                *("--port", "0", "--model", "scripted", "--database", ours),
                **variables,
            ) as server,
            started("tests.benchmarks.bare", "--database", bare, **variables) as loop,
        ):
            yield server, loop


async def turn(http: httpx.AsyncClient) -> Turn:
    """One turn, on a thread of its own."""
    start = time.perf_counter()
    first = size = events = 0.0
    body = {"message": "Use a tool, then tell me."}
    async with http.stream("POST", "/chat", json=body) as response:
        response.raise_for_status()
        async for piece in response.aiter_raw():
            size += len(piece)
            events += piece.count(b"data: ")
            if not first and (b"text-delta" in piece or b'"text"' in piece):
                first = time.perf_counter() - start
    return Turn(time.perf_counter() - start, first, int(size), int(events))


async def batch(process: Process, at_once: int, headers: Mapping[str, str] | None = None) -> Round:
    """TURNS turns, `at_once` at a time, each on a thread of its own."""
    async with httpx.AsyncClient(base_url=process.url, timeout=60, headers=headers) as http:
        waiting = iter(range(TURNS))
        done: list[Turn] = []

        async def work() -> None:
            done.extend([await turn(http) for _ in waiting])

        before = process.cpu_seconds()
        await asyncio.gather(*(work() for _ in range(at_once)))
        return Round(process.cpu_seconds() - before, done)


async def compare(at_once: int) -> None:
    with both(WORDS) as (server, loop):
        await batch(server, at_once)
        await batch(loop, at_once)
        pairs = [(await batch(server, at_once), await batch(loop, at_once)) for _ in range(ROUNDS)]
    report(f"{at_once} at once", pairs)


def report(title: str, pairs: list[tuple[Round, Round]]) -> None:
    def ratio(figure: Callable[[Round], float]) -> float:
        return statistics.median(figure(ours) / figure(bare) for ours, bare in pairs)

    ours, bare = pairs[len(pairs) // 2]
    lines = {
        "server CPU a turn, ours : bare": ratio(lambda r: r.cpu_seconds),
        "wall a turn, ours : bare": ratio(lambda r: r.median(lambda t: t.seconds)),
        "first word, ours : bare": ratio(lambda r: r.median(lambda t: t.first_word_seconds)),
        "server CPU a turn, ours, ms": ours.cpu_seconds / TURNS * 1000,
        "server CPU a turn, bare, ms": bare.cpu_seconds / TURNS * 1000,
        "bytes a turn, ours": ours.median(lambda t: t.bytes),
        "bytes a turn, bare": bare.median(lambda t: t.bytes),
        "events a turn, ours": ours.median(lambda t: t.events),
    }
    for name, value in lines.items():
        print(f"{title}: {name}: {value:.3g}" if value < 100 else f"{title}: {name}: {value:.0f}")


async def paced() -> None:
    """With a model of a person's reading pace every word is an event of its own."""
    with both(WORDS, "--delay", "0.012") as (server, loop):
        pairs = [(await batch(server, 8), await batch(loop, 8)) for _ in range(PACED_ROUNDS)]
    report("8 at once, paced", pairs)
    sizes = [turn.bytes / turn.events for ours, _ in pairs for turn in ours.turns]
    print(f"paced: bytes an event: {statistics.median(sizes):.0f}")


async def main() -> None:
    steps: list[Awaitable[None]] = [compare(1), compare(8), paced()]
    for step in steps:
        await step


if __name__ == "__main__":
    asyncio.run(main())
