"""Leases of claims: one task renews all that this worker holds, by the database's clock."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from sqlalchemy import Connection, text

from turnstream.graphs.stored import Ended
from turnstream.server.extensions.workers.leases import Holder
from turnstream.server.extensions.workers.postgres.held_claims import HeldClaims
from turnstream.server.extensions.workers.postgres.transactions import PostgresTransactions
from turnstream.server.storage.claims import DELETION, RUN, Taking
from turnstream.server.storage.interfaces import LostRun, StorageUnavailable
from turnstream.server.turns.header import ThreadKey

RENEWALS = 3
"""In the time of a lease."""
RETRY_SECONDS = 1.0

logger = logging.getLogger(__name__)

_UNTIL = "clock_timestamp() + make_interval(secs => :lease)"
_CLAIM = (
    "INSERT INTO claims (owner, thread_id, run_id, purpose, worker, lease_until) VALUES "
    f"(:owner, :thread_id, :run_id, '{{purpose}}', :worker, {_UNTIL}) ON CONFLICT"
)
_TAKE = text(f"{_CLAIM.format(purpose=RUN)} (owner, thread_id) DO NOTHING")
_TAKE_FOR_DELETION = text(
    f"{_CLAIM.format(purpose=DELETION)} (owner, thread_id) DO UPDATE SET run_id = excluded.run_id, "
    "worker = excluded.worker, lease_until = excluded.lease_until, stop = NULL "
    f"WHERE claims.purpose = '{DELETION}' "
    "AND (claims.worker = excluded.worker OR claims.lease_until <= clock_timestamp())"
)
_THREAD = "owner = :owner AND thread_id = :thread_id"
_RENEW = text(
    f"UPDATE claims SET lease_until = {_UNTIL} WHERE worker = :worker AND run_id = ANY(:runs) "
    "AND lease_until > clock_timestamp() RETURNING run_id, stop"
)
_HOLDER = text(
    "SELECT run_id, worker, lease_until <= clock_timestamp() AS lapsed, purpose FROM claims "
    f"WHERE {_THREAD}"
)
_LAPSED = text(
    "SELECT claims.owner, claims.thread_id, claims.run_id, claims.purpose, threads.graph "
    "FROM claims LEFT JOIN threads ON threads.owner = claims.owner "
    "AND threads.id = claims.thread_id AND threads.run_id = claims.run_id "
    "WHERE lease_until <= clock_timestamp() ORDER BY lease_until LIMIT :limit"
)
_TAKE_OVER = text(
    f"UPDATE claims SET worker = :worker, lease_until = {_UNTIL}, stop = NULL "
    f"WHERE {_THREAD} AND run_id = :run_id AND lease_until <= clock_timestamp()"
)
_LIVE_RUNS = text(
    f"SELECT count(*) FROM claims WHERE owner = :owner AND purpose = '{RUN}' "
    "AND lease_until > clock_timestamp()"
)
_STOP = text(f"UPDATE claims SET stop = :stop WHERE {_THREAD} AND run_id = :run_id")


class PostgresLeases:
    """Implements `Leases`. Open with `open_leases`."""

    def __init__(
        self,
        held: HeldClaims,
        transactions: PostgresTransactions,
        own: PostgresTransactions,
        lease_seconds: float,
    ) -> None:
        """`own` is for renewals: they wait for nothing else."""
        self.taking = Taking(
            _TAKE, _TAKE_FOR_DELETION, {"worker": held.worker, "lease": lease_seconds}
        )
        self._held = held
        self._transactions = transactions
        self._own = own
        self._lease_seconds = lease_seconds
        self._stop_calls: list[Callable[[str, Ended], None]] = []
        self._stopped: set[str] = set()

    @property
    def worker(self) -> str:
        return self._held.worker

    def on_lost(self, call: Callable[[str], None]) -> None:
        self._held.on_lost(call)

    def on_stop(self, call: Callable[[str, Ended], None]) -> None:
        self._stop_calls.append(call)

    async def holder(self, key: ThreadKey) -> Holder | None:
        def holder(connection: Connection) -> Holder | None:
            row = connection.execute(_HOLDER, _thread(key)).first()
            return Holder(*row) if row else None

        return await self._transactions.read(holder)

    async def lapsed(self, limit: int) -> Sequence[LostRun]:
        def lapsed(connection: Connection) -> Sequence[LostRun]:
            rows = connection.execute(_LAPSED, {"limit": limit})
            return [
                LostRun(ThreadKey(row.owner, row.thread_id), row.run_id, row.graph, row.purpose)
                for row in rows
            ]

        return await self._transactions.read(lapsed)

    async def take_over(self, key: ThreadKey, run_id: str) -> bool:
        """It waits for a write that the worker before was admitted to: raises StorageUnavailable if
        that takes too long."""
        values = {**_thread(key), "run_id": run_id, **self.taking.values}

        def take_over(connection: Connection) -> bool:
            return bool(connection.execute(_TAKE_OVER, values).rowcount)

        taken = await self._transactions.write(take_over)
        if taken:
            self._held.add(key, run_id)
        return taken

    def let_go(self, key: ThreadKey, run_id: str) -> None:
        self._held.drop(key, run_id)

    async def live_runs(self, owner: str) -> int:
        def count(connection: Connection) -> int:
            return int(connection.execute(_LIVE_RUNS, {"owner": owner}).scalar_one())

        return await self._transactions.read(count)

    async def request_stop(self, key: ThreadKey, run_id: str, reason: Ended) -> None:
        values = {**_thread(key), "run_id": run_id, "stop": json.dumps(reason)}
        await self._transactions.write(lambda connection: connection.execute(_STOP, values))

    async def renew(self) -> None:
        """Renew the leases of the claims that are held, once. An expired lease is never renewed:
        its claim is lost. Raises StorageUnavailable."""
        runs = self._held.run_ids
        if not runs:
            return
        values = {**self.taking.values, "runs": runs}

        def renew(connection: Connection) -> dict[str, str | None]:
            return {row.run_id: row.stop for row in connection.execute(_RENEW, values)}

        renewed = await self._own.write(renew)
        for run_id in runs:
            if run_id not in renewed:
                self._held.lose(run_id)
        self._tell({run_id: stop for run_id, stop in renewed.items() if stop})

    def _tell(self, stops: dict[str, str]) -> None:
        for run_id in stops.keys() - self._stopped:
            reason: Ended = json.loads(stops[run_id])
            for call in self._stop_calls:
                call(run_id, reason)
        self._stopped = {*stops}

    async def keep(self) -> None:
        """Renew again and again."""
        every = self._lease_seconds / RENEWALS
        wait = every
        while True:
            await asyncio.sleep(wait)
            wait = every if await self._renewed() else min(RETRY_SECONDS, every)

    async def _renewed(self) -> bool:
        try:
            await self.renew()
        except StorageUnavailable as error:
            logger.warning("leases could not be renewed: %s", error)
            return False
        except Exception:
            logger.exception("leases could not be renewed")
            return False
        return True


def _thread(key: ThreadKey) -> dict[str, str]:
    return {"owner": key.owner, "thread_id": key.thread_id}


@asynccontextmanager
async def open_leases(
    held: HeldClaims,
    transactions: PostgresTransactions,
    own: PostgresTransactions,
    lease_seconds: float,
) -> AsyncIterator[PostgresLeases]:
    leases = PostgresLeases(held, transactions, own, lease_seconds)
    keeping = asyncio.create_task(leases.keep(), name="leases")
    try:
        yield leases
    finally:
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping
