"""Waiting for what becomes true by itself."""

import asyncio
from collections.abc import Callable

WAIT_SECONDS = 10


async def until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds; TimeoutError when it does not come to hold."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():  # noqa: ASYNC110  what holds it has no event to wait for
            await asyncio.sleep(0.005)
