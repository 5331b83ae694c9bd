"""Forgetting threads that nobody has used for long, and giving space back to the disk."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from turnstream.server.storage.interfaces import IdleThread, StorageUnavailable, ThreadStore
from turnstream.server.turns.header import ThreadKey

DAY_SECONDS = 86_400
CHECK_SECONDS = 3_600.0
AT_ONCE = 50
"""Threads of one look at the list."""

logger = logging.getLogger(__name__)

DeleteIdle = Callable[[ThreadKey, float], Awaitable[bool]]


class Retention:
    """Works in short transactions, at most half of the time: whoever uses the server goes first.

    `days` None: no thread is deleted for its age.
    """

    def __init__(self, store: ThreadStore, delete_idle: DeleteIdle, days: float | None) -> None:
        self._store = store
        self._delete_idle = delete_idle
        self._days = days
        self._closing = asyncio.Event()

    async def run(self) -> None:
        """Look now and once an hour, until `close`."""
        while not self._closing.is_set():
            try:
                count = await self.expire()
                await self._store.forget_old_requests()
                await self.shrink()
            except StorageUnavailable as error:
                logger.warning("old threads stay another hour: %(error)s", {"error": error})
            except Exception:
                logger.exception("old threads stay another hour")
            else:
                if count:
                    logger.info("%(count)s threads are too old, and deleted", {"count": count})
            await self._pause(CHECK_SECONDS)

    def close(self) -> None:
        """Begin no further deletion."""
        self._closing.set()

    async def expire(self) -> int:
        """Delete the threads that are too old, and say how many. Raises StorageUnavailable."""
        if self._days is None:
            return 0
        since, count = time.time() - self._days * DAY_SECONDS, 0
        last: IdleThread | None = None
        while idle := await self._store.idle(since, time.time(), AT_ONCE, last):
            for thread in idle:
                if self._closing.is_set():
                    return count
                began = time.monotonic()
                count += await self._delete_idle(thread.key, since)
                await self._pause(time.monotonic() - began)
            last = idle[-1]
        return count

    async def shrink(self) -> None:
        """Give back what space is unused. Raises StorageUnavailable."""
        began = time.monotonic()
        while not self._closing.is_set() and await self._store.shrink():
            await self._pause(time.monotonic() - began)
            began = time.monotonic()

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()


@asynccontextmanager
async def open_retention(
    store: ThreadStore, delete_idle: DeleteIdle, days: float | None
) -> AsyncIterator[None]:
    """Retention beside the server; a deletion that has begun is finished."""
    retention = Retention(store, delete_idle, days)
    work = asyncio.create_task(retention.run(), name="retention")
    try:
        yield
    finally:
        retention.close()
        await work
