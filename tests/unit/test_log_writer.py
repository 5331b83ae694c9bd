"""What writes a run's chunks into its log: nothing that it was given gets lost."""

import asyncio
import itertools
from contextlib import suppress
from typing import Any

import pytest

from tests.support.waiting import HeldMethod
from turnstream.server.runs import log_writer
from turnstream.server.runs.log_writer import LogWriter
from turnstream.server.storage.memory_logs import MemoryLog, MemoryLogs
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Done,
    PartFinish,
    PartStart,
    Substep,
    TextDelta,
    TextPart,
    ToolCallPart,
)

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


class Clock:
    """The time of a writer, which moves by hand; what falls due meanwhile is left to the next
    write."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(log_writer, "_now", lambda: self.now)
        monkeypatch.setattr(LogWriter, "_flush_at", _note)


def _note(writer: LogWriter, due: float) -> None:
    writer._due = due


@pytest.mark.parametrize(
    ("call_id", "first"), [(None, 20), ("call_1", 80)], ids=["of a step", "of a substep"]
)
async def test_long_arguments_come_in_ever_longer_pieces(
    monkeypatch: pytest.MonkeyPatch, call_id: str | None, first: int
) -> None:
    clock, fed = Clock(monkeypatch), list[Chunk]()
    writer = LogWriter(await MemoryLogs().create("run"))
    writer.feed = fed.extend

    def placed(chunk: Any) -> Chunk:
        return Substep(call_id, chunk) if call_id else chunk

    await writer.write([placed(PartStart("s1", (0,), ToolCallPart("call_1", "draw")))])
    for _ in range(2000):  # 40 kB
        clock.now += 0.01
        await writer.write([placed(TextDelta("s1", (0,), "x" * 20))])
    await writer.write([placed(ArgsFinish("s1", (0,), None))])
    told = [each.chunk if isinstance(each, Substep) else each for each in fed]
    lengths = [len(each.text) for each in told if isinstance(each, TextDelta)]
    assert sum(lengths) == 40_000
    assert max(lengths[:10]) <= first, "a short call is shown as it is written"
    assert 200 <= max(lengths) <= 220, "ten or eleven deltas"
    parsed = sum(itertools.accumulate(lengths))
    assert parsed < sum(range(20, 40_001, 20)) / 8, "a client parses all of it at each delta"


async def test_words_of_a_subagent_come_in_longer_pieces_than_those_of_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = dict[bool, list[str]]()
    for is_substep in (False, True):
        clock, fed = Clock(monkeypatch), list[Any]()
        writer = LogWriter(await MemoryLogs().create("run"))
        writer.feed = fed.extend
        for word in ("one ", "two ", "three ", "four "):
            delta = TextDelta("s1", (0,), word)
            await writer.write([Substep("call_1", delta) if is_substep else delta])
            clock.now += 0.01
        written[is_substep] = [(each.chunk if is_substep else each).text for each in fed]
    assert written[False] == ["one ", "two ", "three ", "four "]
    assert written[True] == ["one ", "two three four "]


async def test_words_are_not_held_up_by_long_arguments_beside_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, fed = Clock(monkeypatch), list[Chunk]()
    writer = LogWriter(await MemoryLogs().create("run"))
    writer.feed = fed.extend
    await writer.write([START, PartStart("s1", (1,), ToolCallPart("call_1", "draw"))])
    await writer.write([TextDelta("s1", (1,), "x" * 10_000)])
    for word in ("one ", "two ", "three "):
        clock.now += 0.01
        await writer.write([TextDelta("s1", (1,), "x")])
        await writer.write([TextDelta("s1", (0,), word)])
        assert fed[-1] == TextDelta("s1", (0,), word)


async def test_what_is_held_is_written_though_nothing_comes_behind_it() -> None:
    log = await MemoryLogs().create("run")
    writer = LogWriter(log)
    await writer.write([START, PartStart("s1", (1,), ToolCallPart("call_1", "draw"))])
    await writer.write([TextDelta("s1", (1,), "x" * 10_000)])
    await writer.write([TextDelta("s1", (1,), "y")])
    await writer.write([TextDelta("s1", (0,), "word")])
    async for batch in log.read(3):
        assert [chunk for _, chunk in batch] == [
            TextDelta("s1", (1,), "y"),
            TextDelta("s1", (0,), "word"),
        ]
        break
