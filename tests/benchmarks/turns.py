"""The cost of a turn beside a bare loop over `graph.astream`, both measured in turns in one run.

A turn has 80 words; with the built-in graph it begins with one call of a tool. A hot model outruns
the wire, a paced one sends 80 words a second. `--quick` takes fewer starts and bursts.
docs/benchmarks.md describes the figures.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.benchmarks.model import SLOWLY, WORDS
from tests.benchmarks.pairs import Compared, Figures, compare
from tests.benchmarks.processes import PROJECT, Process, started
from tests.support.endpoint.paces import WORDS as SAID

FIRST_CLIENT, SECOND_CLIENT = "tests.benchmarks.client", "tests.benchmarks.second_client"
SECOND, SECOND_TO_FIRST = ", second client", ", second : first"
AGREEMENT = 0.05
"""The ratios by the two clients may differ by so much."""


@dataclass(frozen=True)
class Load:
    """Bursts of `at_once` turns; a burst begins when all turns of the last one have ended."""

    at_once: int
    bursts: int
    is_paced: bool = False

    @property
    def turns(self) -> int:
        return self.at_once * self.bursts

    async def run(
        self,
        server: Process,
        headers: Mapping[str, str] | None = None,
        client: str = FIRST_CLIENT,
    ) -> Sequence[Mapping[str, float]]:
        """Run the bursts from a client's process; the result is each turn's times."""
        load = {
            "url": server.url,
            "at_once": self.at_once,
            "bursts": self.bursts,
            "message": f"Speak {SLOWLY}." if self.is_paced else "Speak fast.",
            "first_word": SAID[0],
            "headers": headers or {},
        }
        command = (sys.executable, "-m", client)
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(*command, cwd=PROJECT, stdin=pipe, stdout=pipe)
        output, _ = await child.communicate(json.dumps(load).encode())
        if child.returncode:
            raise RuntimeError(f"{client} ended with {child.returncode}")
        times: Sequence[Mapping[str, float]] = json.loads(output)
        return times


async def cpu_of_turns(
    server: Process, at_once: int, headers: Mapping[str, str] | None = None
) -> float:
    """Measure the CPU time of 24 turns of a hot model, in bursts."""
    before = server.cpu_seconds()
    await Load(at_once, 24 // at_once).run(server, headers)
    return server.cpu_seconds() - before


@dataclass(frozen=True)
class Scenario:
    load: Load
    is_checked: bool = False
    """Measured by the second client too."""

    def __str__(self) -> str:
        pace = "paced model" if self.load.is_paced else "hot model"
        return f"{pace}, burst of {self.load.at_once}"

    async def measure(self, server: Process) -> Figures:
        before = server.cpu_seconds()
        times = await self.load.run(server)
        cpu = (server.cpu_seconds() - before) / self.load.turns
        figures = {
            "server CPU a turn, ms": cpu * 1000,
            "headers, ms": _median(times, "headers") * 1000,
            "first word, ms": _median(times, "first word") * 1000,
            "whole turn, ms": _median(times, "end") * 1000,
            "bytes a word": _median(times, "bytes") / WORDS,
        }
        return {**figures, **(await self._check(server, figures) if self.is_checked else {})}

    async def _check(self, server: Process, figures: Figures) -> Figures:
        before = server.cpu_ticks()
        times = await self.load.run(server, client=SECOND_CLIENT)
        second = {
            "server CPU a turn, ms": (server.cpu_ticks() - before) / self.load.turns * 1000,
            "first word, ms": _median(times, "first word") * 1000,
            "whole turn, ms": _median(times, "end") * 1000,
        }
        shares = {f"{name}{SECOND_TO_FIRST}": second[name] / figures[name] for name in second}
        return {**{f"{name}{SECOND}": second[name] for name in second}, **shares}


def _median(times: Sequence[Mapping[str, float]], figure: str) -> float:
    return statistics.median(each[figure] for each in times)


def scenarios(*, is_quick: bool) -> Sequence[Scenario]:
    hot, paced = ((8, 2, 1), (3, 2, 1)) if is_quick else ((16, 6, 2), (5, 4, 2))
    return [
        Scenario(Load(at_once, bursts, is_paced), is_checked=at_once == 8)
        for is_paced, counts in ((False, hot), (True, paced))
        for at_once, bursts in zip((1, 8, 32), counts, strict=True)
    ]


@dataclass(frozen=True)
class Graphs:
    """A graph of our server, and the module of the graph in the bare loop."""

    title: str
    options: Sequence[str]
    bare_graph: str


GRAPHS = (
    Graphs("built-in graph", (), "tests.benchmarks.plain_graph"),
    Graphs(
        "a user's own graph",
        ("--graph", f"{PROJECT / 'tests/benchmarks/own_graph.py'}:graph"),
        "tests.benchmarks.own_graph",
    ),
)


@contextmanager
def both(graphs: Graphs, start: int) -> Iterator[tuple[Process, Process]]:
    """The server and the bare loop, each on a database of its own, on one model server."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        model = stack.enter_context(started("tests.benchmarks.model"))
        variables = {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "test",
            "TURNSTREAM_MAX_NEW_THREADS": "1000000",
        }
        ours = ("--port", "0", "--model", "scripted", "--database", str(Path(folder, "ours.db")))
        bare = ("--graph", graphs.bare_graph, "--database", str(Path(folder, "bare.db")))
        commands = [("server", *ours, *graphs.options), ("tests.benchmarks.bare", *bare)]
        made: dict[str, Process] = {}
        for module, *arguments in commands if start % 2 else reversed(commands):
            made[module] = stack.enter_context(started(module, *arguments, **variables))
        yield made["server"], made["tests.benchmarks.bare"]


async def warm_up(server: Process) -> None:
    await Load(32, 2).run(server)


async def report(graphs: Graphs, *, is_quick: bool) -> None:
    chosen = scenarios(is_quick=is_quick)
    measures = [scenario.measure for scenario in chosen]
    starts, repeats = (3, 1) if is_quick else (6, 2)
    found = await compare(partial(both, graphs), measures, warm_up, starts, repeats)
    for scenario, compared in zip(chosen, found, strict=True):
        print(f"{graphs.title}, {scenario}: ours : bare, ratio (95 %)")
        for figure in compared.logarithms:
            if not figure.endswith(SECOND_TO_FIRST):
                print(f"  {line(compared, figure)}", flush=True)


def line(compared: Compared, figure: str) -> str:
    """A figure of both servers; by the second client with its difference from the first."""
    ours, bare = compared.medians(figure)
    text = f"{figure:<36} {ours:8.1f} : {bare:<8.1f} {compared.ratio(figure)}"
    if not figure.endswith(SECOND):
        return text
    ratio = compared.ratio(figure.removesuffix(SECOND) + SECOND_TO_FIRST)
    agrees = abs(ratio.middle - 1) <= AGREEMENT
    verdict = "agrees" if agrees else "DISAGREES by more than 5 %"
    return f"{text}, {verdict}: {ratio.as_difference()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    is_quick = parser.parse_args().quick
    for graphs in GRAPHS:
        asyncio.run(report(graphs, is_quick=is_quick))


if __name__ == "__main__":
    main()
