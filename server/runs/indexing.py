"""The search's index, for threads that it does not have as they are: old ones, and those whose run
was cut off before it was noted."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from turnstream.server.runs.searchable import texts
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.storage.searching import SearchableTexts, Unsearchable
from turnstream.tools.threads import beside_loop

CHECK_SECONDS = 600.0
AT_ONCE = 50

logger = logging.getLogger(__name__)


class Indexing:
    """Works at most half of the time: whoever uses the server goes first."""

    def __init__(self, store: SearchableTexts, graphs: ServedGraphs) -> None:
        self._store = store
        self._graphs = graphs
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
        """Index the threads whose index is behind, and say how many. Raises StorageUnavailable."""
        count = 0
        last: Unsearchable | None = None
        while behind := await self._store.unsearchable(AT_ONCE, last):
            for thread in behind:
                if self._closing.is_set():
                    return count
                began = time.monotonic()
                await self._index(thread)
                count += 1
                await self._pause(time.monotonic() - began)
            last = behind[-1]
        return count

    async def _index(self, thread: Unsearchable) -> None:
        """Of a thread that cannot be read, the title."""
        try:
            state = await self._graphs.checkpoints(thread.graph).load(thread.key)
            messages = state.messages
            found = await beside_loop(len(messages), lambda: texts(messages))
        except StorageUnavailable:
            raise
        except Exception:
            named = {"thread": thread.key.thread_id}
            logger.exception("thread %(thread)s cannot be read, nor searched", named)
            found = []
        await self._store.put_texts(thread, found)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()


@asynccontextmanager
async def open_indexing(store: SearchableTexts, graphs: ServedGraphs) -> AsyncIterator[None]:
    """Indexing beside the server; a thread that has begun is finished."""
    indexing = Indexing(store, graphs)
    work = asyncio.create_task(indexing.run(), name="indexing")
    try:
        yield
    finally:
        indexing.close()
        await work
