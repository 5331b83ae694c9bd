"""The claims of this process: the right to run a thread, and what a run of it needs."""

import secrets
import string
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from graphs.stored import Ended
from server.runs.retries import Retries
from server.runs.signals import StopSignal, StopSignals
from server.storage.audit_records import Records
from server.storage.interfaces import Granted, Held, Repeated, ThreadEntry, ThreadStore
from server.storage.run_logs import RunLog, RunLogs
from server.turns.header import RunHeader, ThreadKey
from server.turns.requests import IdempotencyKey

_ALPHABET = string.ascii_letters + string.digits


def new_run_id() -> str:
    """11 letters and digits: it is in every event of the run."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(11))


class RunInProgress(Exception):
    """The thread has a live run."""

    def __init__(self, header: RunHeader) -> None:
        super().__init__(f"run {header.run_id} is live")
        self.header = header


@dataclass(frozen=True, slots=True)
class Claim:
    run_id: str
    key: ThreadKey
    log: RunLog
    stop: StopSignal
    thread: ThreadEntry | None = None
    """As the list has it; None: it is new."""


class Claims:
    """`interrupted` gives the records of a run that has begun, and cannot go on."""

    def __init__(
        self,
        store: ThreadStore,
        logs: RunLogs,
        retries: Retries,
        interrupted: Callable[[ThreadKey, str], Records],
    ) -> None:
        self._store = store
        self._logs = logs
        self._retries = retries
        self._interrupted = interrupted
        self._signals = StopSignals()
        self._active: dict[str, RunLog] = {}
        self._granted: dict[str, str] = {}
        """Run id to owner."""

    @property
    def run_ids(self) -> Iterable[str]:
        return self._active.keys()

    @property
    def logs(self) -> Iterable[RunLog]:
        """Of the runs that are live here, or whose requests are being checked."""
        return self._active.values()

    def __len__(self) -> int:
        """How many were granted: a request that finds its thread taken does not count."""
        return len(self._granted)

    def of_owner(self, owner: str) -> int:
        """How many of them are one owner's."""
        return sum(one == owner for one in self._granted.values())

    def holds(self, run_id: str) -> bool:
        """Whether the run is live here, or its request is being checked."""
        return run_id in self._active

    @asynccontextmanager
    async def take(
        self, key: ThreadKey, idempotency: IdempotencyKey | None
    ) -> AsyncIterator[Claim | Held | Repeated]:
        """The claim, given back if the block raises; or what is in its way."""
        run_id = new_run_id()
        # Log and signal come first: who finds the claim finds them too.
        claim = Claim(run_id, key, await self._logs.create(run_id), self._signals.create(run_id))
        self._active[run_id] = claim.log
        result = None
        try:
            result = await self._store.claim(key, run_id, idempotency)
            if isinstance(result, Granted):
                self._granted[run_id] = key.owner
                yield replace(claim, thread=result.thread)
            else:
                yield result
        except BaseException:
            await self._discard(run_id)
            if isinstance(result, Granted):
                records = self._interrupted(key, run_id)
                await self._retries.write(partial(self._store.release, key, run_id, records))
            raise
        if not isinstance(result, Granted):
            await self._discard(run_id)

    async def _discard(self, run_id: str) -> None:
        """No run came of a claim."""
        self.forget(run_id)
        await self._logs.discard(run_id)

    def forget(self, run_id: str) -> None:
        """The run is over, and its claim released."""
        self._signals.remove(run_id)
        self._active.pop(run_id, None)
        self._granted.pop(run_id, None)

    async def end(self, key: ThreadKey, run_id: str, reason: Ended) -> None:
        """End a run, and return when the thread is saved and free."""
        if run_id in self._active:
            await self.stop(run_id, reason)
        else:
            # The database is this process's own: the run is over, and could not be noted.
            await self._store.release(key, run_id)

    def ask_to_stop(self, run_id: str, reason: Ended) -> None:
        """Ask a run of this process to end, and wait for nothing."""
        self._signals.send(run_id, reason)

    async def stop(self, run_id: str, reason: Ended) -> None:
        """End a run of this process, and return when it has told its readers."""
        log = self._active.get(run_id)
        if log:
            self._signals.send(run_id, reason)
            await log.ended()
