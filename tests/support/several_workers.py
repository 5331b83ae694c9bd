"""Several workers in one process: each has its own runs, on one SQLite file with leases in memory.

A lease ends when the test says so.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from tests.support.backend import Backend
from turnstream.graphs.attached import attach
from turnstream.graphs.chat import build as built_in
from turnstream.graphs.classify import Classifier
from turnstream.graphs.limits import Limits
from turnstream.graphs.result_view import own_result
from turnstream.graphs.rights import UNENFORCED
from turnstream.graphs.stored import Ended
from turnstream.server.extensions.undo import UndoExtension, UndoSettings
from turnstream.server.extensions.workers.leases import Holder
from turnstream.server.extensions.workers.other_workers import OtherWorkers, Shared, join
from turnstream.server.extensions.workers.redis.opening import open_redis
from turnstream.server.runs.checkpoints import Checkpoints
from turnstream.server.runs.hooks import RunHooks
from turnstream.server.runs.reader import RunReader
from turnstream.server.runs.runs import Runs
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.runs.served_models import ServedModels
from turnstream.server.runs.start import Equipment, RunLimits, RunSettings
from turnstream.server.storage.checkpointer import (
    BUSY_TIMEOUT_MS,
    SqliteCheckpointer,
    open_checkpointer,
)
from turnstream.server.storage.interfaces import ClaimResult, Granted, Held, LeaseLost, LostRun
from turnstream.server.storage.queued_requests import QueuedRequest
from turnstream.server.storage.store import SqliteStore, open_store
from turnstream.server.storage.workers import Workers
from turnstream.server.turns.header import ThreadKey
from turnstream.tools.builtin import CATALOGUE
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.current import CurrentCatalogue

LEASE_SECONDS = 0.2


@dataclass
class Row:
    run_id: str
    worker: str
    purpose: Any
    lapsed: bool = False
    is_renewed: bool = True
    """By its worker, again and again."""


@dataclass
class Table:
    """The claims of all workers."""

    rows: dict[ThreadKey, Row] = field(default_factory=dict)
    on_stop: dict[str, Callable[[str, Ended], None]] = field(default_factory=dict)
    """By worker."""
    on_lost: dict[str, list[Callable[[str], None]]] = field(default_factory=dict)
    """By worker."""

    def lapse(self, worker: str) -> None:
        """The leases of a worker end: it is paused, or dead."""
        for row in self.rows.values():
            row.lapsed |= row.worker == worker


class LeasedStore(SqliteStore):
    """A store whose writes to a claimed thread are fenced."""

    worker: str
    table: Table

    def fence(self, key: ThreadKey, run_id: str | None = None) -> None:
        row = self.table.rows.get(key)
        if (
            row is None
            or row.worker != self.worker
            or row.lapsed
            or run_id not in (None, row.run_id)
        ):
            raise LeaseLost

    def _granted(
        self, key: ThreadKey, run_id: str, purpose: str, result: ClaimResult
    ) -> ClaimResult:
        if isinstance(result, Granted):
            self.table.rows[key] = Row(run_id, self.worker, purpose)
        return result

    async def claim(self, key: ThreadKey, run_id: str, *args: Any) -> ClaimResult:
        return self._granted(key, run_id, "run", await super().claim(key, run_id, *args))

    async def claim_queued(
        self, key: ThreadKey, run_id: str
    ) -> tuple[Granted, QueuedRequest] | None:
        claimed = await super().claim_queued(key, run_id)
        if claimed:
            self._granted(key, run_id, "run", claimed[0])
        return claimed

    async def claim_for_deletion(self, key: ThreadKey, deletion_id: str) -> ClaimResult:
        row = self.table.rows.get(key)
        if row and row.purpose == "deletion" and row.worker != self.worker and not row.lapsed:
            return Held(None)
        result = await super().claim_for_deletion(key, deletion_id)
        return self._granted(key, deletion_id, "deletion", result)

    async def release(self, key: ThreadKey, run_id: str, *args: Any) -> None:
        self.fence(key, run_id)
        await super().release(key, run_id, *args)
        self.table.rows.pop(key, None)

    async def refuse_run(self, key: ThreadKey, run_id: str, *args: Any, **named: Any) -> None:
        self.fence(key, run_id)
        await super().refuse_run(key, run_id, *args, **named)
        self.table.rows.pop(key, None)

    async def begin_run(self, key: ThreadKey, run_id: str, *args: Any, **named: Any) -> None:
        self.fence(key, run_id)
        await super().begin_run(key, run_id, *args, **named)

    async def end_run(self, key: ThreadKey, run_id: str, *args: Any, **named: Any) -> bool:
        self.fence(key, run_id)
        is_followed = await super().end_run(key, run_id, *args, **named)
        self.table.rows.pop(key, None)
        return is_followed

    async def delete(self, key: ThreadKey, *args: Any, **named: Any) -> bool:
        self.fence(key)
        return await super().delete(key, *args, **named)

    async def hide(self, key: ThreadKey, deletion_id: str, *args: Any) -> float | None:
        self.fence(key, deletion_id)
        due = await super().hide(key, deletion_id, *args)
        if due is not None:
            del self.table.rows[key]
        return due


class FencedCheckpointer(SqliteCheckpointer):
    fences: LeasedStore

    def _fence(self, thread_id: str) -> None:
        for key in self.fences.table.rows:
            if key.checkpoint_key == thread_id:
                self.fences.fence(key)
                return
        raise LeaseLost

    async def aput(self, config: Any, *args: Any) -> Any:
        self._fence(config["configurable"]["thread_id"])
        return await super().aput(config, *args)

    async def aput_writes(self, config: Any, *args: Any) -> None:
        self._fence(config["configurable"]["thread_id"])
        await super().aput_writes(config, *args)

    async def adelete_thread(self, thread_id: str) -> None:
        self._fence(thread_id)
        await super().adelete_thread(thread_id)


@dataclass
class TableLeases:
    """Implements `Leases`."""

    worker: str
    table: Table

    @property
    def lost(self) -> list[Callable[[str], None]]:
        return self.table.on_lost.setdefault(self.worker, [])

    def on_lost(self, call: Callable[[str], None]) -> None:
        self.lost.append(call)

    def on_stop(self, call: Callable[[str, Ended], None]) -> None:
        self.table.on_stop[self.worker] = call

    async def holder(self, key: ThreadKey) -> Holder | None:
        row = self.table.rows.get(key)
        return Holder(row.run_id, row.worker, row.lapsed, row.purpose) if row else None

    async def lapsed(self, limit: int) -> Sequence[LostRun]:
        rows = [(key, row) for key, row in self.table.rows.items() if row.lapsed]
        return [LostRun(key, row.run_id, None, row.purpose) for key, row in rows][:limit]

    async def take_over(self, key: ThreadKey, run_id: str) -> bool:
        row = self.table.rows.get(key)
        if row is None or row.run_id != run_id or not row.lapsed:
            return False
        for call in self.table.on_lost[row.worker]:
            # When it would have renewed its leases.
            asyncio.get_running_loop().call_later(LEASE_SECONDS / 3, call, run_id)
        row.worker, row.lapsed, row.is_renewed = self.worker, False, True
        return True

    def let_go(self, key: ThreadKey, run_id: str) -> None:
        row = self.table.rows.get(key)
        if row and (row.run_id, row.worker) == (run_id, self.worker):
            row.is_renewed = False

    async def live_runs(self, owner: str) -> int:
        rows = self.table.rows.items()
        return sum(k.owner == owner and r.purpose == "run" and not r.lapsed for k, r in rows)

    async def request_stop(self, key: ThreadKey, run_id: str, reason: Ended) -> None:
        row = self.table.rows.get(key)
        if row and not row.lapsed:
            self.table.on_stop[row.worker](run_id, reason)


@dataclass(frozen=True)
class Worker(Backend):
    """A backend, and what a test does to it."""

    leases: TableLeases

    @property
    def id(self) -> str:
        return self.leases.worker

    def lapse(self) -> None:
        """Its leases end, and it does not know."""
        self.leases.table.lapse(self.id)

    async def sweep(self) -> None:
        assert isinstance(self.runs.others, OtherWorkers)
        await self.runs.others.sweep()


@asynccontextmanager
async def several_workers(
    path: Path,
    redis_url: str,
    models: Mapping[str, BaseChatModel],
    catalogue: Catalogue = CATALOGUE,
    undo_seconds: float = 0,
) -> AsyncIterator[list[Worker]]:
    """A worker for each model, named by its key."""
    table = Table()
    async with (
        open_checkpointer(path) as checkpointer,
        open_store(path, BUSY_TIMEOUT_MS) as store,
        AsyncExitStack() as stack,
    ):
        made = []
        for name, model in models.items():
            shares = await stack.enter_async_context(
                open_redis(redis_url, name, silence_seconds=0.2)
            )
            own = copy(store)
            own.__class__ = LeasedStore
            assert isinstance(own, LeasedStore)
            own.worker, own.table = name, table
            saver = copy(checkpointer)
            saver.__class__ = FencedCheckpointer
            assert isinstance(saver, FencedCheckpointer)
            saver.fences = own
            leases = TableLeases(name, table)
            shared = Shared(leases, shares.inbox, shares.logs, LEASE_SECONDS)
            worker = assembled(saver, own, model, shared, catalogue, undo_seconds)
            stack.push_async_callback(worker.runs.close)
            made.append(worker)
        yield made


def assembled(
    saver: FencedCheckpointer,
    store: LeasedStore,
    model: BaseChatModel,
    shared: Shared,
    catalogue: Catalogue,
    undo_seconds: float,
) -> Worker:
    graph = attach(
        built_in(model, catalogue, checkpointer=saver, limits=Limits(), system_prompt=""),
        saver,
        None,
        results=own_result,
    )
    graph = replace(graph, is_built_in=True)
    classifier = Classifier(catalogue, rights=UNENFORCED, unknown="invalid")
    checkpoints = Checkpoints(graph, saver, classifier.fallback, store)
    graphs = ServedGraphs({"test": checkpoints})
    models = ServedModels({"test": model})
    runs = Runs(
        Equipment(graphs, models, classifier, CurrentCatalogue(catalogue)),
        store,
        shared.logs,
        RunSettings(RunLimits(60, 0), retention_seconds=60),
        hooks=RunHooks([UndoExtension(UndoSettings(undo_seconds=undo_seconds))]),
        workers=Workers(shared.leases.worker, shared.logs, partial(join, shared)),
    )
    reader = RunReader(graphs, store, shared.logs)
    assert isinstance(shared.leases, TableLeases)
    return Worker(checkpoints, runs, reader, catalogue, store, shared.leases)
