"""Runs without HTTP: a graph on a scripted model, real SQLite, and the runs of the server."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from graphs.chat import build
from graphs.limits import Limits
from graphs.own import Build
from server.protocols.chunks import Chunk
from server.protocols.history import Turn
from server.protocols.requests import TextContent, ToolAnswer, TurnRequest, UserMessage
from server.runs.checkpoints import Checkpoints
from server.runs.crash import settle_lost_runs
from server.runs.registry import Runs
from server.runs.run import Run
from server.runs.transcript import transcript
from server.storage import BUSY_TIMEOUT_MS, committed, open_saver
from server.store import ThreadStore, open_store
from tools import CATALOGUE
from tools.catalogue import Catalogue

THREAD = "thread-1"


def message(words: str = "Hello", **fields: Any) -> TurnRequest:
    return TurnRequest("assistant-transport", message=UserMessage((TextContent(words),)), **fields)


def answers(*items: tuple[str, Any], words: str | None = None) -> TurnRequest:
    said = UserMessage((TextContent(words),)) if words else None
    return TurnRequest(
        "assistant-transport",
        message=said,
        answers=tuple(ToolAnswer(id, result) for id, result in items),
    )


@dataclass(frozen=True)
class Backend:
    """The server without HTTP: checkpoints, runs and the store."""

    checkpoints: Checkpoints
    runs: Runs
    catalogue: Catalogue
    store: ThreadStore

    async def turn(self, request: TurnRequest, thread: str = THREAD) -> list[Chunk]:
        """A whole run: its chunks."""
        return await chunks_of(await self.runs.start(thread, request))

    async def messages(self, thread: str = THREAD) -> Sequence[BaseMessage]:
        return (await self.checkpoints.load(thread)).messages

    async def turns(self, thread: str = THREAD) -> tuple[Turn, ...]:
        state = await self.checkpoints.load(thread)
        return transcript(state.messages, self.catalogue.awaits_client)


async def chunks_of(run: Run) -> list[Chunk]:
    seen = 0
    async with asyncio.timeout(10):
        while not run.log.closed:
            await run.log.beyond(seen)
            seen = len(run.log.chunks)
    return run.log.chunks


@asynccontextmanager
async def backend(
    path: Path,
    model: BaseChatModel,
    *,
    catalogue: Catalogue = CATALOGUE,
    limits: Limits | None = None,
    max_run_seconds: float = 60,
    system_prompt: str = "",
    build: Build = build,
) -> AsyncIterator[Backend]:
    async with open_saver(path) as saver:
        graph = build(
            model,
            catalogue,
            checkpointer=saver,
            limits=limits or Limits(),
            system_prompt=system_prompt,
        )
        checkpoints = Checkpoints(graph, saver, partial(committed, saver))
        async with open_store(path, BUSY_TIMEOUT_MS) as store:
            await settle_lost_runs(store, checkpoints)
            runs = Runs(
                checkpoints,
                catalogue,
                store,
                max_run_seconds=max_run_seconds,
                retention_seconds=60,
            )
            try:
                yield Backend(checkpoints, runs, catalogue, store)
            finally:
                await runs.drain(0)


@asynccontextmanager
async def after_crash(
    path: Path, model: BaseChatModel, catalogue: Catalogue = CATALOGUE, build: Build = build
) -> AsyncIterator[Backend]:
    """The server on what its disk held at this instant, as after kill -9."""
    copy = path.with_name("after-the-crash.db")
    for suffix in ("", "-wal", "-shm"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    async with backend(copy, model, catalogue=catalogue, build=build) as inside:
        yield inside
