"""Runs without HTTP: a graph on a scripted model, real SQLite, and the runs of the server."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from tests.support import new_databases
from tests.support.audit_rows import recorded, recording
from tests.support.databases import open_storage
from tests.support.waiting import WAIT_SECONDS
from turnstream.graphs.attached import attach
from turnstream.graphs.chat import build as built_in
from turnstream.graphs.classify import Classifier
from turnstream.graphs.client_state import ClientState
from turnstream.graphs.limits import Limits
from turnstream.graphs.loading import Build
from turnstream.graphs.result_view import ResultView, own_result
from turnstream.graphs.rights import UNENFORCED
from turnstream.server.callers.principal import LOCAL, Principal
from turnstream.server.callers.rights import Rights
from turnstream.server.extensions.base import EXTENSION_API, Extension
from turnstream.server.extensions.loading import tables_of
from turnstream.server.extensions.opened import Status, open_all
from turnstream.server.extensions.users.policy import Policy
from turnstream.server.formats import DEFAULT
from turnstream.server.runs.checkpoints import Checkpoints
from turnstream.server.runs.hooks import RunHooks
from turnstream.server.runs.queue import QueuedRun
from turnstream.server.runs.reader import LoggedRun, RunReader
from turnstream.server.runs.recovery import LostRuns
from turnstream.server.runs.runs import Runs
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.runs.served_models import ServedModels
from turnstream.server.runs.start import Equipment, RunLimits, RunSettings
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.storage.location import Location
from turnstream.server.storage.memory_logs import MemoryLogs
from turnstream.server.storage.opened import ServerStore
from turnstream.server.turns.audit_records import AuditRecord
from turnstream.server.turns.chunks import Chunk, Disposition
from turnstream.server.turns.header import LOCAL_OWNER, ThreadKey
from turnstream.server.turns.messages import Turn
from turnstream.server.turns.requests import (
    IdempotencyKey,
    TextContent,
    ToolAnswer,
    TurnRequest,
    UserMessage,
)
from turnstream.tools.builtin import CATALOGUE
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.current import CurrentCatalogue

THREAD = "thread-1"


def message(words: str = "Hello", **fields: Any) -> TurnRequest:
    return TurnRequest(message=UserMessage((TextContent(words),)), **fields)


def answers(*items: tuple[str, Any], words: str | None = None) -> TurnRequest:
    return TurnRequest(
        message=UserMessage((TextContent(words),)) if words else None,
        answers=tuple(ToolAnswer(id, result) for id, result in items),
    )


def key_of(thread: str = THREAD) -> ThreadKey:
    return ThreadKey(LOCAL_OWNER, thread)


@dataclass(frozen=True)
class Backend:
    """The server without HTTP: checkpoints, runs and the store."""

    checkpoints: Checkpoints
    runs: Runs
    reader: RunReader
    catalogue: Catalogue
    store: ServerStore

    async def start(
        self, request: TurnRequest, thread: str | None = THREAD, principal: Principal = LOCAL
    ) -> LoggedRun:
        """Begin a run; None: of a new thread."""
        return await self.runs.start(principal, replace(request, thread_id=thread), DEFAULT.name)

    async def queue(
        self,
        request: TurnRequest,
        thread: str = THREAD,
        principal: Principal = LOCAL,
        key: IdempotencyKey | None = None,
    ) -> QueuedRun:
        """Queue a request behind the thread's live run."""
        asked = replace(request, thread_id=thread, on_busy="queue")
        queued = await self.runs.start_or_queue(principal, asked, DEFAULT.name, key)
        assert isinstance(queued, QueuedRun)
        return queued

    async def turn(
        self, request: TurnRequest, thread: str | None = THREAD, principal: Principal = LOCAL
    ) -> list[Chunk]:
        """A whole run: its chunks."""
        return await chunks_of(await self.start(request, thread, principal))

    async def stop(self, thread: str = THREAD) -> ThreadEntry | None:
        return await self.runs.stop(key_of(thread))

    async def recorded(self) -> list[AuditRecord]:
        """The audit trail."""
        return await recorded(self.store)

    async def entry(self, thread: str = THREAD) -> ThreadEntry | None:
        return await self.store.get(key_of(thread))

    async def state(self, thread: str = THREAD) -> ThreadState:
        return await self.checkpoints.load(key_of(thread))

    async def messages(self, thread: str = THREAD) -> Sequence[BaseMessage]:
        return (await self.state(thread)).messages

    async def turns(self, thread: str = THREAD) -> tuple[Turn, ...]:
        return await self.reader.turns(key_of(thread))


