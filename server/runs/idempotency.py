"""Requests that are sent again: the same key gives the same run."""

import asyncio
from collections.abc import Awaitable, Callable

from server.protocols.requests import IdempotencyKey, InvalidRequest
from server.runs.run import Run


class IdempotencyKeys:
    """The keys of runs that are starting or kept."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, asyncio.Future[Run]]] = {}

    async def once(self, key: IdempotencyKey, start: Callable[[], Awaitable[Run]]) -> Run:
        """The run of this key: started now, or before, or just starting. A start that fails leaves
        the key free. Raises InvalidRequest if the key is another request's."""
        known = self._known.get(key.key)
        if known is None:
            return await self._first(key, start)
        digest, started = known
        if digest != key.digest:
            raise InvalidRequest(
                "idempotency_key_reused",
                f"The Idempotency-Key {key.key[:64]!r} was used for another body; take a new key.",
            )
        return await asyncio.shield(started)

    def forget(self, run: Run) -> None:
        if run.idempotency_key:
            self._known.pop(run.idempotency_key, None)

    async def _first(self, key: IdempotencyKey, start: Callable[[], Awaitable[Run]]) -> Run:
        started: asyncio.Future[Run] = asyncio.get_running_loop().create_future()
        self._known[key.key] = key.digest, started
        try:
            run = await start()
        except BaseException as error:
            del self._known[key.key]
            started.set_exception(error)
            started.exception()
            raise
        run.idempotency_key = key.key
        started.set_result(run)
        return run
