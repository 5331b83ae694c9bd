"""Upkeep once a second: mirrors that nobody reads, logs that are silent."""

import asyncio
import logging

from turnstream.server.extensions.workers.redis.feed import Feed
from turnstream.server.extensions.workers.redis.log import RedisLog
from turnstream.server.extensions.workers.redis.logs import RedisLogs

LOOK_SECONDS = 1.0
RENEW_EVERY = 5
"""Looks from one renewal of the notes of readers to the next."""
LINGER_SECONDS = 10.0
"""A mirror stays for so long after its last reader: another one may come."""

logger = logging.getLogger(__name__)


class Upkeep:
    def __init__(self, logs: RedisLogs, feed: Feed, silence_seconds: float) -> None:
        self._logs = logs
        self._feed = feed
        self._silence = silence_seconds
        self._asking: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        try:
            while True:
                for _ in range(RENEW_EVERY):
                    await asyncio.sleep(min(LOOK_SECONDS, self._silence / 2))
                    self._look(asyncio.get_running_loop().time())
                self._logs.presence.renew()
                self._logs.mark()
        finally:
            for task in self._asking:
                task.cancel()

    def _look(self, now: float) -> None:
        for mirror in self._feed.mirrors:
            assert isinstance(mirror, RedisLog)
            if not mirror.uses:
                if mirror.is_over or now - mirror.used_at >= LINGER_SECONDS:
                    self._feed.detach(mirror)
            elif now - mirror.quiet_since >= self._silence and not mirror.is_over:
                mirror.quiet_since = now
                task = asyncio.create_task(self._ask(mirror), name=f"silence of {mirror.run_id}")
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)

    async def _ask(self, log: RedisLog) -> None:
        try:
            await self._logs.ask_about(log)
        except Exception:
            logger.exception("run %(run)s is silent, for a reason unknown", {"run": log.run_id})
