"""Runs that nobody reads are ended, if a limit says so."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from turnstream.graphs.stored import Ended
from turnstream.server.runs.signals import StopSignal
from turnstream.server.storage.run_logs import RunLog


@contextmanager
def ended_when_unread(log: RunLog, stop: StopSignal, seconds: float) -> Iterator[None]:
    """End the run of the log when it has had no reader for so long; 0: it runs on unread."""
    watcher = asyncio.create_task(_end_when_unread(log, stop, seconds)) if seconds else None
    try:
        yield
    finally:
        if watcher:
            watcher.cancel()


async def _end_when_unread(log: RunLog, stop: StopSignal, seconds: float) -> None:
    while True:
        status = await log.status()
        if status.unread_seconds >= seconds:
            limit: Ended = {"reason": "limit", "limit": "unread_seconds", "value": seconds}
            stop.send(limit)
            return
        await asyncio.sleep(seconds - status.unread_seconds)
