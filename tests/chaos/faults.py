"""What goes wrong: workers, Redis and connections, at random and for a random time."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from tests.chaos.records import Fault, History
from tests.chaos.workers import Worker
from tests.support.foreign_lock import foreign_lock


class Engines(Protocol):
    """The servers behind the workers, as faults reach for them."""

    async def restart_redis(self, gone_seconds: float) -> None: ...

    async def flush_redis(self) -> None: ...

    async def cut_connections(self, share: float, chance: random.Random) -> int:
        """End a share of the connections of the workers: how many."""

    async def take_postgres_away(self, seconds: float) -> None:
        """For everybody; then it is back."""

    async def lock(self, table: str, seconds: float) -> None:
        """Others can read the table, and not write it."""

    async def fill_disk(self, table: str, seconds: float) -> None:
        """No row can be added to the table."""

    async def open_transactions(self) -> set[tuple[Any, ...]]:
        """Those that have written, and wait for their worker."""


@dataclass
class Faults:
    """Makes one fault after the other. Whatever is stopped goes on in the end."""

    workers: Sequence[Worker]
    engines: Engines | None
    history: History
    random: random.Random
    lease_seconds: float
    database: Path | None = None
    """The file of one server alone."""
    gap_seconds: tuple[float, float] = (0.5, 3.0)
    made: dict[str, int] = field(default_factory=dict)

    async def go_on(self, is_over: Callable[[], bool]) -> None:
        """One after the other; none is broken off."""
        while not is_over():
            await asyncio.sleep(self.random.uniform(*self.gap_seconds))
            await self.one()

    async def one(self, name: str | None = None) -> None:
        """One at random, or that of this name."""
        known = {
            name: (weight, act)
            for name, weight, behind, act in FAULTS
            if behind in ("any", "engines" if self.engines else "file")
        }
        if name is None:
            (name,) = self.random.choices(list(known), [weight for weight, _ in known.values()])
        self.made[name] = self.made.get(name, 0) + 1
        await known[name][1](self)

    def _worker(self) -> Worker:
        free = [worker for worker in self.workers if not worker.lock.locked()]
        return self.random.choice(free or list(self.workers))

    async def kill(self) -> None:
        worker = self._worker()
        async with worker.lock:
            began = time.time()
            await worker.kill()
            await asyncio.sleep(self.random.uniform(0, 2 * self.lease_seconds))
            await worker.start()
            # Without others its logs were the only ones.
            self._note("kill -9", worker.name, began, loses_logs=self.engines is None)

    async def terminate(self) -> None:
        worker = self._worker()
        async with worker.lock:
            began = time.time()
            status = await worker.terminate()
            await worker.start()
            name = "SIGTERM" if status == 0 else f"SIGTERM (exit status {status})"
            self._note(name, worker.name, began, loses_logs=self.engines is None)

    async def pause(self) -> None:
        """Longer than a lease."""
        await self._pause(self._worker())

    async def pause_briefly(self) -> None:
        """Shorter than a lease: nobody may take its claims."""
        await self._pause(self._worker(), share=0.4)

    async def pause_in_a_write(self) -> None:
        await self._pause(self._worker(), "SIGSTOP in a write", in_a_write=True)

    async def _pause(
        self,
        worker: Worker,
        name: str = "SIGSTOP",
        share: float | None = None,
        *,
        in_a_write: bool = False,
    ) -> None:
        async with worker.lock:
            began = time.time()
            worker.pause()
            try:
                if in_a_write and not await self._is_in_a_write(worker):
                    return
                share = share or self.random.uniform(1.2, 3)
                await asyncio.sleep(self.lease_seconds * share)
                # Its own patience with Redis is over when it wakes up.
                loses_logs = time.time() - began > LONG_PAUSE_SECONDS
                self._note(name, worker.name, began, loses_logs=loses_logs)
            finally:
                with suppress(ProcessLookupError):
                    worker.go_on()

    async def _is_in_a_write(self, worker: Worker) -> bool:
        """Pause the worker again and again until a transaction is left open by it. A transaction of
        another worker does not stay as long."""
        assert self.engines is not None
        for _ in range(TRIES):
            before = await self.engines.open_transactions()
            if before:
                await asyncio.sleep(LOOK_SECONDS)
                if before & await self.engines.open_transactions():
                    return True
            worker.go_on()
            await asyncio.sleep(self.random.uniform(0.001, 0.03))
            worker.pause()
        return False

    async def restart_redis(self) -> None:
        assert self.engines is not None
        began = time.time()
        await self.engines.restart_redis(self.random.uniform(0, GONE_SECONDS))
        self._note("Redis restarted", "Redis", began, loses_logs=True)

    async def flush_redis(self) -> None:
        assert self.engines is not None
        began = time.time()
        await self.engines.flush_redis()
        self._note("FLUSHALL", "Redis", began, loses_logs=True)

    async def cut_connections(self) -> None:
        assert self.engines is not None
        began = time.time()
        await self.engines.cut_connections(self.random.choice((0.2, 0.5, 1)), self.random)
        self._note("Postgres connections cut", "Postgres", began)

    async def take_postgres_away(self) -> None:
        """Mostly for longer than a lease, so that no claim can be renewed."""
        assert self.engines is not None
        began = time.time()
        seconds = self.lease_seconds * self.random.choice((0.3, 1.5, 3))
        await self.engines.take_postgres_away(seconds)
        # A run that has lost its lease leaves its log to whoever ends it.
        self._note("Postgres away", "Postgres", began, loses_logs=True)

    async def lock_a_table(self) -> None:
        assert self.engines is not None
        began, table = time.time(), self.random.choice(TABLES)
        await self.engines.lock(table, self.random.choice((0.5, 3)) * BUSY_SECONDS)
        self._note(f"{table} locked", "Postgres", began)

    async def fill_disk_of_postgres(self) -> None:
        assert self.engines is not None
        began, table = time.time(), self.random.choice(TABLES)
        await self.engines.fill_disk(table, self.random.uniform(0.2, 3))
        self._note(f"no room in {table}", "Postgres", began)

    async def lock_the_file(self) -> None:
        """By another program, mostly for longer than a write waits."""
        assert self.database is not None
        began = time.time()
        with foreign_lock(self.database):
            await asyncio.sleep(self.random.choice((0.5, 3)) * BUSY_SECONDS)
        self._note("file locked", "SQLite", began)

    async def fill_disk_of_the_file(self) -> None:
        """No file of the server can grow."""
        worker = self._worker()
        async with worker.lock:
            began = time.time()
            worker.limit_files(0)
            try:
                await asyncio.sleep(self.random.uniform(0.2, 3))
            finally:
                with suppress(ProcessLookupError):
                    worker.limit_files(None)
            self._note("no room on the disk", worker.name, began)

    def _note(self, kind: str, target: str, began: float, *, loses_logs: bool = False) -> None:
        over = time.time() + (SHADOW_SECONDS if loses_logs else 0)
        self.history.faults.append(Fault(kind, target, began, over, loses_logs))


LONG_PAUSE_SECONDS = 3.0
TRIES, LOOK_SECONDS = 60, 0.1
GONE_SECONDS = 4.0
SHADOW_SECONDS = 5.0
"""How long a part may need to find out what it has lost."""

BUSY_SECONDS = 1.0
"""The time that the servers wait for a lock."""
TABLES = ("checkpoints", "checkpoint_writes", "threads", "claims", "requests")

Behind = Literal["any", "engines", "file"]

FAULTS: Sequence[tuple[str, int, Behind, Callable[[Faults], Awaitable[None]]]] = (
    ("kill -9", 5, "any", Faults.kill),
    ("SIGSTOP", 4, "any", Faults.pause),
    ("brief SIGSTOP", 1, "any", Faults.pause_briefly),
    ("SIGSTOP in a write", 3, "engines", Faults.pause_in_a_write),
    ("SIGTERM", 1, "any", Faults.terminate),
    ("Redis restarted", 1, "engines", Faults.restart_redis),
    ("FLUSHALL", 3, "engines", Faults.flush_redis),
    ("Postgres connections cut", 2, "engines", Faults.cut_connections),
    ("Postgres away", 2, "engines", Faults.take_postgres_away),
    ("a table locked", 3, "engines", Faults.lock_a_table),
    ("no room in a table", 2, "engines", Faults.fill_disk_of_postgres),
    ("file locked", 4, "file", Faults.lock_the_file),
    ("no room on the disk", 3, "file", Faults.fill_disk_of_the_file),
)
"""Name, how often, what there must be behind the workers."""
