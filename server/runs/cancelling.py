"""The end of a graph that may not want to end."""

import asyncio
import logging
from typing import Any

AGAIN_SECONDS = 0.1
TRIES = 20

logger = logging.getLogger(__name__)


async def cancelled(pump: asyncio.Task[Any], run_id: str) -> None:
    """Cancel again and again: asyncio.wait_for and careless code swallow a cancel. One that ignores
    all of them is left to itself."""
    for _ in range(TRIES):
        if pump.done():
            return
        pump.cancel()
        await asyncio.wait({pump}, timeout=AGAIN_SECONDS)
    if not pump.done():
        logger.error("run %(run)s ignores its cancellation; it is abandoned", {"run": run_id})
