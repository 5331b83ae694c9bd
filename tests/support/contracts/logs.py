"""What any `RunLogs` must do. The fixture `logs` gives fresh ones:

    class TestTheseLogs(LogContract):
        @pytest.fixture
        async def logs(self) -> AsyncIterator[RunLogs]: ...

Logs whose time is not that of the event loop bring a fixture `pass_time` of their own too.
"""

import asyncio

import pytest

from tests.support.contracts.run_log import ReadingContract, StatusContract
from tests.support.contracts.runs import (
    CHUNKS,
    NUMBERED,
    THREAD,
    PassTime,
    got,
    header,
    opened,
    rest,
    state_of,
    waiting,
)
from turnstream.server.storage.run_logs import RunLogs
from turnstream.server.turns.header import ThreadKey


class RetentionContract:
    """Of many logs: finding them, keeping them and dropping them."""

    async def test_a_log_is_found_from_its_creation_on(self, logs: RunLogs) -> None:
        assert await logs.get("r1") is None
        written = await logs.create("r1")
        found = await got(logs, "r1")
        reader = await waiting(found.header())
        await written.open(header())
        assert await reader == header()
        await written.append(CHUNKS)
        assert await rest(found) == await rest(await got(logs, "r1")) == NUMBERED

    async def test_each_run_has_a_log_of_its_own(self, logs: RunLogs) -> None:
        first, second = await opened(logs, "r1"), await opened(logs, "r2")
        await first.append(CHUNKS[:2])
        await second.append(CHUNKS[2:3])
        assert await state_of(first) == ("live", 2)
        assert await state_of(second) == ("live", 1)
        assert await (await got(logs, "r2")).header() == header("r2")

    async def test_a_log_stays_until_it_is_kept_for_a_time(
        self, logs: RunLogs, pass_time: PassTime
    ) -> None:
        log = await opened(logs)
        await pass_time(10_000)
        assert await (await got(logs, "r1")).header() == header()
        await log.append(CHUNKS)
        await pass_time(10_000)
        assert await rest(await got(logs, "r1")) == NUMBERED

    async def test_a_kept_log_is_dropped_after_its_time(
        self, logs: RunLogs, pass_time: PassTime
    ) -> None:
        for run_id, seconds in (("r1", 1000.0), ("r2", 2000.0)):
            await (await opened(logs, run_id)).append(CHUNKS)
            await logs.keep(run_id, seconds)
        await pass_time(500)
        assert await rest(await got(logs, "r1"), 3) == NUMBERED[3:]
        await pass_time(600)
        assert await logs.get("r1") is None
        assert await rest(await got(logs, "r2")) == NUMBERED
        await pass_time(1000)
        assert await logs.get("r2") is None

    async def test_keeping_a_log_that_is_gone_brings_it_not_back(
        self, logs: RunLogs, pass_time: PassTime
    ) -> None:
        await (await opened(logs)).append(CHUNKS)
        await logs.discard("r1")
        await logs.keep("r1", 1000)
        assert await logs.get("r1") is None
        await pass_time(2000)
        assert await logs.get("r1") is None

    async def test_a_discarded_log_is_not_found_and_the_others_are(self, logs: RunLogs) -> None:
        await opened(logs, "r1")
        other = await opened(logs, "r2")
        await logs.discard("r1")
        await logs.discard("r3")
        assert await logs.get("r1") is None
        await (await got(logs, "r2")).append(CHUNKS)
        assert await rest(other) == NUMBERED

    async def test_with_a_thread_the_logs_of_all_its_runs_go_and_no_others(
        self, logs: RunLogs
    ) -> None:
        gone = {"r1": THREAD, "r2": THREAD}
        others = {"r3": ThreadKey("ann", "t2"), "r4": ThreadKey("bob", "t1")}
        for run_id, key in (gone | others).items():
            await (await opened(logs, run_id, key)).append(CHUNKS[:1])
        readers = [await waiting(rest(await got(logs, run_id), 1)) for run_id in gone]
        await logs.discard_thread(THREAD)
        assert [await reader for reader in readers] == [[], []]
        assert [await logs.get(run_id) for run_id in gone] == [None, None]
        for run_id in others:
            assert await state_of(await got(logs, run_id)) == ("live", 1)

    async def test_a_thread_without_logs_has_none_to_lose(self, logs: RunLogs) -> None:
        await opened(logs)
        await logs.discard_thread(ThreadKey("ann", "t2"))
        assert await state_of(await got(logs, "r1")) == ("live", 0)


class LogContract(ReadingContract, StatusContract, RetentionContract):
    """All of it."""

    @pytest.fixture
    async def pass_time(self, pass_loop_time: PassTime) -> PassTime:
        return pass_loop_time

    @pytest.fixture
    async def pass_loop_time(self, monkeypatch: pytest.MonkeyPatch) -> PassTime:
        """Puts the clock of the event loop forward; what is due then is done."""
        loop = asyncio.get_running_loop()
        clock, ahead = loop.time, 0.0
        monkeypatch.setattr(loop, "time", lambda: clock() + ahead)

        async def pass_time(seconds: float) -> None:
            nonlocal ahead
            ahead += seconds
            due = loop.create_future()
            # Timers fire in the order of their times: this one comes after all that are due.
            loop.call_at(loop.time(), due.set_result, None)
            await due

        return pass_time
