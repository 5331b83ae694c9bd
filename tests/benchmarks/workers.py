"""Several workers on Postgres and Redis beside one process on a SQLite file, in one run.

The turn is that of the other benchmarks: one tool call, then 200 words of a model that outruns the
wire. In each start the three set-ups run at once and take turns at the load. Throughput is measured
twice: as the time for so many turns, and as the turns of so many seconds. There are many turns:
the last ones do not come together, so two workers are not busy there.
"""

import asyncio
import json
import math
import os
import re
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.benchmarks.clock_model import clock_model
from tests.benchmarks.pairs import Ratio
from tests.benchmarks.processes import SERVER, Process, started
from tests.benchmarks.streams import UNCAPPED, Reader, many_calls, say, say_lags
from tests.support.endpoint import StrictEndpoint
from tests.support.private_engines import PrivateEngines, private_engines

STARTS, ROUNDS = 4, 2
AT_ONCE, TURNS, SECONDS = 16, 256, 4.0
LAG_RUNS, LAG_WORDS, LAG_SECONDS = 20, 150, 0.02
LIVE_RUNS, LIVE_WORDS, LIVE_SECONDS = 40, 200, 0.1
DURABLE = ("fsync=on", "full_page_writes=on")
COUNTS = "shared_preload_libraries=pg_stat_statements"
SQLITE, ONE, TWO = "one process on SQLite", "one worker", "two workers"
PAIRS = ((ONE, SQLITE), (TWO, SQLITE), (TWO, ONE))


@dataclass(frozen=True)
class SetUp:
    """Servers that a load is spread over in turns."""

    name: str
    processes: Sequence[Process]

    def cpu_seconds(self) -> float:
        return sum(process.cpu_seconds() for process in self.processes)


