"""A play: servers, visitors and faults for a while, then peace, and a last look at each thread."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.faults import Faults
from tests.chaos.frames import payloads
from tests.chaos.recorder import Recorder
from tests.chaos.records import History
from tests.chaos.stages import Stage
from tests.chaos.visitor import Known, Visitor
from tests.chaos.workers import MAX_RUN_SECONDS

MARGIN_SECONDS = 10.0
PATIENCE_SECONDS = 100.0
"""More than what a visitor does takes, with a run as long as one may be and all faults."""


@dataclass(frozen=True)
class Plan:
    seed: int
    workers: int = 1
    """More than one share Postgres and Redis; one is alone on a SQLite file."""
    threads: int = 200
    visitors: int = 24
    """At once."""
    requests: int | None = None
    seconds: float | None = None
    """Whatever comes first."""
    lease_seconds: float = 1.5
    fault_gap_seconds: tuple[float, float] = (0.5, 3.0)

    @property
    def faults_at_once(self) -> int:
        return 2 if self.workers > 1 else 1


@dataclass
class Played:
    plan: Plan
    history: History
    seconds: float
    requests: int
    acted: Counter[str] = field(default_factory=Counter)
    logs: list[Path] = field(default_factory=list)


async def play(plan: Plan, stage: Stage) -> Played:
    history, began = History(), time.time()
    recorder = Recorder(stage.url, history)
    threads = [f"t{number}" for number in range(plan.threads)]
    known = Known()
    visitors = [
        Visitor(recorder, random.Random(f"{plan.seed} {number}"), threads, known)
        for number in range(plan.visitors)
    ]
    faults = Faults(
        stage.workers,
        stage.engines,
        history,
        random.Random(f"{plan.seed} faults"),
        plan.lease_seconds,
        stage.database,
        plan.fault_gap_seconds,
    )

    def is_over() -> bool:
        enough = plan.requests is not None and recorder.requests >= plan.requests
        return enough or (plan.seconds is not None and time.time() - began >= plan.seconds)

    async def visit(visitor: Visitor) -> None:
        while not is_over():
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await visitor.act()
            except TimeoutError:
                history.stuck.append(f"{visitor.acting}, from {time.time() - PATIENCE_SECONDS:.3f}")

    async with asyncio.TaskGroup() as tasks:
        for visitor in visitors:
            tasks.create_task(visit(visitor))
        for _ in range(plan.faults_at_once):
            tasks.create_task(faults.go_on(is_over))
    await _make_peace(stage)
    await _come_to_rest(recorder, plan.lease_seconds)
    await _last_look(recorder, threads, plan.visitors)
    await stage.witnessed(history)
    acted = sum((Counter(visitor.acted) for visitor in visitors), Counter[str]())
    logs = [worker.log for worker in stage.workers]
    return Played(plan, history, time.time() - began, recorder.requests, acted, logs)


async def _make_peace(stage: Stage) -> None:
    """All workers run."""
    for worker in stage.workers:
        with suppress(ProcessLookupError, AssertionError):
            worker.go_on()
        if worker.exit_status is not None:
            await worker.start()


async def _come_to_rest(recorder: Recorder, lease_seconds: float) -> None:
    """No thread is live without a run for longer than a lease and a sweep, which takes as long."""
    patience = MAX_RUN_SECONDS + 2 * lease_seconds + MARGIN_SECONDS
    over = time.monotonic() + patience
    while True:
        status, said = await recorder.plain("list", "", "GET", "/threads?state=live&limit=100")
        live = [entry["id"] for entry in said.get("threads", ())]
        if status == 200 and not live:
            return
        if time.monotonic() > over:
            stuck = (f"live in thread {id}, {patience:.0f} s after the last fault" for id in live)
            recorder.history.stuck += [*stuck]
            return
        await asyncio.sleep(0.2)


async def _last_look(recorder: Recorder, threads: Sequence[str], at_once: int) -> None:
    """Each thread takes a next message, and is loaded once no run is live and nothing waits."""
    waiting = iter(threads)

    async def look() -> None:
        for thread in waiting:
            recorder.history.survivors[thread] = await _says_hello(recorder, thread)
            await _work_off(recorder, thread)
            await recorder.hydrate(thread, is_last=True)

    await asyncio.gather(*(look() for _ in range(at_once)))


async def _work_off(recorder: Recorder, thread: str) -> None:
    """Until nothing waits in the thread and no run is live; a message goes past a question."""
    over = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < over:
        loaded = await recorder.hydrate(thread) or {}
        waits = [one for one in loaded.get("queue", ()) if "problem" not in one]
        if not waits and not loaded.get("run"):
            return
        if loaded.get("run_state") == "waiting":
            await _says_hello(recorder, thread)
        await asyncio.sleep(0.1)
    recorder.history.stuck.append(f"queued in thread {thread}, {PATIENCE_SECONDS:.0f} s long")


async def _says_hello(recorder: Recorder, thread: str) -> str:
    """How the run ended that a message has begun; `stop` is well."""
    body = {"thread_id": thread, "message": "Hello", "on_busy": "stop"}
    reader, said = recorder.reader(), "no answer"
    for _ in range(20):
        async with recorder.ask("post", thread, "POST", "/chat", body) as (response, problem):
            if response is not None and response.status == 200:
                reading = await recorder.read(reader, thread, response)
                events = list(payloads(reading.frames))
                ends = [e["finishReason"] for e in events if e["type"] == "message-finish"]
                return str(ends[-1]) if ends else "no end"
            said = f"{response.status if response else 0} {problem.get('code')}"
        await asyncio.sleep(0.5)
    return said
