"""Workers on one Redis, each with its own connections, as processes have them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from turnstream.server.extensions.workers.redis.opening import Shares, open_redis

OpenWorker = Callable[[str], Awaitable[Shares]]


@asynccontextmanager
async def workers(url: str, silence_seconds: float = 60) -> AsyncIterator[OpenWorker]:
    """Opens a worker by its id; all are closed in the end."""
    async with AsyncExitStack() as stack:

        async def open_worker(id: str) -> Shares:
            return await stack.enter_async_context(
                open_redis(url, id, silence_seconds=silence_seconds)
            )

        yield open_worker
