"""Asking a run to end: a signal each, found by the run's id; ending one that nobody reads; and
cancelling its graph, which may ignore that."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from turnstream.graphs.stored import Ended
from turnstream.server.storage.interfaces import LeaseLost
from turnstream.server.storage.run_logs import RunLog

STOPPED: Ended = {"reason": "stopped"}
SHUTDOWN: Ended = {"reason": "shutdown"}
CANCEL_SECONDS, CANCEL_TRIES = 0.1, 20

logger = logging.getLogger(__name__)


class StopSignal:
    def __init__(self) -> None:
        self._reason: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()

    def send(self, reason: Ended) -> None:
        """Ask the run to end; the first reason stands."""
        if not self._reason.done():
            self._reason.set_result(reason)

    def lose(self) -> None:
        """End the run without a word: another worker may have its thread."""
        if not self._reason.done():
            self._reason.set_exception(LeaseLost())
            self._reason.exception()  # Read: asyncio logs one that nobody has.

    @property
    def reason(self) -> Ended | None:
        """Why the run is to end; None: it is not. Raises LeaseLost."""
        return self._reason.result() if self._reason.done() else None

    @property
    def sent(self) -> asyncio.Future[Ended]:
        """Done when the run has been asked to end."""
        return self._reason


class StopSignals:
    """The signals of the runs that this process has claimed threads for."""

    def __init__(self) -> None:
        self._signals: dict[str, StopSignal] = {}

    def create(self, run_id: str) -> StopSignal:
        signal = self._signals[run_id] = StopSignal()
        return signal

    def send(self, run_id: str, reason: Ended) -> None:
        """Does nothing if the run is over."""
        if run_id in self._signals:
            self._signals[run_id].send(reason)

    def lose(self, run_id: str) -> None:
        if run_id in self._signals:
            self._signals[run_id].lose()

    def remove(self, run_id: str) -> None:
        self._signals.pop(run_id, None)


async def cancelled(pump: asyncio.Task[Any], run_id: str) -> None:
    """Cancel again and again: asyncio.wait_for and careless code swallow a cancel. One that ignores
    all of them is left to itself."""
    for _ in range(CANCEL_TRIES):
        if pump.done():
            return
        pump.cancel()
        await asyncio.wait({pump}, timeout=CANCEL_SECONDS)
    if not pump.done():
        logger.error("run %(run)s ignores its cancellation; it is abandoned", {"run": run_id})


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
