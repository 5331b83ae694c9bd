"""The budget of bytes that all runs' logs share."""

import pytest

from turnstream.server.storage.memory_logs import CHUNK_BYTES, ITEM_BYTES, MemoryLogs, size_of
from turnstream.server.turns.chunks import (
    Aside,
    Chunk,
    Done,
    FilePart,
    GraphState,
    Interrupt,
    PartMade,
    Result,
    Substep,
    TaskFinish,
    TextDelta,
)
from turnstream.server.turns.header import RunHeader, ThreadKey

TEXT = 1_000


def header(run_id: str) -> RunHeader:
    return RunHeader(ThreadKey("local", "t"), run_id, "g", "m", "u", "assistant-transport", None)


async def ended(logs: MemoryLogs, run_id: str) -> None:
    """A run that has said TEXT characters, and ended."""
    log = await logs.create(run_id)
    await log.open(header(run_id))
    await log.append([TextDelta("s1", (0,), "x" * TEXT), Done()])
    await logs.keep(run_id, 60)


async def held(logs: MemoryLogs, *run_ids: str) -> list[str]:
    return [run_id for run_id in run_ids if await logs.get(run_id)]


async def test_the_log_that_ended_first_is_dropped_when_all_take_too_much() -> None:
    logs = MemoryLogs(max_bytes=2 * (TEXT + 2 * CHUNK_BYTES))
    for run_id in ("first", "second", "third"):
        await ended(logs, run_id)
    assert await held(logs, "first", "second", "third") == ["second", "third"]


async def test_a_live_log_is_never_dropped() -> None:
    logs = MemoryLogs(max_bytes=10)
    live = await logs.create("live")
    await live.append([TextDelta("s1", (0,), "x" * TEXT)])
    await ended(logs, "over")
    await live.append([TextDelta("s1", (0,), "y")])
    assert await held(logs, "live", "over") == ["live"]


async def test_a_reader_of_a_log_that_is_dropped_comes_to_its_end() -> None:
    logs = MemoryLogs(max_bytes=TEXT)
    await ended(logs, "over")
    log = await logs.get("over")
    assert log is not None
    reader = log.read(1)
    await ended(logs, "next")
    assert [chunk async for batch in reader for _, chunk in batch] == [Done()]
    assert (await log.status()).state == "lost"
    assert await log.header() is None


def test_a_chunk_of_a_subagent_takes_as_much_as_one_of_the_answer() -> None:
    delta = TextDelta("s1", (0,), "x" * TEXT)
    assert size_of(Substep("c1", delta)) == CHUNK_BYTES + size_of(delta)


async def test_a_log_that_is_dropped_makes_room() -> None:
    logs = MemoryLogs(max_bytes=3 * (TEXT + 2 * CHUNK_BYTES))
    for number in range(20):
        await ended(logs, f"run-{number}")
    assert await held(logs, "run-16", "run-17", "run-18", "run-19") == [
        "run-17",
        "run-18",
        "run-19",
    ]


def test_a_result_counts_with_all_that_is_in_it() -> None:
    def result(value: object) -> Chunk:
        return Result("s1", (0,), value, "result", "tool-1")

    assert size_of(result("x" * 500)) == CHUNK_BYTES + ITEM_BYTES + 500
    nested = {"rows": [{"word": "abc"}] * 10}
    assert size_of(result(nested)) >= CHUNK_BYTES + 10 * (len("word") + len("abc"))


@pytest.mark.parametrize(
    "chunk",
    [
        GraphState({"notes": ["x" * TEXT]}),
        Interrupt("i1", {"ask": "x" * TEXT}, "node"),
        TaskFinish("t1", "node", writes=({"notes": "x" * TEXT},)),
        Aside("a1", None, "user", "x" * TEXT),
        PartMade("s1", (0,), FilePart("x" * TEXT, "image/png")),
    ],
    ids=lambda chunk: type(chunk).__name__,
)
def test_a_chunk_counts_with_what_it_brings(chunk: Chunk) -> None:
    assert size_of(chunk) >= CHUNK_BYTES + TEXT


def test_the_size_of_a_deep_result_is_counted_without_recursion() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert size_of(Result("s1", (0,), deep, "result", "tool-1")) > 100_000
