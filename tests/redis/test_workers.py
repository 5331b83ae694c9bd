"""Several workers and one log: who writes it, who reads it, and what becomes of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
import redis

from tests.support.contracts.runs import (
    CHUNKS,
    NUMBERED,
    THREAD,
    got,
    header,
    opened,
    rest,
    state_of,
    waiting,
)
from tests.support.redis_workers import OpenWorker, workers
from tests.support.waiting import WAIT_SECONDS, eventually, until
from turnstream.server.extensions.workers.redis import connection, feed
from turnstream.server.extensions.workers.redis.log import RedisLog
from turnstream.server.extensions.workers.redis.logs import RedisLogs
from turnstream.server.extensions.workers.redis.opening import Shares
from turnstream.server.extensions.workers.redis.scripts import APPEND
from turnstream.server.storage.interfaces import LeaseLost
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.codec import Unknown
from turnstream.server.turns.header import RunHeader


@pytest.fixture
async def open_worker(redis_url: str) -> AsyncIterator[OpenWorker]:
    async with workers(redis_url) as open_worker:
        yield open_worker


@pytest.fixture
def client(redis_url: str) -> redis.Redis:
    return redis.Redis.from_url(redis_url, protocol=2)


async def taken_over(by: Shares, run_id: str = "r1") -> RedisLog:
    log = await by.logs.take_over(run_id)
    assert log is not None
    return log


# Who writes


async def test_a_worker_whose_run_was_taken_over_writes_nothing_more_and_reads_on(
    open_worker: OpenWorker,
) -> None:
    zombie, other, third = [await open_worker(id) for id in "abc"]
    log = await opened(zombie.logs)
    await log.append(CHUNKS[:5])
    readers = [await waiting(rest(log)), await waiting(rest(await got(third.logs, "r1")))]
    taken = await taken_over(other)
    assert await state_of(taken) == ("live", 5)
    for _ in range(2):
        with pytest.raises(LeaseLost):
            await log.append(CHUNKS[7:9])
    await taken.append(CHUNKS[5:])
    with pytest.raises(LeaseLost):
        await log.append(CHUNKS[-1:])
    await zombie.logs.keep("r1", 0)
    await zombie.logs.discard("r1")
    assert [await reader for reader in readers] == [NUMBERED] * 2
    assert await rest(await got(third.logs, "r1")) == await rest(taken) == NUMBERED


async def test_what_a_zombie_has_on_its_way_is_in_the_log_for_all_or_for_none(
    open_worker: OpenWorker,
) -> None:
    zombie, other = await open_worker("a"), await open_worker("b")
    log = await opened(zombie.logs)
    late = [asyncio.create_task(log.append([chunk])) for chunk in CHUNKS[:10]]
    taken = await taken_over(other)
    told = (await taken.status()).last
    await taken.append(CHUNKS[told:])
    refused = [one for one in await asyncio.gather(*late, return_exceptions=True) if one]
    assert len(refused) == 10 - told
    assert await rest(taken) == await rest(await got(zombie.logs, "r1")) == NUMBERED


async def test_nothing_follows_the_end_of_a_log(open_worker: OpenWorker) -> None:
    writer, other = await open_worker("a"), await open_worker("b")
    log = await opened(writer.logs)
    await log.append(CHUNKS)
    taken = await taken_over(other)
    assert await state_of(taken) == ("ended", len(CHUNKS))
    for late in (log, taken):
        with pytest.raises(LeaseLost):
            await late.append(CHUNKS[-1:])
    keys = taken._shared.keys
    reply = await taken._shared.commands.run_script(
        APPEND, [keys.log("r1"), keys.state("r1")], "b", len(CHUNKS) + 1, 60, "0", "{}"
    )
    assert reply == b"refused"
    for worker in (writer, other):
        assert await rest(await got(worker.logs, "r1")) == NUMBERED


async def test_the_readers_of_a_worker_that_takes_a_log_over_read_on(
    open_worker: OpenWorker,
) -> None:
    writer, other = await open_worker("a"), await open_worker("b")
    log = await opened(writer.logs)
    await log.append(CHUNKS[:5])
    reader = await waiting(rest(await got(other.logs, "r1")))
    taken = await taken_over(other)
    assert taken is await other.logs.get("r1")
    await taken.append(CHUNKS[5:])
    assert await reader == NUMBERED


async def test_a_log_is_taken_over_one_time_after_the_other(open_worker: OpenWorker) -> None:
    log = await opened((await open_worker("w0")).logs)
    for number in range(5):
        await log.append(CHUNKS[number : number + 1])
        log = await taken_over(await open_worker(f"w{number + 1}"))
    await log.append(CHUNKS[5:])
    assert await rest(await got((await open_worker("last")).logs, "r1")) == NUMBERED


async def test_a_worker_that_hands_a_log_over_reads_what_another_one_writes(
    open_worker: OpenWorker,
) -> None:
    writer, other = await open_worker("a"), await open_worker("b")
    log = await opened(writer.logs)
    await log.append(CHUNKS[:5])
    reader = await waiting(rest(log))
    await writer.logs.hand_over("r1")
    await (await taken_over(other)).append(CHUNKS[5:])
    assert await reader == NUMBERED
    with pytest.raises(LeaseLost):
        await log.append(CHUNKS[-1:])


@pytest.mark.parametrize("was_created", [True, False])
async def test_a_log_that_is_lost_cannot_be_taken_over(
    open_worker: OpenWorker, client: redis.Redis, was_created: bool
) -> None:
    writer, other = await open_worker("a"), await open_worker("b")
    if was_created:
        log = await opened(writer.logs)
        reader = await waiting(rest(await got(other.logs, "r1")))
        client.flushdb()
    assert await other.logs.take_over("r1") is None
    if was_created:
        assert await reader == []
        await log.append(CHUNKS)
        assert (await log.status()).state == "lost"
    assert await other.logs.get("r1") is None


async def test_a_log_without_a_header_can_be_taken_over_and_ended(open_worker: OpenWorker) -> None:
    zombie, other, third = [await open_worker(id) for id in "abc"]
    log = await zombie.logs.create("r1")
    waits = [await waiting((await got(one.logs, "r1")).header()) for one in (zombie, other, third)]
    taken = await taken_over(other)
    assert await state_of(taken) == ("live", -1)
    with pytest.raises(LeaseLost):
        await log.open(header())
    await taken.append(CHUNKS[-1:])
    assert [await header for header in waits] == [None] * 3
    assert await third.logs.get("r1") is None


# Who reads


async def test_readers_in_all_workers_get_the_same_from_every_cut(open_worker: OpenWorker) -> None:
    shares = [await open_worker(id) for id in "abc"]
    log = await opened(shares[0].logs)
    readers = []
    for after, chunk in enumerate(CHUNKS):
        mirror = await got(shares[after % 3].logs, "r1")
        assert (await mirror.status()).last >= after
        readers.append(await waiting(rest(mirror, after)))
        await log.append([chunk])
    assert [await reader for reader in readers] == [NUMBERED[n:] for n in range(len(CHUNKS))]


async def test_a_long_log_is_read_whole_by_another_worker(open_worker: OpenWorker) -> None:
    writer, reader = await open_worker("a"), await open_worker("b")
    log = await opened(writer.logs)
    many: list[Chunk] = [*CHUNKS[:-1]] * 50 + [CHUNKS[-1]]
    await log.append(many)
    assert await rest(await got(reader.logs, "r1")) == [*enumerate(many, start=1)]


async def test_the_readers_of_other_workers_are_counted_by_the_one_that_writes(
    open_worker: OpenWorker,
) -> None:
    writer, second, third = [await open_worker(id) for id in "abc"]
    log = await opened(writer.logs)
    await log.append(CHUNKS[:1])

    async def count(expected: int) -> None:
        async def is_counted() -> bool:
            status = await log.status()
            assert bool(status.unread_seconds) <= (not status.readers)
            return status.readers == expected

        await eventually(is_counted)

    assert (await log.status()).unread_seconds > 0
    async with aclosing((await got(second.logs, "r1")).read(0)) as one:
        await anext(one)
        await count(1)
        async with aclosing((await got(third.logs, "r1")).read(0)) as other:
            await anext(other)
            await count(2)
        await count(1)
    await count(0)

    async def is_unread() -> bool:
        return 0 < (await log.status()).unread_seconds < WAIT_SECONDS

    await eventually(is_unread)


async def test_readers_whose_worker_died_are_not_counted_for_long(
    open_worker: OpenWorker, client: redis.Redis
) -> None:
    log = await opened((await open_worker("a")).logs)
    key = "turnstream:{r1}:readers"
    seconds, micros = client.time()
    now = seconds * 1000 + micros // 1000
    client.hset(key, "dead", f"3:{now - 5000}")
    status = await log.status()
    assert status.readers == 0
    client.hset(key, "alive", f"2:{now + 60_000}")
    assert (await log.status()).readers == 2


async def test_a_mirror_that_nobody_reads_any_more_is_dropped_and_found_again(
    open_worker: OpenWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstream.server.extensions.workers.redis.upkeep.LINGER_SECONDS", 0)
    monkeypatch.setattr("turnstream.server.extensions.workers.redis.upkeep.LOOK_SECONDS", 0.01)
    writer, reader = await open_worker("a"), await open_worker("b")
    log = await opened(writer.logs)
    await log.append(CHUNKS[:3])
    held = await got(reader.logs, "r1")
    assert isinstance(held, RedisLog)
    shared = held._shared.feed
    await until(lambda: not shared.mirrors)
    await log.append(CHUNKS[3:])
    assert await rest(held) == NUMBERED, "who still has it reads on"
    await until(lambda: not shared.mirrors)


async def test_a_silent_log_that_is_read_is_asked_about_again_and_again(redis_url: str) -> None:
    asked: list[RunHeader] = []

    async def ask(header: RunHeader) -> None:
        asked.append(header)
        raise RuntimeError("the store cannot be asked")

    async with workers(redis_url, silence_seconds=0.05) as open_worker:
        writer, reader = await open_worker("a"), await open_worker("b")
        writer.logs.on_silence(ask)
        reader.logs.on_silence(ask)
        log = await opened(writer.logs)
        own, elsewhere = await waiting(rest(log)), await waiting(rest(await got(reader.logs, "r1")))
        unread = await opened(writer.logs, "r2")
        await until(lambda: len(asked) >= 2)
        await log.append(CHUNKS)
        await unread.append(CHUNKS)
        assert await own == await elsewhere == NUMBERED
    assert set(asked) == {header()}


async def test_of_a_log_without_a_header_nobody_is_asked(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered, ask_about = 0, RedisLogs.ask_about

    async def counted(logs: RedisLogs, log: RedisLog) -> None:
        nonlocal answered
        await ask_about(logs, log)
        answered += 1

    monkeypatch.setattr(RedisLogs, "ask_about", counted)
    async with workers(redis_url, silence_seconds=0.05) as open_worker:
        writer, reader = await open_worker("a"), await open_worker("b")
        reader.logs.on_silence(lambda _header: asyncio.sleep(0))
        log = await writer.logs.create("r1")
        mirror = await got(reader.logs, "r1")
        told = await waiting(mirror.header())
        await until(lambda: answered >= 2)
        await log.open(header())
        assert await told == header()


# What becomes of it


async def test_a_refused_request_leaves_nothing(
    open_worker: OpenWorker, client: redis.Redis
) -> None:
    worker = await open_worker("a")
    await worker.logs.create("r1")
    await worker.logs.discard("r1")
    assert client.keys() == []


async def test_a_run_that_begins_again_writes_a_log_anew(open_worker: OpenWorker) -> None:
    before, worker = await open_worker("a"), await open_worker("b")
    await (await opened(before.logs)).append(CHUNKS)
    log = await opened(worker.logs)
    await log.append(CHUNKS)
    assert await rest(log) == NUMBERED


async def test_everything_in_redis_is_forgotten_some_day(
    open_worker: OpenWorker, client: redis.Redis
) -> None:
    writer, reader = await open_worker("a"), await open_worker("b")
    await writer.logs.create("r0")
    log = await opened(writer.logs)
    await log.append(CHUNKS[:3])
    await opened(writer.logs, "r2")
    task = await waiting(rest(await got(reader.logs, "r1")))
    lost = await waiting(rest(await got(reader.logs, "r2")))
    await reader.inbox.ask_to_stop("nobody", "r1", {"reason": "stopped"})
    await writer.logs.check()
    await writer.logs.discard("r2")
    await log.append(CHUNKS[3:])
    await writer.logs.keep("r1", 60)
    await asyncio.gather(task, lost)
    ttls = {key: client.ttl(key) for key in client.scan_iter()}
    assert ttls
    assert all(0 < seconds <= 86_400 for seconds in ttls.values()), ttls
    assert ttls[b"turnstream:{r1}:log"] <= 60


async def test_a_threads_logs_go_in_all_workers_with_what_they_hold(
    open_worker: OpenWorker, client: redis.Redis
) -> None:
    first, second, third = [await open_worker(id) for id in "abc"]
    await (await opened(first.logs, "r1")).append(CHUNKS)
    live = await opened(second.logs, "r2")
    await live.append(CHUNKS[:4])
    reader = await waiting(rest(await got(third.logs, "r2"), 4))
    await third.logs.discard_thread(THREAD)
    assert await reader == []
    for worker in (first, second, third):
        assert await worker.logs.get("r1") is None
    assert [await worker.logs.get("r2") for worker in (first, third)] == [None] * 2
    await live.append(CHUNKS[4:])
    assert (await live.status()).state == "lost"
    assert await second.logs.get("r2") is None
    for key in client.scan_iter("*r*"):
        if b":inbox:" not in key:
            said = client.xrange(key)
            assert [fields for _, fields in said or () if fields] == [{b"lost": b"1"}]


async def test_copies_of_logs_that_have_ended_are_dropped_beyond_the_budget_and_redis_has_them(
    redis_url: str,
) -> None:
    from turnstream.server.extensions.workers.redis.opening import open_redis

    async with open_redis(redis_url, "a", max_bytes=1) as worker:
        for run_id in ("r1", "r2"):
            log = await opened(worker.logs, run_id)
            await log.append(CHUNKS)
            await worker.logs.keep(run_id, 60)
        await (await opened(worker.logs, "r3")).append(CHUNKS[:1])
        for run_id in ("r1", "r2"):
            found = await got(worker.logs, run_id)
            assert found is not log
            assert await rest(found) == NUMBERED
        assert await state_of(await got(worker.logs, "r3")) == ("live", 1)


async def test_what_was_read_of_other_workers_takes_no_room_of_a_workers_own_logs(
    open_worker: OpenWorker, redis_url: str
) -> None:
    from turnstream.server.extensions.workers.redis.opening import open_redis

    other = await open_worker("a")
    for run_id in ("r1", "r2", "r3"):
        log = await opened(other.logs, run_id)
        await log.append(CHUNKS)
    assert isinstance(log, RedisLog)
    async with open_redis(redis_url, "b", max_bytes=2 * log.memory.size) as worker:
        for run_id in ("r1", "r2", "r3"):
            assert await rest(await got(worker.logs, run_id)) == NUMBERED
        own = await opened(worker.logs, "r4")
        await own.append(CHUNKS)
        await worker.logs.keep("r4", 60)
        await (await opened(worker.logs, "r5")).append(CHUNKS[:1])
        assert await worker.logs.get("r4") is own


async def test_what_a_newer_version_has_said_keeps_its_number(
    open_worker: OpenWorker, client: redis.Redis
) -> None:
    writer, reader = await open_worker("a"), await open_worker("b")
    log = await opened(writer.logs)
    await log.append(CHUNKS[:1])
    client.xadd("turnstream:{r1}:log", {"d": '{"type":"Applause","loudness":3}'}, id="0-3")
    client.hset("turnstream:{r1}:state", "last", 2)
    taken = await taken_over(reader)
    await taken.append(CHUNKS[2:])
    expected: list[tuple[int, Any]] = [*NUMBERED]
    expected[1] = (2, Unknown("Applause"))
    assert await rest(taken) == expected


@pytest.mark.parametrize("said", [b"no JSON", b'{"type":"TextDelta"}', b"[]"])
async def test_what_cannot_be_read_ends_a_mirror_and_not_the_worker(
    open_worker: OpenWorker, client: redis.Redis, said: bytes
) -> None:
    writer, reader = await open_worker("a"), await open_worker("b")
    await opened(writer.logs)
    task = await waiting(rest(await got(reader.logs, "r1")))
    client.xadd("turnstream:{r1}:log", {"d": said}, id="0-2")
    assert await task == []
    await (await opened(writer.logs, "r2")).append(CHUNKS)
    assert await rest(await got(reader.logs, "r2")) == NUMBERED


async def test_what_is_wrong_in_one_mirror_ends_no_other(
    open_worker: OpenWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader = await open_worker("a"), await open_worker("b")
    bad, good = await opened(writer.logs, "r1"), await opened(writer.logs, "r2")
    tasks = [await waiting(rest(await got(reader.logs, run_id))) for run_id in ("r1", "r2")]
    take = RedisLog.feed

    def feed_but_one(self: RedisLog, entries: Any) -> None:
        if self.run_id == "r1":
            raise RuntimeError("a fault in the code")
        take(self, entries)

    monkeypatch.setattr(RedisLog, "feed", feed_but_one)
    await bad.append(CHUNKS)
    await good.append(CHUNKS)
    assert [await task for task in tasks] == [[], NUMBERED]


# Cost


async def test_appends_of_many_runs_go_out_together(
    open_worker: OpenWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = await open_worker("a")
    logs = [await opened(worker.logs, f"r{number}") for number in range(50)]
    pipelines, send = 0, connection.Commands._pipeline

    async def counted(self: connection.Commands) -> None:
        nonlocal pipelines
        pipelines += 1
        await send(self)

    monkeypatch.setattr(connection.Commands, "_pipeline", counted)
    for chunk in CHUNKS:
        await asyncio.gather(*(log.append([chunk]) for log in logs))
    assert pipelines <= 2 * len(CHUNKS)


async def test_one_connection_reads_all_logs_of_a_worker(
    open_worker: OpenWorker, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing ends the blocked read but what comes.
    monkeypatch.setattr(feed, "BLOCK_SECONDS", WAIT_SECONDS)
    writer, reader = await open_worker("a"), await open_worker("b")
    ids = [f"r{number}" for number in range(20)]
    logs = [await opened(writer.logs, run_id) for run_id in ids]
    tasks = [await waiting(rest(await got(reader.logs, run_id))) for run_id in ids]
    number = str(client.connection_pool.connection_kwargs.get("db", 0))
    listed = client.client_list(_type="normal")
    names = [connected["name"] for connected in listed if connected["db"] == number]
    assert names.count("turnstream-b") == 2, "it reads by one, and commands by the other"
    chunks: list[Chunk] = [*CHUNKS]
    await asyncio.gather(*(log.append(chunks) for log in logs))
    assert [await task for task in tasks] == [NUMBERED] * 20


# Messages


async def test_a_worker_is_asked_to_stop_a_run_and_a_bad_message_disturbs_nothing(
    open_worker: OpenWorker, client: redis.Redis
) -> None:
    first, second = await open_worker("a"), await open_worker("b")
    asked: list[tuple[str, Any]] = []
    second.inbox.on_stop(lambda run_id, reason: asked.append((run_id, reason)))
    client.xadd("turnstream:inbox:b", {"stop": "r0", "reason": "no JSON"})
    client.xadd("turnstream:inbox:b", {"applause": "loud"})
    await first.inbox.ask_to_stop("b", "r1", {"reason": "stopped"})
    await second.inbox.ask_to_stop("a", "r2", {"reason": "shutdown"})
    await until(lambda: asked)
    assert asked == [("r1", {"reason": "stopped"})]
