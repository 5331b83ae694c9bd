"""The cost of a turn beside a bare loop over `graph.astream`, both measured in turns in one run.

A turn has 40 words; with the built-in graph it begins with one call of a tool. A hot model outruns
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
from tests.benchmarks.processes import PROJECT, SERVER, Process, started
from tests.support.endpoint.paces import WORDS as SAID

FIRST_CLIENT, SECOND_CLIENT = "tests.benchmarks.client", "tests.benchmarks.second_client"
SECOND, SECOND_TO_FIRST = ", second client", ", second : first"
AGREEMENT = 0.05
"""Largest difference of the two clients' ratios."""


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
        figures = self._figures(times, server.cpu_seconds() - before)
        if not self.is_checked:
            return figures
        before = server.cpu_ticks()
        times = await self.load.run(server, client=SECOND_CLIENT)
        second = self._figures(times, server.cpu_ticks() - before)
        return {
            **figures,
            **{f"{name}{SECOND}": second[name] for name in second},
            **{f"{name}{SECOND_TO_FIRST}": second[name] / figures[name] for name in second},
        }

    def _figures(self, times: Sequence[Mapping[str, float]], cpu_seconds: float) -> Figures:
        """Make figures a turn of what a client measured."""
        means = {name: statistics.mean(each[name] for each in times) for name in times[0]}
        size = means.pop("body bytes", None)
        if not self.load.is_paced:
            # The first words of a hot model depend on the turn that the server reads first.
            means = {"whole turn": means["whole turn"]}
        return {
            "server CPU, ms": cpu_seconds / self.load.turns * 1000,
            **{f"{name}, ms": seconds * 1000 for name, seconds in means.items()},
            **({"body bytes a word": size / WORDS} if size else {}),
        }


def scenarios(*, is_quick: bool) -> Sequence[Scenario]:
    hot, *paced = (2, 3, 2, 1) if is_quick else (8, 3, 5, 1)
    return [
        Scenario(Load(8, hot), is_checked=True),
        *(
            Scenario(Load(at_once, bursts, is_paced=True), is_checked=at_once == 8)
            for at_once, bursts in zip((1, 8, 32), paced, strict=True)
        ),
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
def both(graphs: Graphs, model: Process, start: int) -> Iterator[tuple[Process, Process]]:
    """The server and the bare loop, each on a database of its own, on one model server."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        variables = {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "test",
            "TURNSTREAM_MAX_NEW_THREADS": "1000000",
        }
        ours = ("--port", "0", "--model", "scripted", "--database", str(Path(folder, "ours.db")))
        bare = ("--graph", graphs.bare_graph, "--database", str(Path(folder, "bare.db")))
        commands = [(SERVER, *ours, *graphs.options), ("tests.benchmarks.bare", *bare)]
        made: dict[str, Process] = {}
        for module, *arguments in commands if start % 2 else reversed(commands):
            made[module] = stack.enter_context(started(module, *arguments, **variables))
        yield made[SERVER], made["tests.benchmarks.bare"]


async def warm_up(server: Process) -> None:
    await Load(32, 2).run(server)


async def report(graphs: Graphs, *, is_quick: bool) -> None:
    chosen = scenarios(is_quick=is_quick)
    measures = [scenario.measure for scenario in chosen]
    # Many short repeats: the machine changes from minute to minute, and both clients share that.
    starts, repeats = (3, 1) if is_quick else (6, 6)
    with started("tests.benchmarks.model") as model:
        servers = partial(both, graphs, model)
        found = await compare(servers, measures, warm_up, starts, repeats)
    for scenario, compared in zip(chosen, found, strict=True):
        print(f"{graphs.title}, {scenario}: ours : bare, ratio (95 %)")
        for figure in compared.logarithms:
            if not figure.endswith(SECOND_TO_FIRST):
                print(f"  {line(compared, figure)}", flush=True)


def line(compared: Compared, figure: str) -> str:
    """A figure of both servers; by the second client with its difference from the first."""
    ours, bare = compared.medians(figure)
    text = f"{figure:<29} {ours:8.1f} : {bare:<8.1f} {compared.ratio(figure)}"
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
