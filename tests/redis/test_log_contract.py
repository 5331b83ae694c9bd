"""The logs in Redis do what any logs must do, in the worker that writes them and in others."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

import pytest
import redis

from tests.support.contracts.logs import LogContract
from tests.support.contracts.runs import PassTime
from tests.support.waiting import WAIT_SECONDS
from turnstream.server.extensions.workers.redis.log import RedisLog
from turnstream.server.extensions.workers.redis.opening import open_redis
from turnstream.server.storage.run_logs import Batch, LogStatus, RunLog, RunLogs
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.header import RunHeader, ThreadKey


class AgeingContract(LogContract):
    """Time passes in Redis too."""

    @pytest.fixture
    async def pass_time(self, pass_loop_time: PassTime, redis_url: str) -> PassTime:
        async def pass_everywhere(seconds: float) -> None:
            await pass_loop_time(seconds)
            with redis.Redis.from_url(redis_url, protocol=2) as client:
                for key in client.scan_iter():
                    left = client.pttl(key)
                    assert left > 0, "every key is forgotten some day"
                    client.pexpire(key, max(0, round(left - seconds * 1000)))
                    if key.endswith(b":readers") and (since := client.hget(key, "left")):
                        client.hset(key, "left", int(since) - round(seconds * 1000))

        return pass_everywhere


class TestRedisLogs(AgeingContract):
    @pytest.fixture
    async def logs(self, redis_url: str) -> AsyncIterator[RunLogs]:
        async with open_redis(redis_url, "a") as shares:
            yield shares.logs


class LogElsewhere:
    """Written in one worker, read in another."""

    def __init__(self, written: RunLog, read: RedisLog) -> None:
        self._written = written
        self._read = read

    async def open(self, header: RunHeader) -> None:
        await self._written.open(header)
        await self._read.reached(0)

    async def append(self, chunks: Sequence[Chunk]) -> None:
        await self._written.append(chunks)
        await self._read.reached((await self._written.status()).last)

    async def header(self) -> RunHeader | None:
        return await self._read.header()

    def read(self, after: int) -> AsyncGenerator[Batch]:
        return self._read.read(after)

    async def status(self) -> LogStatus:
        return await self._read.status()

    @property
    def is_over(self) -> bool:
        return self._read.is_over

    async def ended(self) -> None:
        await self._read.ended()


class LogsElsewhere:
    """Written in one worker, read and looked after in another."""

    def __init__(self, writer: RunLogs, reader: RunLogs) -> None:
        self._writer = writer
        self._reader = reader
        self._made: dict[str, LogElsewhere] = {}

    async def create(self, run_id: str) -> RunLog:
        written = await self._writer.create(run_id)
        read = await self._reader.get(run_id)
        assert isinstance(read, RedisLog)
        self._made[run_id] = LogElsewhere(written, read)
        return self._made[run_id]

    async def get(self, run_id: str) -> RunLog | None:
        found = await self._reader.get(run_id)
        return self._made.get(run_id) if found else None

    async def keep(self, run_id: str, seconds: float) -> None:
        await self._writer.keep(run_id, seconds)

    async def discard(self, run_id: str) -> None:
        await self._writer.discard(run_id)
        if run_id in self._made:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._made[run_id].ended()
            assert await self._reader.get(run_id) is None

    async def discard_thread(self, key: ThreadKey) -> None:
        await self._writer.discard_thread(key)


class TestLogsOfAnotherWorker(AgeingContract):
    @pytest.fixture
    async def logs(self, redis_url: str) -> AsyncIterator[RunLogs]:
        async with open_redis(redis_url, "a") as writer, open_redis(redis_url, "b") as reader:
            yield LogsElsewhere(writer.logs, reader.logs)