async def chunks_of(run: LoggedRun) -> list[Chunk]:
    """All chunks of a run, to its end."""
    return await chunks_until(run, lambda _chunks: False)


async def chunks_until(run: LoggedRun, reached: Callable[[Sequence[Chunk]], bool]) -> list[Chunk]:
    """The chunks of a run from its first until a condition holds, or to its end."""
    chunks: list[Chunk] = []
    async with asyncio.timeout(WAIT_SECONDS), aclosing(run.log.read(0)) as batches:
        async for batch in batches:
            chunks += [chunk for _, chunk in batch]
            if reached(chunks):
                break
    return chunks


class UnderPolicy(Extension):
    """Gives callers the rights of a policy."""

    name, api = "under_policy", EXTENSION_API

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def rights(self, principal: Principal) -> Rights:
        return self._policy.rights(principal)


@asynccontextmanager
async def backend(
    location: Location,
    model: BaseChatModel,
    *,
    catalogue: Catalogue = CATALOGUE,
    limits: Limits | None = None,
    max_run_seconds: float = 60,
    max_run_bytes: int = 20_000_000,
    system_prompt: str = "",
    build: Build = built_in,
    results: ResultView | None = None,
    context: Mapping[str, Any] | None = None,
    client_values: tuple[str, ...] = (),
    client_state: tuple[str, ...] = (),
    substeps_bytes: int = 0,
    policy: Policy | None = None,
    audits: bool = False,
    approval_seconds: float = 0,
    extensions: Sequence[Extension] = (),
    max_queued_requests: int = 20,
) -> AsyncIterator[Backend]:
    """`results` are for another graph; without them clients see what its tools declare."""
    extensions = [*extensions, *([recording()] if audits else [])]
    extensions += [UnderPolicy(policy)] if policy else []
    opened = new_databases.put(location, extensions)
    async with (
        open_storage(location) as storage,
        nullcontext(storage.checkpointer) as checkpointer,
        nullcontext(storage.store) as store,
    ):
        await store.open_extensions(tables_of(extensions), is_shared=False)
        opened()
        hooks = RunHooks(extensions)
        given = {"limits": limits or Limits(), "system_prompt": system_prompt}
        made = build(model, catalogue, checkpointer=checkpointer, **given)
        view = own_result if build is built_in else results
        graph = replace(
            attach(made, checkpointer, context, results=view),
            client_state=ClientState(client_state),
            is_built_in=build is built_in,
        )
        unknown: Disposition = "invalid" if build is built_in else "server"
        classifier = Classifier(catalogue, rights=UNENFORCED, unknown=unknown)
        checkpoints = Checkpoints(
            graph, checkpointer, classifier.fallback, store, substeps_bytes=substeps_bytes
        )
        graphs = ServedGraphs({"test": checkpoints})
        await LostRuns(store, graphs, hooks, approval_seconds).end_all()
        logs = MemoryLogs()
        settings = RunSettings(
            RunLimits(max_run_seconds, 0, max_run_bytes),
            retention_seconds=60,
            approval_seconds=approval_seconds,
            client_values=client_values,
            max_queued_requests=max_queued_requests,
        )
        models, tools = ServedModels({"test": model}), CurrentCatalogue(catalogue)
        runs = Runs(Equipment(graphs, models, classifier, tools), store, logs, settings, hooks)
        reader = RunReader(graphs, store, logs, hooks.versions)
        async with open_all(extensions, storage, graphs, Status(runs, hooks), no_model):
            try:
                yield Backend(checkpoints, runs, reader, catalogue, store)
            finally:
                await runs.close()
                await hooks.close()


def no_model(name: str) -> AbstractAsyncContextManager[BaseChatModel]:
    raise AssertionError(f"no extension opens {name}")


@asynccontextmanager
async def after_crash(
    path: Path,
    model: BaseChatModel,
    catalogue: Catalogue = CATALOGUE,
    build: Build = built_in,
    **fields: Any,
) -> AsyncIterator[Backend]:
    """The server on what its disk held at this instant, as after kill -9."""
    copy = path.with_name(f"after-{path.name}")
    for suffix in ("", "-wal", "-shm"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    async with backend(copy, model, catalogue=catalogue, build=build, **fields) as inside:
        yield inside
