"""The index of threads that it does not have as they are: old ones, and those whose run was cut off
before the index followed it."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from turnstream.server.extensions.search.index import Behind, SearchIndex
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.message_texts import MessageText

TextsOf = Callable[[ThreadKey], Awaitable[Sequence[MessageText]]]

CHECK_SECONDS = 600.0
AT_ONCE = 50

logger = logging.getLogger(__name__)


class CatchingUp:
    """Works at most half of the time: whoever uses the server goes first."""

    def __init__(self, index: SearchIndex, texts: TextsOf, *, with_substeps: bool = False) -> None:
        self._index = index
        self._texts, self._with_substeps = texts, with_substeps
        self._closing = asyncio.Event()

    async def run(self) -> None:
        """Look now and every ten minutes, until `close`."""
        while not self._closing.is_set():
            try:
                count = await self.catch_up()
            except StorageUnavailable as error:
                logger.warning("threads are not indexed now: %(error)s", {"error": error})
            except Exception:
                logger.exception("threads are not indexed now")
            else:
                if count:
                    logger.info("%(count)s threads are indexed for the search", {"count": count})
            await self._pause(CHECK_SECONDS)

    def close(self) -> None:
        """Begin no further thread."""
        self._closing.set()

    async def catch_up(self) -> int:
        """Index the threads whose index is behind. Returns their number. Raises
        StorageUnavailable."""
        count = 0
        last: Behind | None = None
        while behind := await self._index.behind(AT_ONCE, last):
            for thread in behind:
                if self._closing.is_set():
                    return count
                began = time.monotonic()
                await self._catch_up_with(thread)
                count += 1
                await self._pause(time.monotonic() - began)
            last = behind[-1]
        return count

    async def _catch_up_with(self, thread: Behind) -> None:
        """Index a thread; of one that cannot be read, the title."""
        try:
            texts = await self._texts(thread.key)
        except StorageUnavailable:
            raise
        except Exception:
            named = {"thread": thread.key.thread_id}
            logger.exception("thread %(thread)s cannot be read, nor searched", named)
            texts = ()
        await self._index.put(thread, texts, with_substeps=self._with_substeps)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()


@asynccontextmanager
async def open_catching_up(
    index: SearchIndex, texts: TextsOf, *, with_substeps: bool
) -> AsyncIterator[None]:
    """Catch up beside the server; a thread that has begun is finished. `with_substeps`: the texts
    have what subagents said."""
    catching_up = CatchingUp(index, texts, with_substeps=with_substeps)
    work = asyncio.create_task(catching_up.run(), name="indexing")
    try:
        yield
    finally:
        catching_up.close()
        await work
