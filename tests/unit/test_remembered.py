"""Rows that are looked up for every request."""

import asyncio

import pytest

from turnstream.server.extensions.users import remembered
from turnstream.server.extensions.users.remembered import Remembered


class Rows:
    def __init__(self, **rows: str) -> None:
        self.rows = rows
        self.lookups: list[str] = []
        self.held: asyncio.Event | None = None

    async def look_up(self, id: str) -> str | None:
        self.lookups.append(id)
        value = self.rows.get(id)
        if self.held:
            await self.held.wait()
        return value


async def test_a_row_is_looked_up_once() -> None:
    rows = Rows(a="1")
    known = Remembered(rows.look_up)
    assert [await known.get("a"), await known.get("a")] == ["1", "1"]
    assert rows.lookups == ["a"]


async def test_a_row_is_looked_up_again_when_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remembered, "SECONDS", 0)
    rows = Rows(a="1")
    known = Remembered(rows.look_up)
    assert await known.get("a") == "1"
    del rows.rows["a"]
    assert await known.get("a") is None


async def test_what_is_not_there_is_not_remembered() -> None:
    rows = Rows()
    known = Remembered(rows.look_up)
    assert await known.get("a") is None
    rows.rows["a"] = "1"
    assert await known.get("a") == "1"


async def test_a_row_that_is_forgotten_while_it_is_looked_up_is_not_remembered() -> None:
    rows = Rows(a="1")
    rows.held = asyncio.Event()
    known = Remembered(rows.look_up)
    slow = asyncio.create_task(known.get("a"))
    await asyncio.sleep(0)
    del rows.rows["a"]
    known.forget("a")
    rows.held.set()
    assert await slow == "1"
    assert await known.get("a") is None


async def test_ids_without_number_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MAX_ROWS", 3)
    known = Remembered(Rows(**{f"r{number}": "1" for number in range(10)}).look_up)
    for number in range(10):
        await known.get(f"r{number}")
        assert len(known._rows) <= 3
