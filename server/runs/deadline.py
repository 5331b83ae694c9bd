"""The time that a request waits for a thread that a run or a deletion has."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

END_SECONDS = 15.0


class ThreadStillBusy(Exception):
    """The thread did not become free in time."""


@asynccontextmanager
async def in_time() -> AsyncIterator[None]:
    """Raises ThreadStillBusy after END_SECONDS."""
    try:
        async with asyncio.timeout(END_SECONDS) as limit:
            yield
    except TimeoutError:
        if limit.expired():
            raise ThreadStillBusy from None
        raise