def variables(model_url: str, **settings: str) -> dict[str, str]:
    model = {"OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "test"}
    named = {"MODEL": "scripted", **UNCAPPED, **settings}
    return model | {f"TURNSTREAM_{name}": value for name, value in named.items()}


@asynccontextmanager
async def shared(
    model_url: str, count: int, *settings: str
) -> AsyncIterator[tuple[SetUp, PrivateEngines]]:
    """Workers on engines of their own; `settings` are further ones of Postgres."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        engines = await stack.enter_async_context(
            private_engines(Path(folder), *DURABLE, *settings)
        )
        set_up = [
            stack.enter_context(
                started(SERVER, "--port", "0", **variables(model_url, **engines.settings))
            )
            for _ in range(count)
        ]
        yield SetUp(TWO if count == 2 else ONE, set_up), engines


@asynccontextmanager
async def alone(model_url: str) -> AsyncIterator[SetUp]:
    with tempfile.TemporaryDirectory() as folder:
        given = variables(model_url, DATABASE=str(Path(folder, "t.db")))
        with started(SERVER, "--port", "0", **given) as process:
            yield SetUp(SQLITE, [process])


# throughput

_numbers = count(1)
"""Equal titles cost the server time."""


async def turn(url: str) -> None:
    await Reader(url).post({"message": f"{next(_numbers)}: use a tool, then talk."})


async def fixed_work(set_up: SetUp) -> Mapping[str, float]:
    """So many turns."""
    waiting = iter(range(TURNS))

    async def work(place: int) -> None:
        url = set_up.processes[place % len(set_up.processes)].url
        for _ in waiting:
            await turn(url)

    cpu, begun = set_up.cpu_seconds(), time.perf_counter()
    await asyncio.gather(*map(work, range(AT_ONCE)))
    seconds = time.perf_counter() - begun
    return {
        "turns a second": TURNS / seconds,
        "workers' CPU a turn, ms": (set_up.cpu_seconds() - cpu) / TURNS * 1000,
    }


async def fixed_time(set_up: SetUp) -> Mapping[str, float]:
    """The turns that end in so many seconds, and what the whole machine works for one."""
    ends = time.perf_counter() + SECONDS
    done = 0

    async def work(place: int) -> None:
        nonlocal done
        url = set_up.processes[place % len(set_up.processes)].url
        while time.perf_counter() < ends:
            await turn(url)
            done += time.perf_counter() < ends

    before = _busy_seconds()
    await asyncio.gather(*map(work, range(AT_ONCE)))
    return {
        "turns a second, by time": done / SECONDS,
        "the whole machine's CPU a turn, ms": (_busy_seconds() - before) / max(done, 1) * 1000,
    }


def _busy_seconds() -> float:
    """User and system time of all processes."""
    user, nice, system = Path("/proc/stat").read_text().split()[1:4]
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


async def throughput() -> None:
    logs: dict[tuple[str, str, str], list[float]] = {}
    seen: dict[tuple[str, str], list[float]] = {}
    with started("tests.support.endpoint", "--words", "200", "--tool-call") as model:
        for start in range(STARTS):
            async with (
                alone(model.url) as sqlite,
                shared(model.url, 1) as (one, _),
                shared(model.url, 2) as (two, _),
            ):
                set_ups = [sqlite, one, two]
                for set_up in set_ups:
                    await fixed_work(set_up)
                rounds = []
                for number in range(ROUNDS):
                    turned = set_ups[number % 3 :] + set_ups[: number % 3]
                    ordered = turned if start % 2 else turned[::-1]
                    rounds.append(await _round(ordered))
            _collect(rounds, logs, seen)
    for (name, figure), values in seen.items():
        say(f"{name}: {figure}", statistics.median(values))
    for (first, second, figure), means in logs.items():
        print(f"{first} : {second}: {figure}: ratio {Ratio.of(means)}", flush=True)


Round = Mapping[str, Mapping[str, float]]


async def _round(set_ups: Sequence[SetUp]) -> Round:
    return {s.name: {**await fixed_work(s), **await fixed_time(s)} for s in set_ups}


def _collect(
    rounds: Sequence[Round],
    logs: dict[tuple[str, str, str], list[float]],
    seen: dict[tuple[str, str], list[float]],
) -> None:
    """Of each start the mean of its rounds' ratios."""
    for found in rounds:
        for name, figures in found.items():
            for figure, value in figures.items():
                seen.setdefault((name, figure), []).append(value)
    for first, second in PAIRS:
        for figure in rounds[0][first]:
            ratios = [math.log(found[first][figure] / found[second][figure]) for found in rounds]
            logs.setdefault((first, second, figure), []).append(statistics.mean(ratios))


# one figure each


async def lag() -> None:
    """Runs at one worker that are read at the other one, a word each 20 ms."""
    async with (
        clock_model(LAG_WORDS, LAG_SECONDS) as model,
        shared(model.url, 2) as (set_up, _),
    ):
        there, here = set_up.processes
        posted = [Reader(there.url) for _ in range(LAG_RUNS)]
        attached = [Reader(here.url) for _ in range(LAG_RUNS)]
        tasks = []
        for number, (first, second) in enumerate(zip(posted, attached, strict=True)):
            body = {"thread_id": f"t{number}", "message": "What time is it?"}
            tasks.append(asyncio.create_task(first.post(body)))
            await first.opened.wait()
            tasks.append(asyncio.create_task(second.get(f"/chat/t{number}/stream")))
        await asyncio.gather(*tasks)
    # What a late reader missed is late by design.
    say_lags("at the worker that runs", [lag for r in posted for lag in r.lags[20:]])
    say_lags("at another worker", [lag for r in attached for lag in r.lags[20:]])


async def long_replay() -> None:
    """Attaching to a run of 5000 events that has ended at the other worker."""
    async with StrictEndpoint() as endpoint:
        endpoint.default = many_calls
        async with shared(endpoint.base_url, 2) as (set_up, _):
            there, here = set_up.processes
            first = Reader(there.url)
            await first.post({"thread_id": "long", "message": "Go."})
            run = await _last_run(there.url, "long")
            for name, process in (
                ("at the worker that ran it", there),
                ("at another worker", here),
                ("there again", here),
            ):
                reader, begun = Reader(process.url), time.monotonic()
                await reader.get(f"/chat/long/stream?last_event_id={run}:0")
                say(f"replay of 5000 events, {name}", (time.monotonic() - begun) * 1000, " ms")


async def _last_run(url: str, thread: str) -> str:
    found = json.loads(await _body(url, f"/threads/{thread}"))
    return str(found["run_id"])


async def _body(url: str, path: str) -> bytes:
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=2**24)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    said = await reader.read()
    writer.close()
    body = said.partition(b"\r\n\r\n")[2]
    return re.sub(rb"^[0-9a-f]+\r\n|\r\n[0-9a-f]+\r\n", b"", body)


