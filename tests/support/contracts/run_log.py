"""What a run's log must do: for its readers, and of itself."""

import asyncio
from contextlib import aclosing
from typing import get_args

import pytest

from tests.support.contracts.runs import (
    CHUNKS,
    NUMBERED,
    THREAD,
    PassTime,
    header,
    opened,
    rest,
    state_of,
    waiting,
)
from tests.support.waiting import WAIT_SECONDS
from turnstream.server.storage.run_logs import LogStatus, RunLogs
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.header import RunHeader


class ReadingContract:
    """Of one log: its header, its chunks and its readers."""

    async def test_the_header_is_waited_for(self, logs: RunLogs) -> None:
        log = await logs.create("r1")
        readers = [await waiting(log.header()) for _ in range(2)]
        await log.open(header())
        assert [await reader for reader in readers] == [header()] * 2
        assert await log.header() == header()
        await log.append(CHUNKS)
        assert await log.header() == header()

    async def test_a_header_of_a_run_that_could_not_be_saved_is_kept_too(
        self, logs: RunLogs
    ) -> None:
        bare = RunHeader(THREAD, "r1", "chat", "u1.a", "u1", "ui-message-stream", None)
        log = await logs.create("r1")
        await log.open(bare)
        assert await log.header() == bare

    async def test_who_waits_for_the_header_of_a_refused_request_gets_none(
        self, logs: RunLogs
    ) -> None:
        log = await logs.create("r1")
        reader = await waiting(log.header())
        await logs.discard("r1")
        assert await reader is None
        assert await log.header() is None

    async def test_the_header_of_a_log_that_is_gone_is_none(self, logs: RunLogs) -> None:
        log = await opened(logs)
        await logs.discard("r1")
        assert await log.header() is None

    async def test_every_kind_of_chunk_is_read_as_it_was_written(self, logs: RunLogs) -> None:
        assert {type(chunk) for chunk in CHUNKS} == set(get_args(Chunk))
        log = await opened(logs)
        await log.append(CHUNKS)
        assert await rest(log) == NUMBERED

    @pytest.mark.parametrize("size", [1, 2, 3, 5, len(CHUNKS)])
    async def test_chunks_are_numbered_from_1_without_gaps_however_they_are_appended(
        self, logs: RunLogs, size: int
    ) -> None:
        log = await opened(logs)
        for start in range(0, len(CHUNKS), size):
            await log.append(CHUNKS[start : start + size])
        assert await rest(log) == NUMBERED

    async def test_a_reader_gets_exactly_what_follows_its_cut(self, logs: RunLogs) -> None:
        log = await opened(logs)
        await log.append(CHUNKS)
        for after in range(len(CHUNKS) + 1):
            assert await rest(log, after) == NUMBERED[after:]

    async def test_a_reader_of_a_live_log_gets_exactly_what_follows_its_cut(
        self, logs: RunLogs
    ) -> None:
        log = await opened(logs)
        await log.append(CHUNKS[:3])
        readers = [await waiting(rest(log, after)) for after in range(5)]
        for chunk in CHUNKS[3:]:
            await log.append([chunk])
        assert [await reader for reader in readers] == [NUMBERED[n:] for n in range(5)]

    async def test_readers_before_during_and_after_the_run_get_the_same(
        self, logs: RunLogs
    ) -> None:
        log = await opened(logs)
        readers = [await waiting(rest(log))]
        for chunk in CHUNKS[:-1]:
            await log.append([chunk])
            readers.append(await waiting(rest(log)))
        await log.append(CHUNKS[-1:])
        assert [await reader for reader in readers] == [NUMBERED] * len(CHUNKS)
        assert await rest(log) == NUMBERED

    async def test_a_reader_gets_each_chunk_while_the_run_goes_on(self, logs: RunLogs) -> None:
        log = await opened(logs)
        async with asyncio.timeout(WAIT_SECONDS), aclosing(log.read(0)) as batches:
            for number, chunk in NUMBERED:
                await log.append([chunk])
                assert list(await anext(batches)) == [(number, chunk)]
            assert [batch async for batch in batches] == []

    async def test_a_slow_reader_holds_up_nobody_and_misses_nothing(self, logs: RunLogs) -> None:
        log = await opened(logs)
        await log.append(CHUNKS[:1])
        async with aclosing(log.read(0)) as batches:
            seen = list(await anext(batches))
            for chunk in CHUNKS[1:]:
                await log.append([chunk])
            assert await rest(log) == NUMBERED
            async for batch in batches:
                seen += batch
        assert seen == NUMBERED

    async def test_a_reader_that_leaves_disturbs_no_other(self, logs: RunLogs) -> None:
        log = await opened(logs)
        await log.append(CHUNKS[:1])
        stays = await waiting(rest(log))
        async with aclosing(log.read(0)) as batches:
            await anext(batches)
        await log.append(CHUNKS[1:])
        assert await stays == NUMBERED

    async def test_the_readers_of_a_discarded_log_come_to_their_end(self, logs: RunLogs) -> None:
        log = await opened(logs)
        await log.append(CHUNKS[:2])
        reader = await waiting(rest(log, 2))
        await logs.discard("r1")
        assert await reader == []


