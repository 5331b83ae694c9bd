"""A worker's part in Redis, from its start to its end."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from turnstream.server.extensions.workers.redis.connection import Commands, connections, described
from turnstream.server.extensions.workers.redis.feed import Feed
from turnstream.server.extensions.workers.redis.inbox import RedisInbox
from turnstream.server.extensions.workers.redis.logs import RedisLogs
from turnstream.server.extensions.workers.redis.scripts import PREFIX, Keys
from turnstream.server.extensions.workers.redis.upkeep import Upkeep
from turnstream.server.storage.interfaces import StorageError
from turnstream.server.storage.memory_logs import DEFAULT_MAX_BYTES

SILENCE_SECONDS = 5.0
START_SECONDS = 5.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shares:
    logs: RedisLogs
    inbox: RedisInbox


@asynccontextmanager
async def open_redis(
    url: str,
    worker: str,
    *,
    prefix: str = PREFIX,
    silence_seconds: float = SILENCE_SECONDS,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> AsyncIterator[Shares]:
    """`url` is `redis://`, `rediss://` or `unix://`. Raises StorageError if it cannot be connected
    to."""
    try:
        make = connections(url, f"turnstream-{worker}")
    except ValueError as error:
        raise StorageError(f"TURNSTREAM_REDIS is no URL of a Redis: {error}") from None
    keys = Keys(prefix)
    commands = Commands(make())
    inbox = RedisInbox(commands, keys)
    feed = Feed(make(), commands, keys.inbox(worker), inbox.receive)
    logs = RedisLogs(worker, keys, commands, feed, max_bytes)
    upkeep = Upkeep(logs, feed, silence_seconds)
    work = (commands.link.run(), feed.link.run(), upkeep.run())
    tasks = [asyncio.create_task(one, name="redis") for one in work]
    try:
        async with asyncio.timeout(START_SECONDS):
            await commands.link.tried.wait()
        if commands.link.fault:
            raise StorageError(f"TURNSTREAM_REDIS: {described(commands.link.fault)}")
        yield Shares(logs, inbox)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        commands.close()
