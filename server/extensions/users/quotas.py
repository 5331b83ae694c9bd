"""Quotas of callers in windows of time: requests a minute, calls and tokens a day.

A window begins with its first use. What has ended is forgotten, so the storage is as large as the
number of callers within a day.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache

from limits import RateLimitItem, RateLimitItemPerDay, RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, Storage
from limits.aio.strategies import FixedWindowRateLimiter

from turnstream.server.callers.rights import LimitExceeded, WindowLimit
from turnstream.server.extensions.users.shared_counters import SharedCounters

CALLS = "tool_calls_per_day"
LOOK_THROUGH_SECONDS = 60


class Memory(MemoryStorage):
    """The library's own looks through all of its keys at every hit, a cost that grows with the
    number of callers (read in limits 5.8); this one once a minute."""

    _looked_through = 0.0

    async def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        now = time.time()
        if now - self._looked_through >= LOOK_THROUGH_SECONDS:
            self._looked_through = now
            for ended in [key for key, until in self.expirations.items() if until <= now]:
                await self.get(ended)  # forgets it
        used = await self.get(key) + amount
        self.storage[key] = used
        if used == amount:
            self.expirations[key] = now + expiry
        return used


class Quotas:
    """Implements `Counters` of `turnstream.server.extensions.users.rights`, in any storage of the
    `limits` library; without one in memory. In `shared` all workers count together
    (`SharedCounters`)."""

    def __init__(self, storage: Storage | None = None, shared: Storage | None = None) -> None:
        own = storage or Memory()
        self._limiter = FixedWindowRateLimiter(SharedCounters(shared, own) if shared else own)

    async def take(self, owner: str, limit: WindowLimit, value: int) -> None:
        """Count one. Raises LimitExceeded."""
        if not await self._limiter.hit(_item(limit, value), limit, _digest(owner)):
            raise await self._exceeded(limit, value, owner)

    async def check(self, owner: str, limit: WindowLimit, value: int) -> None:
        """Raises LimitExceeded if nothing is left."""
        if not await self._limiter.test(_item(limit, value), limit, _digest(owner)):
            raise await self._exceeded(limit, value, owner)

    async def charge(self, owner: str, limit: WindowLimit, value: int, cost: int) -> None:
        """Count what was used, also beyond the limit."""
        await self._limiter.hit(_item(limit, value), limit, _digest(owner), cost=cost)

    async def take_call(self, owner: str, choices: Sequence[Mapping[str, int]]) -> None:
        """Count a tool call. Each choice has the limits of one role, by glob; the call needs room
        in all limits of one of them, and counts in every role's. Raises LimitExceeded, which names
        the limit that is in the way for the shortest time.

        Parallel calls, of other workers too, are each counted before they are judged; one that is
        refused is taken back.
        """
        counted = {(glob, most) for limits in choices for glob, most in limits.items()}
        room = {each: await self._count_call(owner, *each, 1) for each in counted}
        if any(all(room[each] for each in limits.items()) for limits in choices):
            return
        for each in counted:
            await self._count_call(owner, *each, -1)
        full = [each for each in counted if not room[each]]
        faults = [await self._exceeded(CALLS, most, owner, glob) for glob, most in full]
        raise min(faults, key=lambda fault: fault.retry_after)

    async def _count_call(self, owner: str, glob: str, most: int, cost: int) -> bool:
        """Return True if the count is within the limit."""
        item = RateLimitItemPerDay(most)
        return await self._limiter.hit(item, CALLS, _digest(owner), glob, cost=cost)

    async def _exceeded(self, limit: str, value: int, owner: str, *more: str) -> LimitExceeded:
        item = _item(limit, value)
        window = await self._limiter.get_window_stats(item, limit, _digest(owner), *more)
        return LimitExceeded(limit, value, max(1.0, window.reset_time - time.time()))


@lru_cache(256)
def _item(limit: str, value: int) -> RateLimitItem:
    return (RateLimitItemPerMinute if limit.endswith("_per_minute") else RateLimitItemPerDay)(value)


@lru_cache(4096)
def _digest(owner: str) -> str:
    """The library joins the parts of a key with slashes, which an owner may have."""
    return hashlib.sha256(owner.encode()).hexdigest()[:32]
