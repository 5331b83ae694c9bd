"""What writes a run's chunks into its log: nothing that it was given gets lost."""

import asyncio
from contextlib import suppress

import pytest

from tests.support.waiting import HeldMethod
from turnstream.server.runs.log_writer import LogWriter
from turnstream.server.storage.memory_logs import MemoryLog, MemoryLogs
from turnstream.server.turns.chunks import Chunk, Done, PartFinish, PartStart, TextDelta, TextPart

START, FINISH = PartStart("s1", (0,), TextPart()), PartFinish("s1", (0,))


async def test_what_a_cancelled_write_brought_is_in_the_log_ahead_of_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = await MemoryLogs().create("run")
    writer = LogWriter(log)
    append = HeldMethod(monkeypatch, MemoryLog, "append", once=True)
    first = asyncio.create_task(writer.write([START]))
    await append.reached.wait()
    second = asyncio.create_task(writer.write([TextDelta("s1", (0,), "Hello. "), FINISH]))
    await asyncio.sleep(0)  # it waits for its turn
    second.cancel()
    with suppress(asyncio.CancelledError):
        await second
    append.through.set()
    await first
    await writer.write([Done()])
    written: list[Chunk] = [chunk async for batch in log.read(0) for _, chunk in batch]
    assert written == [START, TextDelta("s1", (0,), "Hello. "), FINISH, Done()]


async def test_chunks_of_a_write_that_was_cancelled_on_its_way_are_fed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A shared log has them: they were sent."""
    fed = list[Chunk]()
    writer = LogWriter(await MemoryLogs().create("run"))
    writer.feed = fed.extend
    append = HeldMethod(monkeypatch, MemoryLog, "append", once=True)
    write = asyncio.create_task(writer.write([START]))
    await append.reached.wait()
    write.cancel()
    with suppress(asyncio.CancelledError):
        await write
    assert fed == [START]


async def test_a_flush_writes_and_feeds_the_deltas_that_wait() -> None:
    fed, log = list[Chunk](), await MemoryLogs().create("run")
    writer = LogWriter(log)
    writer.feed = fed.extend
    words = [TextDelta("s1", (0,), text) for text in ("He", "llo")]
    await writer.write([START])
    for delta in words:
        await writer.write([delta])
    await writer.flush()
    assert "".join(each.text for each in fed if isinstance(each, TextDelta)) == "Hello"
