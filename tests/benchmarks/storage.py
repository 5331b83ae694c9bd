"""What a turn adds to the database at turn 30 and at turn 300, and how long the thread then loads.

The turn: a question, one call of a real tool, an answer; 2 kB of messages.
"""

import asyncio
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from langchain_core.messages import BaseMessage, HumanMessage

from tests.support.backend import Backend, backend, message
from tests.support.scripted_model import Piece, ScriptedModel, call, finish, text

TURNS, SPAN = 300, 10
ANSWER = "The answer is three hundred and ninety-one. " * 40


def script(prompt: list[BaseMessage]) -> list[Piece]:
    if isinstance(prompt[-1], HumanMessage):
        args = '{"expression": "17 * 23"}'
        return [call(args, name="calculator", id=None), finish("tool_calls")]
    return [text(ANSWER), finish()]


def size(database: Path) -> int:
    """Bytes in use, what the write-ahead log still holds included."""
    with sqlite3.connect(database) as connection:
        pages, free, page = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
    connection.close()
    return int((pages - free) * page)


async def grow(inner: Backend, turns: int) -> None:
    for _ in range(turns):
        await inner.turn(message("What is seventeen times twenty-three? " * 5))


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "threads.db")
        model = ScriptedModel.of(*[script] * (2 * TURNS + 4 * SPAN))
        async with backend(database, model) as inner:
            await grow(inner, 30 - SPAN)
            early = await added(inner, database)
            await grow(inner, TURNS - 30 - SPAN)
            late = await added(inner, database)
            loads = [await seconds_to_load(inner) for _ in range(9)]
    print(f"database bytes a turn, at turn 30: {early:.0f}")
    print(f"database bytes a turn, at turn 300: {late:.0f}")
    print(f"database bytes a turn, turn 300 : turn 30: {late / early:.2f}")
    print(f"a thread of 300 turns loads in, ms: {statistics.median(loads) * 1000:.1f}")


async def added(inner: Backend, database: Path) -> float:
    """Bytes a turn over twice SPAN turns around here."""
    before = size(database)
    await grow(inner, 2 * SPAN)
    return (size(database) - before) / (2 * SPAN)


async def seconds_to_load(inner: Backend) -> float:
    start = time.perf_counter()
    await inner.state()
    return time.perf_counter() - start


if __name__ == "__main__":
    asyncio.run(main())
