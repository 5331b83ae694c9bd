"""Asking a run to end: a signal each, found by the run's id."""

import asyncio

from graphs.stored import Ended

STOPPED: Ended = {"reason": "stopped"}
SHUTDOWN: Ended = {"reason": "shutdown"}


class StopSignal:
    def __init__(self) -> None:
        self._reason: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()

    def send(self, reason: Ended) -> None:
        """Ask the run to end; the first reason stands."""
        if not self._reason.done():
            self._reason.set_result(reason)

    @property
    def reason(self) -> Ended | None:
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

    def remove(self, run_id: str) -> None:
        self._signals.pop(run_id, None)
