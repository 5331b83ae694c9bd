"""Writes to the store that must happen sooner or later, whatever the database does now.

A write whose lease is lost is left to the worker that takes the claim over.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress

from turnstream.server.storage.interfaces import LeaseLost, StorageUnavailable

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0

Write = Callable[[], Awaitable[None]]


class Retries:
    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def write(self, write: Write) -> None:
        """Do it now; if it cannot be done, go on trying without the caller, who may also leave.

        Raises LeaseLost.
        """
        await asyncio.shield(self._start(self._first_try(write)))

    def begin(self, write: Write) -> None:
        """Do it without a caller; not at all once this is closed, and the storage with it."""
        if self._is_closed:
            return

        async def alone() -> None:
            with suppress(LeaseLost):
                await self._first_try(write)

        self._start(alone())

    async def close(self) -> None:
        """Write nothing more."""
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _first_try(self, write: Write) -> None:
        try:
            await write()
        except LeaseLost:
            raise
        except StorageUnavailable as error:
            logger.warning("the store could not be written; it is tried again: %s", error)
            self._start(self._try_again(write))
        except Exception:
            logger.exception("the store could not be written; it is tried again")
            self._start(self._try_again(write))

    async def _try_again(self, write: Write) -> None:
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            try:
                await write()
            except LeaseLost:
                logger.warning("a claim was lost before it was released: the sweep ends its run")
                return
            except Exception:  # noqa: BLE001  the first failure was logged with its cause
                logger.debug("the store still cannot be written")
            else:
                return

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
