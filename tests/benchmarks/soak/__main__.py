"""`make soak`: a server under a mix of use, its figures as a table and a plot, and what grows.

    make soak ARGS="--minutes 10"
    make soak ARGS="--week"

The exit code is 1 if a figure grows, if something is left when all is over, or if an answer was
not what it should be.

A week is 10,000 runs on about 2,000 threads, with a paced model, in `--minutes` (20 unless said
otherwise). Time is compressed: the server looks for old threads each hour of that week, and deletes
those of two days ago.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.benchmarks.observation import free_port
from tests.benchmarks.processes import PROJECT, started
from tests.benchmarks.soak.gauges import FIGURES, Gauges, Rest
from tests.benchmarks.soak.plot import draw
from tests.benchmarks.soak.server import HOUR
from tests.benchmarks.soak.trends import Verdict, judge
from tests.benchmarks.soak.visitor import Surprise, Visitor
from turnstream.server.runs.retention import DAY_SECONDS

ROWS, SAMPLES_A_ROW = 10, 12
WEEK_RUNS, WEEK_MINUTES = 10_000, 20.0
WEEK_SECONDS, RETENTION_DAYS = 7 * DAY_SECONDS, 2
REST_SECONDS = 15


@dataclass(frozen=True)
class Plan:
    minutes: float
    visitors: int
    word_seconds: float
    is_week: bool
    seed: int
    server: str
    """The module that serves."""
    picture: Path

    @property
    def seconds(self) -> float:
        return self.minutes * 60

    @property
    def settings(self) -> dict[str, str]:
        compressed = self.seconds / WEEK_SECONDS if self.is_week else 1
        named = {
            "RUN_RETENTION_SECONDS": min(60, max(2, self.seconds / 10)),
            "OFFLINE_WORD_SECONDS": self.word_seconds,
            "MAX_NEW_THREADS": 1_000_000,
            "THREAD_RETENTION_DAYS": RETENTION_DAYS * compressed,
            "LOG_LEVEL": "WARNING",
        }
        variables = {f"TURNSTREAM_{name}": str(value) for name, value in named.items()}
        return {**variables, HOUR: str(3600 * compressed)}


def plan(arguments: Sequence[str] | None = None) -> Plan:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, help=f"10, or {WEEK_MINUTES:.0f} of a week")
    parser.add_argument("--week", action="store_true", help=f"a week: {WEEK_RUNS} runs")
    parser.add_argument("--visitors", type=int, default=16, help="at once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", default="tests.benchmarks.soak.server", help=argparse.SUPPRESS)
    parser.add_argument("--picture", type=Path, default=PROJECT / "build" / "soak.svg")
    named = parser.parse_args(arguments)
    minutes = named.minutes or (WEEK_MINUTES if named.week else 10.0)
    if minutes <= 0 or named.visitors <= 0:
        parser.error("--minutes and --visitors must be more than 0")
    return Plan(
        minutes=minutes,
        visitors=named.visitors,
        word_seconds=0.002 if named.week or minutes < 1 else 0.012,
        is_week=named.week,
        seed=named.seed,
        server=named.server,
        picture=named.picture,
    )


@dataclass
class Soak:
    plan: Plan
    gauges: Gauges
    visits: Counter[str] = field(default_factory=Counter)
    surprises: Counter[str] = field(default_factory=Counter)

    async def use(self, url: str) -> None:
        """Let all visitors come and go until the time is over."""
        end = time.monotonic() + self.plan.seconds
        limits = httpx.Limits(max_connections=None)
        client = httpx.AsyncClient(base_url=url, timeout=60, limits=limits)
        async with client as http, asyncio.TaskGroup() as group:
            for number in range(self.plan.visitors):
                group.create_task(self._visitor(http, number, end))
            group.create_task(self._samples())

    async def _visitor(self, http: httpx.AsyncClient, number: int, end: float) -> None:
        chance = random.Random(self.plan.seed * 1000 + number)
        visitor = Visitor(http, chance, f"v{number}", keeps_threads=self.plan.is_week)
        while time.monotonic() < end:
            try:
                self.visits[await visitor.visit()] += 1
                await visitor.make_room()
            except (Surprise, httpx.HTTPError, OSError) as error:
                self.surprises[f"{type(error).__name__}: {error}"] += 1

    async def _samples(self) -> None:
        """Take them, and print a row of medians for each tenth of the time."""
        print(f"{'min':>6}" + "".join(f"{figure.title:>24}" for figure in FIGURES))
        begin, each = time.monotonic(), self.plan.seconds / ROWS / SAMPLES_A_ROW
        for row in range(ROWS):
            for number in range(SAMPLES_A_ROW):
                due = begin + (row * SAMPLES_A_ROW + number + 1) * each
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                await self.gauges.sample()
            cells = [self.gauges.middle(figure, SAMPLES_A_ROW) for figure in FIGURES]
            minutes = (time.monotonic() - begin) / 60
            print(f"{minutes:6.1f}" + "".join(f"{cell:24.4g}" for cell in cells), flush=True)

    async def rest(self, before: Rest) -> Rest:
        """What there is when nobody comes any more; waits for what goes by itself."""
        end = time.monotonic() + REST_SECONDS
        now = await self.gauges.rest()
        while now.more_than(before) and time.monotonic() < end:
            await asyncio.sleep(0.2)
            now = await self.gauges.rest()
        return now


async def soak(plan: Plan) -> int:
    """Its exit code."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "soak.db")
        options = ("--port", "0", "--database", str(database), "--metrics-port", str(port))
        with started(plan.server, *options, "--model", "offline", **plan.settings) as process:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
                soak = Soak(plan, Gauges(process, http, database))
                await soak.gauges.begun()
                before = await soak.gauges.rest()
                await soak.use(process.url)
                after = await soak.rest(before)
                runs = int((await soak.gauges.look())["turnstream_runs_total"])
    verdicts = [judge(figure, soak.gauges.points[figure], plan.seconds) for figure in FIGURES]
    plan.picture.parent.mkdir(exist_ok=True)
    plan.picture.write_text(draw(verdicts, plan.seconds))
    return report(soak, verdicts, runs, after.more_than(before))


def report(soak: Soak, verdicts: Sequence[Verdict], runs: int, left: Sequence[str]) -> int:
    for each in verdicts:
        trend, allowed = each.trend, each.figure.allowed(each.trend.middle)
        verdict = "GROWS" if each.grows else "ok"
        print(f"{each.figure.title}: rise {trend.rise:+.3g}, allowed {allowed:.3g}: {verdict}")
    print(f"{runs} runs; " + ", ".join(f"{n} x {name}" for name, n in soak.visits.most_common()))
    print(f"picture: {soak.plan.picture}")
    faults = [f"{v.figure.name} grows" for v in verdicts if v.grows]
    faults += [f"left when all is over: {each}" for each in left]
    faults += [f"{count} x {said}" for said, count in soak.surprises.most_common()]
    if soak.plan.is_week and runs < WEEK_RUNS:
        faults.append(f"a week has {WEEK_RUNS} runs: give it more --minutes or --visitors")
    for fault in faults:
        print(f"FAILED: {fault}")
    return min(1, len(faults))


if __name__ == "__main__":
    sys.exit(asyncio.run(soak(plan())))
