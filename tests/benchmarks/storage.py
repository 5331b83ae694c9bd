"""The bytes that a turn adds to the database, early and late in a thread, and the time of loading.

The turn: a question, one call of a real tool, an answer; 2 kB of messages. The thread has 300
turns, with `--quick` 100.
"""

import argparse
import asyncio
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from langchain_core.messages import BaseMessage, HumanMessage

from tests.support.backend import Backend, backend, message
from tests.support.scripted_model import Piece, ScriptedModel, call, finish, text

EARLY, SPAN = 30, 10
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


async def measure(turns: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "threads.db")
        model = ScriptedModel.of(*[script] * (2 * turns + 4 * SPAN))
        async with backend(database, model) as inner:
            await grow(inner, EARLY - SPAN)
            early = await added(inner, database)
            await grow(inner, turns - EARLY - 2 * SPAN)
            late = await added(inner, database)
            loads = [await seconds_to_load(inner) for _ in range(9)]
    print(f"database bytes a turn, at turn {EARLY}: {early:.0f}")
    print(f"database bytes a turn, at turn {turns}: {late:.0f}")
    print(f"database bytes a turn, turn {turns} : turn {EARLY}: {late / early:.2f}")
    print(f"a thread of {turns} turns loads in, ms: {statistics.median(loads) * 1000:.1f}")


async def added(inner: Backend, database: Path) -> float:
    """Bytes a turn over twice SPAN turns around here."""
    before = size(database)
    await grow(inner, 2 * SPAN)
    return (size(database) - before) / (2 * SPAN)


async def seconds_to_load(inner: Backend) -> float:
    start = time.perf_counter()
    await inner.state()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    asyncio.run(measure(100 if parser.parse_args().quick else 300))


if __name__ == "__main__":
    main()
