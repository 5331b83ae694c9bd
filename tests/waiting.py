"""Waiting for what becomes true by itself."""

import asyncio
from collections.abc import Callable

WAIT_SECONDS = 10


async def until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds; TimeoutError when it does not come to hold."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():
            await asyncio.sleep(0.005)
