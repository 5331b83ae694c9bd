"""Runs and deletions of workers that are gone: a sweep ends those whose threads nobody needs."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from turnstream.server.runs.other_workers import OtherWorkers
from turnstream.server.storage.interfaces import StorageUnavailable

logger = logging.getLogger(__name__)


@asynccontextmanager
async def open_sweep(others: OtherWorkers | None) -> AsyncIterator[None]:
    """Beside the server, now and whenever a lease may be over. None: there is no other worker."""
    if others is None:
        yield
        return
    work = asyncio.create_task(_sweep(others), name="sweep")
    try:
        yield
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def _sweep(others: OtherWorkers) -> None:
    while True:
        try:
            await others.sweep()
        except StorageUnavailable as error:
            logger.warning("claims of lost workers wait: %(error)s", {"error": error})
        except Exception:
            logger.exception("claims of lost workers wait")
        await asyncio.sleep(others.lease_seconds)
