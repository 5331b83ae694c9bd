"""The end of the process: no new runs, the live ones finish or are stopped and saved, in time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from turnstream.server.runs.claims import Claims
from turnstream.server.runs.signals import SHUTDOWN

logger = logging.getLogger(__name__)

SAVE_SECONDS = 4.0
"""Seconds that runs which are stopped may take to save what they have."""
SAVED_AT_ONCE = 16
"""Runs that are saved at once. If all were, none would be in time."""


class ShuttingDown(Exception):
    """The server takes no new runs."""


class Shutdown:
    """`cut_off` ends the log of a run, or leaves it to other workers, for the readers here."""

    def __init__(self, claims: Claims, cut_off: Callable[[str], Awaitable[None]]) -> None:
        self._claims = claims
        self._cut_off = cut_off
        self._begun = False
        self._hurried = asyncio.Event()

    def check(self) -> None:
        """Raises ShuttingDown if it has begun."""
        if self._begun:
            raise ShuttingDown

    def hurry(self) -> None:
        """Let no live run finish that `drain` waits for: stop them now."""
        self._hurried.set()

    async def drain(self, seconds: float) -> None:
        """Let the live runs finish, and stop those that take longer."""
        self._begun = True
        ended = asyncio.create_task(self._all_ended())
        hurried = asyncio.create_task(self._hurried.wait())
        await asyncio.wait({ended, hurried}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()
        ended.cancel()
        try:
            async with asyncio.timeout(SAVE_SECONDS):
                await self._stop_in_turn()
        except TimeoutError:
            await self._abandon()

    async def _all_ended(self) -> bool:
        # Runs whose requests are being checked count too.
        for run_id in self._claims.run_ids:
            await self._claims.ended(run_id)
        return True

    async def _stop_in_turn(self) -> None:
        live = iter(self._claims.run_ids)

        async def stop() -> None:
            for run_id in live:
                await self._claims.stop(run_id, SHUTDOWN)

        await asyncio.gather(*(stop() for _ in range(SAVED_AT_ONCE)))

    async def _abandon(self) -> None:
        """Leave the live runs as they are. The next start, or another worker, finds them as after a
        crash: they can be continued. Their readers are cut off, and find that too when they come
        back."""
        live = self._claims.run_ids
        logger.warning("%d runs could not be saved in time", len(live))
        for run_id in live:
            await self._cut_off(run_id)
            self._claims.forget(run_id)
