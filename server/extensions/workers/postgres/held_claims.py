"""The claims that this worker holds, and the fence of what is written under them.

A write under a claim begins with the fence, in the same transaction: it locks the claim's row, if
it is still this worker's and its lease is not over. A takeover changes that row, so it waits for a
write that was admitted, and none is admitted after it.
"""

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import psycopg
from psycopg.rows import DictRow
from sqlalchemy import Connection, text

from turnstream.server.storage import thread_list
from turnstream.server.storage.engine_statements import statements_of
from turnstream.server.storage.interfaces import Begun, LeaseLost
from turnstream.server.turns.header import ThreadKey

logger = logging.getLogger(__name__)

_ADMITTED = """
    SELECT 1 FROM claims WHERE owner = {} AND thread_id = {}
    AND run_id = {} AND worker = {} AND lease_until > clock_timestamp()
    FOR KEY SHARE
"""
"""A lock that renewals do not wait for. Takeovers do: they change a column of a unique index."""
_FENCE = text(_ADMITTED.format(":owner", ":thread_id", ":run_id", ":worker"))
FAILING_FENCE = f"SELECT 1 / count(*) FROM ({_ADMITTED.format(*['%s'] * 4)}) AS fence"
"""It fails where the fence finds nothing, with `REFUSED`: so neither what is in the same statement
nor what is sent behind it is done. Its values are those of `HeldClaim.values`."""
REFUSED = psycopg.errors.DivisionByZero


class Beginning:
    """The beginning of a run, which is written with what is written next under its claim."""

    def __init__(
        self, key: ThreadKey, run_id: str, work: Callable[[Connection], str | None], begun: Begun
    ) -> None:
        self._key = key
        self._run_id = run_id
        self._work = work
        self._begun = begun
        self._was_tried = False
        self._title: str | None = None

    def perform(self, connection: Connection) -> None:
        """Nothing is done if it is on disk: an earlier try may have been committed without an
        answer, and one of another write may be under way, which the owner's turn waits for."""
        statements_of(connection).await_turn(connection, self._key.owner)
        if self._was_tried and thread_list.has_begun(connection, self._key, self._run_id):
            return
        self._was_tried = True
        self._title = self._work(connection)

    def committed(self) -> None:
        self._begun(self._title)


@dataclass(slots=True, eq=False)
class HeldClaim:
    key: ThreadKey
    run_id: str
    worker: str
    beginning: Beginning | None = None
    """None: it is on disk, or nothing has begun."""
    latest: Sequence[DictRow | None] = ()
    """The row of the thread's latest checkpoint, as the plan of the run has read it, for the run;
    None: there is no checkpoint. Empty: it was not read, or is taken."""
    has_written: bool = False
    """True once a write of checkpoints has begun: `latest` may be over."""

    def take_latest(self) -> Sequence[DictRow | None]:
        latest, self.latest = self.latest, ()
        return () if self.has_written else latest

    def will_write(self) -> None:
        """Note that a write of checkpoints begins, and free the row: a long thread's is large."""
        self.has_written = True
        self.latest = ()

    def begin(self, connection: Connection) -> None:
        """Write what is still to be written of the run's beginning, in a transaction under the
        claim."""
        if beginning := self.beginning:
            beginning.perform(connection)

    def committed(self) -> None:
        """A transaction is on disk in which `begin` was called."""
        beginning, self.beginning = self.beginning, None
        if beginning:
            beginning.committed()

    @property
    def values(self) -> Sequence[str]:
        """The parameters of the fence."""
        return self.key.owner, self.key.thread_id, self.run_id, self.worker

    @property
    def named(self) -> dict[str, str]:
        """The same by their columns."""
        return dict(zip(("owner", "thread_id", "run_id", "worker"), self.values, strict=True))


_current: ContextVar[HeldClaim | None] = ContextVar("claim", default=None)
"""The claim of the run that is being worked on: a run whose claim is lost does not write under the
next claim of its thread."""


class HeldClaims:
    """Belongs to the event loop, but for `find` and `fence`."""

    def __init__(self) -> None:
        self.worker = secrets.token_hex(8)
        self._held: dict[str, HeldClaim] = {}
        """By the checkpointer's key of the thread."""
        self._ending: set[str] = set()
        self._lost_calls: list[Callable[[str], None]] = []

    def on_lost(self, call: Callable[[str], None]) -> None:
        self._lost_calls.append(call)

    @property
    def run_ids(self) -> list[str]:
        return [claim.run_id for claim in self._held.values()]

    def add(self, key: ThreadKey, run_id: str) -> None:
        self._held[key.checkpoint_key] = HeldClaim(key, run_id, self.worker)

    def drop(self, key: ThreadKey, run_id: str) -> None:
        """It was given back, or is another worker's."""
        held = self._held.get(key.checkpoint_key)
        if held and held.run_id == run_id:
            del self._held[key.checkpoint_key]

    def lose(self, run_id: str) -> None:
        """Another worker has it, or may have it. Nothing happens if that is known."""
        lost = next((claim for claim in self._held.values() if claim.run_id == run_id), None)
        if lost is None or run_id in self._ending:
            return
        self.drop(lost.key, run_id)
        logger.warning("run %(run)s has lost its lease", {"run": run_id})
        for call in self._lost_calls:
            call(run_id)

    @contextmanager
    def ending(self, run_id: str) -> Iterator[None]:
        """Around what gives a claim back: that it is gone is no loss."""
        self._ending.add(run_id)
        try:
            yield
        finally:
            self._ending.discard(run_id)

    @contextmanager
    def working_on(self, checkpoint_key: str) -> Iterator[None]:
        """Have all writes in here, and in tasks that begin in here, made under the claim that is
        held now."""
        token = _current.set(self._held.get(checkpoint_key))
        try:
            yield
        finally:
            _current.reset(token)

    def get(self, checkpoint_key: str) -> HeldClaim | None:
        return self._held.get(checkpoint_key)

    def find(self, checkpoint_key: str, run_id: str | None = None) -> HeldClaim:
        """The claim on a thread. Raises LeaseLost if there is none, or not of this run."""
        held = self._held.get(checkpoint_key)
        current = _current.get()
        if run_id is None and current and current.key.checkpoint_key == checkpoint_key:
            run_id = current.run_id
        if held is None or run_id not in (None, held.run_id):
            raise LeaseLost(f"run {run_id or '-'} has no claim on its thread any more")
        return held


def fence(connection: Connection, claim: HeldClaim) -> None:
    """Raises LeaseLost."""
    if connection.execute(_FENCE, claim.named).first() is None:
        raise refused(claim)


def refused(claim: HeldClaim) -> LeaseLost:
    return LeaseLost(f"run {claim.run_id} has lost its claim")
