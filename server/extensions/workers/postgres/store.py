"""The store in a Postgres database: what is written under a claim is fenced."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, text

from turnstream.server.extensions.workers.postgres.held_claims import (
    Beginning,
    HeldClaim,
    HeldClaims,
    fence,
    refused,
)
from turnstream.server.extensions.workers.postgres.leases import PostgresLeases
from turnstream.server.extensions.workers.postgres.transactions import PostgresTransactions
from turnstream.server.storage.also import Also
from turnstream.server.storage.interfaces import (
    Begun,
    ClaimResult,
    Granted,
    LeaseLost,
    LostRun,
    StorageUnavailable,
    ThreadRunState,
    WaitingApproval,
)
from turnstream.server.storage.queued_requests import QueuedRequest
from turnstream.server.storage.sql_store import SqlStore
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import IdempotencyKey

T = TypeVar("T")

_GIVE_BACK = text(
    "DELETE FROM claims WHERE owner = :owner AND thread_id = :thread_id AND run_id = :run_id "
    "AND worker = :worker"
)
_LOCK = text(
    "SELECT 1 FROM claims WHERE owner = :owner AND thread_id = :thread_id AND run_id = :run_id "
    "AND worker = :worker FOR UPDATE"
)
"""It waits for the writes that hold the fence."""
_GIVE_BACK_HELD = text(f"{_GIVE_BACK} AND lease_until > clock_timestamp()")


class PostgresStore(SqlStore):
    """Implements `ThreadStore`. `leases` is None for a command, which claims
    nothing."""

    def __init__(
        self,
        transactions: PostgresTransactions,
        held: HeldClaims,
        leases: PostgresLeases | None = None,
    ) -> None:
        super().__init__()
        self._transactions = transactions
        self._held = held
        if leases:
            self.taking = leases.taking

    async def claim(
        self, key: ThreadKey, run_id: str, idempotency: IdempotencyKey | None = None
    ) -> ClaimResult:
        return self._noted(key, run_id, await super().claim(key, run_id, idempotency))

    async def claim_queued(
        self, key: ThreadKey, run_id: str
    ) -> tuple[Granted, QueuedRequest] | None:
        claimed = await super().claim_queued(key, run_id)
        if claimed:
            self._noted(key, run_id, claimed[0])
        return claimed

    async def claim_for_deletion(self, key: ThreadKey, deletion_id: str) -> ClaimResult:
        return self._noted(key, deletion_id, await super().claim_for_deletion(key, deletion_id))

    async def claim_idle(
        self, key: ThreadKey, deletion_id: str, since: float, now: float
    ) -> ClaimResult:
        claimed = await super().claim_idle(key, deletion_id, since, now)
        return self._noted(key, deletion_id, claimed)

    async def claim_hidden(self, key: ThreadKey, deletion_id: str, now: float) -> ClaimResult:
        claimed = await super().claim_hidden(key, deletion_id, now)
        return self._noted(key, deletion_id, claimed)

    def _noted(self, key: ThreadKey, run_id: str, result: ClaimResult) -> ClaimResult:
        """A claim whose caller has left meanwhile is not noted, so its lease lapses."""
        if isinstance(result, Granted):
            self._held.add(key, run_id)
        return result

    async def write_release(
        self, key: ThreadKey, run_id: str, work: Callable[[Connection], None]
    ) -> None:
        with self._held.ending(run_id):
            await self.write(work)
        self._held.drop(key, run_id)

    def release_claim(self, connection: Connection, key: ThreadKey, run_id: str) -> bool:
        """Release a claim that no other worker has taken over, even if its lease has lapsed."""
        mine = claims_of(key, run_id, self._held.worker)
        return bool(connection.execute(_GIVE_BACK, mine).rowcount)

    async def end_run(
        self,
        key: ThreadKey,
        run_id: str,
        state: ThreadRunState,
        also: Also = (),
        waiting: Sequence[WaitingApproval] = (),
    ) -> bool:
        is_followed = True
        try:
            with self._held.ending(run_id):
                is_followed = await super().end_run(key, run_id, state, also, waiting)
        except StorageUnavailable:
            raise  # The claim stays for the next try, as long as its lease is renewed.
        except LeaseLost:
            self._held.drop(key, run_id)
            # An earlier try may have committed without an answer.
            entry = await self.get(key)
            if entry is None or (entry.run_id, entry.run_state) != (run_id, state):
                raise
        except Exception:
            self._held.drop(key, run_id)  # Retrying cannot help: the sweep will end the run.
            raise
        self._held.drop(key, run_id)
        return is_followed

    async def holds_alone(self, key: ThreadKey, run_id: str) -> bool:
        mine = claims_of(key, run_id, self._held.worker)
        return (
            await self.write(lambda connection: connection.execute(_LOCK, mine).first()) is not None
        )

    async def hide(
        self, key: ThreadKey, deletion_id: str, until: float, also: Also = ()
    ) -> float | None:
        with self._held.ending(deletion_id):
            due = await super().hide(key, deletion_id, until, also)
        if due is not None:
            self._held.drop(key, deletion_id)
        return due

    async def recover(self) -> Sequence[LostRun]:
        """No live run is taken for lost: `Leases.lapsed` finds those."""
        return ()

    async def shrink(self) -> bool:
        """Postgres vacuums by itself."""
        return False

    async def write(self, work: Callable[..., T], *arguments: Any) -> T:
        with self.meter.write():
            return await self._transactions.write(work, *arguments)

    async def write_claimed(
        self, key: ThreadKey, run_id: str | None, work: Callable[..., T], *arguments: Any
    ) -> T:
        claim = self._held.find(key.checkpoint_key, run_id)

        def fenced(connection: Connection) -> T:
            fence(connection, claim)
            claim.begin(connection)
            return work(connection, *arguments)

        return await self._written(claim, fenced)

    async def write_last(self, key: ThreadKey, run_id: str, work: Callable[..., T]) -> T:
        """To give the claim back is its fence."""
        claim = self._held.find(key.checkpoint_key, run_id)

        def last(connection: Connection) -> T:
            if not connection.execute(_GIVE_BACK_HELD, claim.named).rowcount:
                raise refused(claim)
            claim.begin(connection)
            return work(connection)

        return await self._written(claim, last)

    async def write_beginning(
        self,
        key: ThreadKey,
        run_id: str,
        work: Callable[[Connection], str | None],
        begun: Begun,
        *,
        joins_next: bool,
    ) -> None:
        if not joins_next:
            await super().write_beginning(key, run_id, work, begun, joins_next=False)
            return
        claim = self._held.find(key.checkpoint_key, run_id)
        claim.beginning = Beginning(key, run_id, work, begun)

    async def _written(self, claim: HeldClaim, work: Callable[[Connection], T]) -> T:
        try:
            written = await self.write(work)
            claim.committed()
            return written
        except LeaseLost:
            self._held.lose(claim.run_id)
            raise

    async def read(self, work: Callable[..., T], *arguments: Any) -> T:
        return await self._transactions.read(work, *arguments)


def claims_of(key: ThreadKey, run_id: str, worker: str) -> dict[str, str]:
    return {
        "owner": key.owner,
        "thread_id": key.thread_id,
        "run_id": run_id,
        "worker": worker,
    }
