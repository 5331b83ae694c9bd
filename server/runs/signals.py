"""Asking a run to end: a signal each, found by the run's id."""

import asyncio

from turnstream.graphs.stored import Ended
from turnstream.server.storage.interfaces import LeaseLost

STOPPED: Ended = {"reason": "stopped"}
SHUTDOWN: Ended = {"reason": "shutdown"}


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