async def redis_bytes() -> None:
    """What a live run takes there, by its keys and by the server's own sum."""
    async with (
        clock_model(LIVE_WORDS, LIVE_SECONDS) as model,
        shared(model.url, 1) as (set_up, engines),
    ):
        with engines.redis.client() as client:
            (process,) = set_up.processes
            await Reader(process.url).post({"thread_id": "warm", "message": "Warm up."})
            client.flushall()
            before = int(client.info("memory")["used_memory"])
            readers = [Reader(process.url) for _ in range(LIVE_RUNS)]
            tasks = [
                asyncio.create_task(r.post({"thread_id": f"t{n}", "message": "What time is it?"}))
                for n, r in enumerate(readers)
            ]
            nearly_all = LIVE_WORDS * 0.9
            while min(len(r.lags) for r in readers) < nearly_all:  # noqa: ASYNC110  it has no event
                await asyncio.sleep(0.2)
            words = statistics.mean(len(reader.lags) for reader in readers)
            grown = int(client.info("memory")["used_memory"]) - before
            keys = list(client.scan_iter("turnstream:*"))
            sizes = sum(client.memory_usage(key) or 0 for key in keys)
            await asyncio.gather(*tasks)
    say(f"a live run of {words:.0f} words: bytes of its keys", sizes / LIVE_RUNS)
    say("the same by the memory that Redis uses", grown / LIVE_RUNS)
    say("bytes an event", sizes / LIVE_RUNS / words)


async def queries() -> None:
    """Statements and transactions that a turn costs Postgres; of an idle second, what renewing
    does."""
    with started("tests.support.endpoint", "--words", "200", "--tool-call") as model:
        async with shared(model.url, 1, COUNTS) as (set_up, engines):
            await engines.query("CREATE EXTENSION pg_stat_statements")
            await fixed_work(set_up)
            before, begun = await _statements(engines), time.monotonic()
            await asyncio.sleep(5)
            idle = (await _statements(engines) - before) / (time.monotonic() - begun)
            before, begun = await _statements(engines), time.monotonic()
            transactions = await _transactions(engines)
            await fixed_work(set_up)
            grown = await _statements(engines) - before - idle * (time.monotonic() - begun)
            await asyncio.sleep(1.5)  # until each connection has told what it did
            done = await _transactions(engines) - transactions
    say("statements a turn", grown / TURNS)
    say("transactions a turn, by the database's own count", done / TURNS)
    say("statements a second without a run", idle)


async def _statements(engines: PrivateEngines) -> float:
    what = "query !~* 'pg_stat|^(BEGIN|COMMIT|ROLLBACK|SET|DEALLOCATE)'"
    ((count,),) = await engines.query(f"SELECT sum(calls) FROM pg_stat_statements WHERE {what}")
    return float(count or 0)


async def _transactions(engines: PrivateEngines) -> float:
    ((count,),) = await engines.query(
        "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    )
    return float(count)


MEASURES: Sequence[Callable[[], Awaitable[None]]] = (
    throughput,
    lag,
    long_replay,
    redis_bytes,
    queries,
)


async def main() -> None:
    chosen = os.environ.get("MEASURES", "").split()
    for measure in MEASURES:
        if not chosen or measure.__name__ in chosen:
            await measure()


if __name__ == "__main__":
    asyncio.run(main())
