"""The work of the server beside its requests, as long as it serves."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from turnstream.server.runs.due_deletions import open_due_deletions
from turnstream.server.runs.queue import open_queue
from turnstream.server.runs.retention import open_retention
from turnstream.server.runs.runs import Runs
from turnstream.server.settings import Settings
from turnstream.server.storage.opened import ServerStore


@asynccontextmanager
async def upkeep(settings: Settings, store: ServerStore, runs: Runs) -> AsyncIterator[None]:
    deletions = runs.deletions
    async with (
        runs.others.sweeping() if runs.others else nullcontext(),
        open_queue(runs.queue),
        open_retention(store, deletions.delete_idle, settings.thread_retention_days),
        open_due_deletions(store, deletions.forget_hidden, deletions.hidden),
    ):
        yield
