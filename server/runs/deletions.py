"""Deleting threads: at once, or so that they can be brought back for a while."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakValueDictionary

from turnstream.server.runs.claims import new_run_id
from turnstream.server.runs.deadline import in_time
from turnstream.server.runs.hooks import RunHooks
from turnstream.server.runs.retries import Retries
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.storage.also import Also
from turnstream.server.storage.interfaces import Granted, Held, LeaseLost, ThreadEntry, ThreadStore
from turnstream.server.storage.run_logs import RunLogs
from turnstream.server.turns.header import ThreadKey

HIDING = "undoable-"
"""Begins the id of a deletion that is to hide its thread: so whoever takes the claim over knows."""


@dataclass(frozen=True, slots=True)
class Forgetting:
    """The steps of a deletion once it has claimed its thread. One that was broken off can be done
    again."""

    graphs: ServedGraphs
    store: ThreadStore
    logs: RunLogs
    retries: Retries
    hooks: RunHooks
    hidden: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a thread was hidden."""

    async def carry_out(self, key: ThreadKey, deletion_id: str, also: Also) -> float | None:
        """Hide the thread, or forget it, as the id of its deletion says. The Unix time until which
        it can be brought back; None: it is forgotten. Raises as `forget`."""
        if deletion_id.startswith(HIDING):
            due = time.time() + self.hooks.restorable_seconds
            until = await self.hide(key, deletion_id, due, also)
            if until is not None:
                self.hidden.set()
                return until
        await self.forget(key, deletion_id, also)
        return None

    async def forget(self, key: ThreadKey, deletion_id: str, also: Also) -> None:
        """Raises StorageUnavailable; LeaseLost if another worker does it instead."""
        try:
            await self.logs.discard_thread(key)
            await self.graphs.checkpoints(None).delete(key)
            await self.store.delete(key, [*also, *self.hooks.thread_deleted(key)])
        finally:
            await self.give_back(key, deletion_id)

    async def hide(
        self, key: ThreadKey, deletion_id: str, until: float, also: Also
    ) -> float | None:
        """Until when the thread can be brought back; of one that is hidden already, that stays.
        None: there is no such thread, and the claim stays. Raises as `forget`."""
        try:
            await self.logs.discard_thread(key)
            return await self.store.hide(key, deletion_id, until, also)
        except BaseException:
            await self.give_back(key, deletion_id)
            raise

    async def give_back(self, key: ThreadKey, deletion_id: str) -> None:
        with suppress(LeaseLost):
            await self.retries.write(partial(self.store.release, key, deletion_id))


class Deletions:
    """`end_run` stops the run of a thread, and returns when the thread is free; with None it waits
    for a deletion of another worker."""

    def __init__(
        self,
        store: ThreadStore,
        forgetting: Forgetting,
        end_run: Callable[[ThreadKey, str | None], Awaitable[None]],
    ) -> None:
        self._store = store
        self._audit = forgetting.hooks.audit
        self._forgetting = forgetting
        self._end_run = end_run
        self._live: WeakValueDictionary[ThreadKey, asyncio.Lock] = WeakValueDictionary()
        self.hidden = forgetting.hidden

    async def delete(self, key: ThreadKey, *, at_once: bool) -> float | None:
        """Its live run is stopped first, and none can begin. The Unix time until which the thread
        can be brought back; None: it cannot, or there is none. Raises ThreadStillBusy."""
        at_once = at_once or not self._forgetting.hooks.restorable_seconds
        deletion_id = f"{'' if at_once else HIDING}deletion-{new_run_id()}"
        # One after the other: a deletion that is late would take what was begun after an early one.
        async with AsyncExitStack() as locked:
            async with in_time():
                await locked.enter_async_context(self._lock(key))
                await self._claim(key, deletion_id)
            return await self._delete(key, deletion_id)

    async def _claim(self, key: ThreadKey, deletion_id: str) -> None:
        while isinstance(held := await self._store.claim_for_deletion(key, deletion_id), Held):
            await self._end_run(key, held.run_id)

    async def _delete(self, key: ThreadKey, deletion_id: str) -> float | None:
        try:
            return await self._forgetting.carry_out(key, deletion_id, self._audit.deleted(key))
        except LeaseLost:  # Another worker deletes it.
            await self._end_run(key, None)
            return None

    async def restore(self, key: ThreadKey) -> ThreadEntry | None:
        """Bring a thread back that was deleted; one that is there stays. None: there is none."""
        async with self._lock(key):
            return await self._store.restore(key, self._audit.restored(key))

    async def make_way(self, key: ThreadKey) -> None:
        """Forget a hidden thread for a request that begins one of the same id."""
        await self.forget_hidden(key, math.inf)

    async def forget_hidden(self, key: ThreadKey, now: float | None = None) -> bool:
        """Forget a thread whose time is over, by now or at a Unix time. False: it was brought back,
        or another worker forgets it."""
        async with self._lock(key):
            deletion_id = f"deletion-{new_run_id()}"
            at = time.time() if now is None else now
            claimed = await self._store.claim_hidden(key, deletion_id, at)
            return await self._forget_claimed(key, deletion_id, isinstance(claimed, Granted), ())

    async def delete_idle(self, key: ThreadKey, since: float) -> bool:
        """Forget a thread without activity since a Unix time. False: it has some by now, a live
        run, or a call that waits for an approval."""
        async with self._lock(key):
            deletion_id = f"deletion-{new_run_id()}"
            claimed = await self._store.claim_idle(key, deletion_id, since, time.time())
            also = self._audit.expired(key)
            is_mine = isinstance(claimed, Granted)
            return await self._forget_claimed(key, deletion_id, is_mine, also)

    async def _forget_claimed(
        self, key: ThreadKey, deletion_id: str, is_mine: bool, also: Also
    ) -> bool:
        if is_mine:
            with suppress(LeaseLost):  # Another worker completes it.
                await self._forgetting.forget(key, deletion_id, also)
        return is_mine

    def _lock(self, key: ThreadKey) -> asyncio.Lock:
        return self._live.setdefault(key, asyncio.Lock())
