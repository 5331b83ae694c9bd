"""Writes that the store could not take, and which of them are tried again."""

import asyncio
from collections.abc import Callable

import pytest

from tests.support.waiting import until
from turnstream.server.runs import retries
from turnstream.server.runs.retries import Retries
from turnstream.server.storage.interfaces import LeaseLost, StorageUnavailable


class Failing:
    """A write that fails with these errors, in turn, and then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = [*errors]
        self.tries = 0

    async def __call__(self) -> None:
        self.tries += 1
        if self.errors:
            raise self.errors.pop(0)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "RETRY_SECONDS", 0)


@pytest.mark.parametrize(
    "fault", [lambda: StorageUnavailable("storage_busy"), lambda: ValueError("a bug")]
)
async def test_a_write_that_failed_is_tried_until_it_is_done(
    fault: Callable[[], Exception],
) -> None:
    write = Failing(fault(), fault())
    writes = Retries()
    await writes.write(write)
    await until(lambda: not writes._tasks)
    assert write.tries == 3


async def test_a_write_whose_lease_is_lost_is_told_to_its_caller_and_not_tried_again() -> None:
    write, writes = Failing(LeaseLost()), Retries()
    with pytest.raises(LeaseLost):
        await writes.write(write)
    await until(lambda: not writes._tasks)
    assert write.tries == 1


async def test_a_write_whose_lease_is_lost_before_a_further_try_is_given_up() -> None:
    write, writes = Failing(StorageUnavailable("storage_busy"), LeaseLost()), Retries()
    await writes.write(write)
    await until(lambda: not writes._tasks)
    assert write.tries == 2


async def test_a_write_without_a_caller_whose_lease_is_lost_is_given_up_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    write, writes = Failing(LeaseLost()), Retries()
    writes.begin(write)
    await until(lambda: not writes._tasks)
    assert write.tries == 1
    assert not caplog.records


async def test_what_waits_for_a_further_try_ends_with_the_process() -> None:
    writes = Retries()
    writes.begin(Failing(*(StorageUnavailable("storage_busy") for _ in range(10_000))))
    await asyncio.sleep(0)
    await writes.close()
    assert not writes._tasks


async def test_nothing_begins_behind_the_close() -> None:
    write, writes = Failing(), Retries()
    await writes.close()
    writes.begin(write)
    assert not writes._tasks
    assert write.tries == 0
