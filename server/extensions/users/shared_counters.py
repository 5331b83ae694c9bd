"""Counters that several workers share, and each worker's own while those cannot be reached."""

import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from limits.aio.storage import Storage
from limits.errors import StorageError

AWAY_SECONDS = 5.0
"""After a failure the shared ones are left alone for so long: nobody waits for them."""

T = TypeVar("T")

logger = logging.getLogger(__name__)


class SharedCounters(Storage):
    """A limit is no lock: while the shared counters are away, runs go on and threads can be read,
    and each worker counts what it sees itself. With n workers a caller gets n times the limit at
    the most, for as long as that lasts; to refuse everybody would make an outage of the counters
    one of the server. New runs are refused then anyway, since they could not be streamed.
    """

    STORAGE_SCHEME = None

    def __init__(self, shared: Storage, own: Storage) -> None:
        super().__init__()
        self._shared = shared
        self._own = own
        self._away_until = 0.0

    @property
    def base_exceptions(self) -> type[Exception]:
        return StorageError

    async def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        return await self._ask(lambda storage: storage.incr(key, expiry, amount))  # type: ignore[arg-type]

    async def get(self, key: str) -> int:
        return await self._ask(lambda storage: storage.get(key))

    async def get_expiry(self, key: str) -> float:
        return await self._ask(lambda storage: storage.get_expiry(key))

    async def check(self) -> bool:
        return await self._shared.check()

    async def reset(self) -> int | None:
        return await self._ask(lambda storage: storage.reset())

    async def clear(self, key: str) -> None:
        await self._ask(lambda storage: storage.clear(key))

    async def _ask(self, ask: Callable[[Storage], Awaitable[T]]) -> T:
        if time.monotonic() >= self._away_until:
            try:
                return await ask(self._shared)
            except StorageError as error:
                self._away_until = time.monotonic() + AWAY_SECONDS
                named = {"error": " ".join(str(error).split())}
                logger.warning("limits are counted by each worker for now: %(error)s", named)
        return await ask(self._own)