class StatusContract:
    """Of what is known of a log: how far it is, who reads it, whether more can come."""

    async def test_a_live_log_says_how_far_it_is(self, logs: RunLogs) -> None:
        log = await logs.create("r1")
        assert await state_of(log) == ("live", -1)
        await log.open(header())
        assert await state_of(log) == ("live", 0)
        for number in range(1, len(CHUNKS)):
            await log.append([CHUNKS[number - 1]])
            assert await state_of(log) == ("live", number)

    async def test_a_log_has_ended_with_its_last_chunk(self, logs: RunLogs) -> None:
        log = await opened(logs)
        await log.append(CHUNKS)
        assert await state_of(log) == ("ended", len(CHUNKS))

    @pytest.mark.parametrize("written", [0, 2, len(CHUNKS)])
    async def test_a_discarded_log_is_lost(self, logs: RunLogs, written: int) -> None:
        log = await opened(logs)
        if written:
            await log.append(CHUNKS[:written])
        await logs.discard("r1")
        assert (await log.status()).state == "lost"

    async def test_the_log_of_a_refused_request_is_lost(self, logs: RunLogs) -> None:
        log = await logs.create("r1")
        await logs.discard("r1")
        assert await state_of(log) == ("lost", -1)

    async def test_readers_are_counted_while_they_read(self, logs: RunLogs) -> None:
        log = await opened(logs)
        await log.append(CHUNKS[:1])
        assert (await log.status()).readers == 0
        async with aclosing(log.read(0)) as first, aclosing(log.read(0)) as second:
            await anext(first)
            assert (await log.status()).readers == 1
            await anext(second)
            assert (await log.status()).readers == 2
            await second.aclose()
            assert (await log.status()).readers == 1
        assert (await log.status()).readers == 0

    async def test_a_reader_that_came_to_the_end_is_not_counted(self, logs: RunLogs) -> None:
        log = await opened(logs)
        await log.append(CHUNKS)
        await rest(log)
        assert (await log.status()).readers == 0

    async def test_a_log_is_unread_from_the_beginning(
        self, logs: RunLogs, pass_time: PassTime
    ) -> None:
        log = await opened(logs)
        for seconds in (30, 60):
            await pass_time(30)
            assert (await log.status()).unread_seconds >= seconds

    async def test_a_log_is_not_unread_while_somebody_reads(
        self, logs: RunLogs, pass_time: PassTime
    ) -> None:
        log = await opened(logs)
        await log.append(CHUNKS[:1])
        await pass_time(1000)
        async with aclosing(log.read(0)) as stays:
            await anext(stays)
            async with aclosing(log.read(0)) as leaves:
                await anext(leaves)
            await pass_time(1000)
            status = await log.status()
            assert status == LogStatus("live", last=1, readers=1, unread_seconds=0)
        await pass_time(30)
        assert 30 <= (await log.status()).unread_seconds < 1000, "since the last one left"

    async def test_the_end_is_waited_for(self, logs: RunLogs) -> None:
        log = await opened(logs)
        ends = [await waiting(log.ended()) for _ in range(2)]
        await log.append(CHUNKS[:-1])
        assert [end.done() for end in ends] == [False, False]
        await log.append(CHUNKS[-1:])
        async with asyncio.timeout(WAIT_SECONDS):
            await asyncio.gather(*ends, log.ended())
        assert await rest(log) == NUMBERED, "the last chunk is there"

    @pytest.mark.parametrize("is_open", [True, False])
    async def test_a_discarded_log_has_come_to_its_end(self, logs: RunLogs, is_open: bool) -> None:
        log = await (opened(logs) if is_open else logs.create("r1"))
        end = await waiting(log.ended())
        await logs.discard("r1")
        await end
        async with asyncio.timeout(WAIT_SECONDS):
            await log.ended()
