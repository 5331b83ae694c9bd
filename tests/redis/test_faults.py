"""Redis restarts, loses what it has, is silent, full or read-only: runs go on, nobody hangs."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import redis
from redis.exceptions import ConnectionError as Cut

from tests.support.contracts.runs import (
    CHUNKS,
    NUMBERED,
    THREAD,
    got,
    opened,
    rest,
    state_of,
    waiting,
)
from tests.support.redis_server import RedisServer
from tests.support.redis_workers import OpenWorker, workers
from tests.support.samples import repeat
from tests.support.waiting import WAIT_SECONDS, eventually
from turnstream.server.extensions.workers.redis import connection
from turnstream.server.extensions.workers.redis import log as redis_log
from turnstream.server.extensions.workers.redis.opening import Shares, open_redis
from turnstream.server.storage.interfaces import StorageError, StorageUnavailable
from turnstream.server.storage.run_logs import RunLog


@pytest.fixture
async def open_worker(own_redis: RedisServer) -> AsyncIterator[OpenWorker]:
    async with workers(own_redis.url, silence_seconds=0.2) as open_worker:
        yield open_worker


async def live(open_worker: OpenWorker) -> tuple[Shares, RunLog, Shares, RunLog]:
    """A live run of a worker, with a few chunks, and the same as another worker has it."""
    writer, reader = await open_worker("a"), await open_worker("b")
    log = await opened(writer.logs)
    await log.append(CHUNKS[:5])
    return writer, log, reader, await got(reader.logs, "r1")


async def goes_on_unseen(log: RunLog, *readers: asyncio.Task[Any]) -> None:
    """The run appends what it has to say, and its readers come to their end without it."""
    async with asyncio.timeout(WAIT_SECONDS):
        for chunk in CHUNKS[5:]:
            await log.append([chunk])
        assert (await log.status()).state == "lost"
        for reader in readers:
            assert await reader == []


@pytest.mark.parametrize("how", ["restarted", "flushed"])
async def test_a_log_that_redis_has_lost_ends_for_all_readers_and_the_run_goes_on(
    open_worker: OpenWorker, own_redis: RedisServer, how: str
) -> None:
    writer, log, reader, mirror = await live(open_worker)
    readers = [await waiting(rest(one, 5)) for one in (log, mirror)]
    if how == "restarted":
        own_redis.stop()
        own_redis.start()
    else:
        with own_redis.client() as client:
            client.flushall()
    await goes_on_unseen(log, *readers)
    for worker in (writer, reader):
        assert await worker.logs.get("r1") is None
    again = await opened(writer.logs, "r2")
    await again.append(CHUNKS)
    assert await rest(await got(reader.logs, "r2")) == NUMBERED


async def test_readers_of_a_silent_run_hear_that_redis_has_lost_its_log(
    open_worker: OpenWorker, own_redis: RedisServer
) -> None:
    _, _, _, mirror = await live(open_worker)
    reader = await waiting(rest(mirror, 5))
    with own_redis.client() as client:
        client.flushall()
    assert await reader == []
    assert (await mirror.status()).state == "lost"


async def test_a_connection_that_is_cut_again_and_again_loses_and_doubles_nothing(
    open_worker: OpenWorker, own_redis: RedisServer
) -> None:
    _, log, _, mirror = await live(open_worker)
    readers = [await waiting(rest(one)) for one in (log, mirror)]
    with own_redis.client() as client:
        for chunk in CHUNKS[5:]:
            appended = asyncio.create_task(log.append([chunk]))
            await asyncio.sleep(0)
            client.client_kill_filter(_type="normal", skipme=True)
            await appended
    assert [await reader for reader in readers] == [NUMBERED] * 2
    assert await rest(await got((await open_worker("c")).logs, "r1")) == NUMBERED


async def test_an_append_whose_answer_is_lost_is_in_the_log_once(
    open_worker: OpenWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, log, _, mirror = await live(open_worker)
    settle, lost = connection.Commands._settle, 0

    async def settle_but_once(self: connection.Commands, command: object) -> None:
        nonlocal lost
        if not lost:
            lost += 1
            await self._connection.read_response()
            raise Cut("the answer is lost")
        await settle(self, command)  # type: ignore[arg-type]

    monkeypatch.setattr(connection.Commands, "_settle", settle_but_once)
    await log.append(CHUNKS[5:])
    assert lost
    assert await rest(log) == await rest(mirror) == NUMBERED


async def test_a_redis_that_is_slow_for_a_while_costs_nothing_but_time(
    open_worker: OpenWorker, own_redis: RedisServer
) -> None:
    _, log, _, mirror = await live(open_worker)
    own_redis.signal(signal.SIGSTOP)
    appended = asyncio.create_task(log.append(CHUNKS[5:]))
    asyncio.get_running_loop().call_later(0.5, own_redis.signal, signal.SIGCONT)
    await appended
    assert await rest(log) == await rest(mirror) == NUMBERED


async def test_a_process_that_stood_still_longer_than_its_patience_loses_no_log(
    open_worker: OpenWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (connection, redis_log):
        monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(connection, "REPLY_SECONDS", 0.1)
    _, log, _, mirror = await live(open_worker)
    settle, stood_still = connection.Commands._settle, False

    async def settle_late(self: connection.Commands, command: object) -> None:
        nonlocal stood_still
        if not stood_still:
            stood_still = True
            time.sleep(0.5)  # noqa: ASYNC251  all of the process stands still
        await settle(self, command)  # type: ignore[arg-type]

    monkeypatch.setattr(connection.Commands, "_settle", settle_late)
    await log.append(CHUNKS[5:])
    assert stood_still
    assert await rest(log) == await rest(mirror) == NUMBERED


async def test_what_is_said_to_redis_when_it_is_closed_is_given_up_at_once(
    own_redis: RedisServer,
) -> None:
    async with workers(own_redis.url) as open_worker:
        writer, log, _, _ = await live(open_worker)
    async with asyncio.timeout(WAIT_SECONDS):
        await log.append(CHUNKS[5:])
        await writer.logs.discard("r1")
        with pytest.raises(StorageUnavailable):
            await writer.logs.check()


@pytest.mark.full
async def test_a_redis_that_is_silent_is_given_up_and_told_when_it_is_back(
    open_worker: OpenWorker, own_redis: RedisServer
) -> None:
    writer, log, reader, mirror = await live(open_worker)
    readers = [await waiting(rest(one, 5)) for one in (log, mirror)]
    own_redis.signal(signal.SIGSTOP)
    try:
        await goes_on_unseen(log, *readers)
        for worker in (writer, reader):
            with pytest.raises(StorageUnavailable) as raised:
                await worker.logs.create("r2")
            assert raised.value.code == "streams_unavailable"
            assert await worker.logs.get("r3") is None
            await worker.inbox.ask_to_stop("a", "r1", {"reason": "stopped"})
    finally:
        own_redis.signal(signal.SIGCONT)
    third = await open_worker("c")

    async def is_gone() -> bool:
        return await third.logs.get("r1") is None

    await eventually(is_gone)

    async def can_begin() -> bool:
        try:
            await writer.logs.check()
        except StorageUnavailable:
            return False
        return True

    await eventually(can_begin)


async def test_a_redis_that_is_gone_is_given_up_and_used_again_when_it_is_back(
    open_worker: OpenWorker, own_redis: RedisServer
) -> None:
    writer, log, reader, mirror = await live(open_worker)
    readers = [await waiting(rest(one, 5)) for one in (log, mirror)]
    own_redis.stop()
    await goes_on_unseen(log, *readers)
    with pytest.raises(StorageUnavailable):
        await writer.logs.check()
    with pytest.raises(StorageUnavailable):
        await writer.logs.discard_thread(THREAD)
    await writer.logs.discard("r9")
    await writer.logs.keep("r1", 10)
    own_redis.start()

    async def works() -> bool:
        try:
            again = await opened(writer.logs, "r2")
        except StorageUnavailable:
            return False
        await again.append(CHUNKS)
        return await rest(await got(reader.logs, "r2")) == NUMBERED

    await eventually(works)


@pytest.mark.parametrize("how", ["full", repeat("read-only")])
async def test_a_redis_that_takes_nothing_more_lets_runs_go_on_and_none_begin(
    open_worker: OpenWorker, own_redis: RedisServer, how: str
) -> None:
    writer, log, _, mirror = await live(open_worker)
    readers = [await waiting(rest(one, 5)) for one in (log, mirror)]
    with own_redis.client() as client:
        if how == "full":
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("maxmemory", 1)
        else:
            client.replicaof("127.0.0.1", 1)
        for refused in (writer.logs.create("r2"), writer.logs.check()):
            with pytest.raises(StorageUnavailable) as raised:
                await refused
            assert raised.value.code == "streams_unavailable"
        await goes_on_unseen(log, readers[0])
        if how == "full":
            client.config_set("maxmemory", 0)
        else:
            client.replicaof("NO", "ONE")
    assert await readers[1] == []
    again = await opened(writer.logs, "r3")
    assert await state_of(again) == ("live", 0)


async def test_a_run_that_is_cancelled_while_it_waits_for_redis_has_no_gap(
    open_worker: OpenWorker, own_redis: RedisServer
) -> None:
    _, log, _, mirror = await live(open_worker)
    own_redis.signal(signal.SIGSTOP)
    appended = asyncio.create_task(log.append(CHUNKS[5:8]))
    await asyncio.sleep(0)
    appended.cancel()
    asyncio.get_running_loop().call_later(0.1, own_redis.signal, signal.SIGCONT)
    await log.append(CHUNKS[8:])
    assert await rest(log) == await rest(mirror) == NUMBERED


async def test_a_worker_does_not_start_without_redis_and_does_not_name_its_password() -> None:
    for url in ("redis://:secret@127.0.0.1:1/0", "http://:secret@127.0.0.1:1"):
        with pytest.raises(StorageError) as raised:
            async with open_redis(url, "a"):
                pass
        assert "TURNSTREAM_REDIS" in str(raised.value)
        assert "secret" not in str(raised.value)
        assert "\n" not in str(raised.value)


async def test_a_wrong_password_is_told_at_the_start(own_redis: RedisServer) -> None:
    with own_redis.client() as client:
        client.config_set("requirepass", "right")
    with pytest.raises(StorageError, match=r"TURNSTREAM_REDIS: .*password"):
        async with open_redis(own_redis.url.replace("//", "//:wrong@"), "a"):
            pass
    async with open_redis(own_redis.url.replace("//", "//:right@"), "a") as shares:
        await shares.logs.check()


def test_the_private_redis_is_one_that_is_supported(own_redis: RedisServer) -> None:
    with redis.Redis.from_url(own_redis.url, protocol=2) as client:
        major = int(str(client.info("server")["redis_version"]).split(".")[0])
    assert major >= 7
