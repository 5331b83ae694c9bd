"""Deleted threads whose time is over: they are forgotten for good."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from turnstream.server.storage.interfaces import StorageUnavailable, ThreadStore
from turnstream.server.turns.header import ThreadKey

LOOK_SECONDS = 60.0
"""Between looks at what other workers, or this one before it was restarted, have left."""
AGAIN_SECONDS = 1.0
AT_ONCE = 50

logger = logging.getLogger(__name__)


class DueDeletions:
    """`forget` forgets a thread if it is still hidden and due; False: somebody else has it.
    `hidden` is set when a thread was hidden."""

    def __init__(
        self,
        store: ThreadStore,
        forget: Callable[[ThreadKey], Awaitable[bool]],
        hidden: asyncio.Event,
    ) -> None:
        self._store = store
        self._forget = forget
        self._hidden = hidden
        self._closing = False

    async def run(self) -> None:
        """Forget each thread when its time is over, until `close`."""
        while not self._closing:
            self._hidden.clear()
            try:
                seconds = await self.forget_due()
            except StorageUnavailable as error:
                logger.warning("deleted threads stay for now: %(error)s", {"error": error})
                seconds = AGAIN_SECONDS
            except Exception:
                logger.exception("deleted threads stay for now")
                seconds = LOOK_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(min(seconds, LOOK_SECONDS)):
                    await self._hidden.wait()

    def close(self) -> None:
        """Forget no further thread: it is done at the next start."""
        self._closing = True
        self._hidden.set()

    async def forget_due(self) -> float:
        """Forget what is due, and say in how many seconds to look again. A thread that cannot be
        forgotten holds up no other. Raises StorageUnavailable."""
        wait, last = LOOK_SECONDS, None
        while hidden := await self._store.hidden(AT_ONCE, after=last):
            for key, due in hidden:
                left = max(due - time.time(), 0)
                if self._closing or left:
                    return min(wait, left)
                if not await self._is_forgotten(key):
                    wait = AGAIN_SECONDS
            last = hidden[-1]
        return wait

    async def _is_forgotten(self, key: ThreadKey) -> bool:
        """False: somebody else has it. One that cannot be forgotten waits for the next look. Raises
        StorageUnavailable if the database can do nothing at all."""
        try:
            return await self._forget(key)
        except StorageUnavailable as error:
            await self._store.hidden(1)
            named = {"thread": key.thread_id, "error": error}
            logger.warning("deleted thread %(thread)s stays for now: %(error)s", named)
        except Exception:
            logger.exception("deleted thread %(thread)s stays for now", {"thread": key.thread_id})
        return True


@asynccontextmanager
async def open_due_deletions(
    store: ThreadStore, forget: Callable[[ThreadKey], Awaitable[bool]], hidden: asyncio.Event
) -> AsyncIterator[None]:
    """Beside the server; a deletion that has begun is finished."""
    due = DueDeletions(store, forget, hidden)
    work = asyncio.create_task(due.run(), name="deletions that are due")
    try:
        yield
    finally:
        due.close()
        await work
