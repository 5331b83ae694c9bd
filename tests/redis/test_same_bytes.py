"""Whoever reads a run, in whichever worker, gets the same bytes in every wire format."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import redis

from tests.support.backend import THREAD, backend, message
from tests.support.contracts.runs import got, opened
from tests.support.redis_workers import OpenWorker, workers
from tests.support.run_chunks import tool_call_message
from tests.support.scripted_model import ScriptedModel, finish, reasoning, text
from tests.support.served_run import VARIANTS
from turnstream.server.formats import WIRE_FORMATS
from turnstream.server.formats.format import StreamContext
from turnstream.server.http.event_streams import Encoding
from turnstream.server.storage.run_logs import RunLog
from turnstream.server.turns.chunks import Chunk

WORDS = 'Grüße 🙂, "quoted" \\ \u2028 and a lone \ud83d'
CALLS = (("c1", "add", '{"a": 1, "b": 2.50}'), ("c2", "nothing", '{"é": [null, true'))


@pytest.fixture
async def open_worker(redis_url: str) -> AsyncIterator[OpenWorker]:
    async with workers(redis_url) as open_worker:
        yield open_worker


async def chunks(path: Path) -> Sequence[Chunk]:
    """A whole run, with reasoning, words that are awkward, calls, a result and an error."""
    model = ScriptedModel.of(
        [reasoning("Hm."), *tool_call_message(*CALLS)], [text(WORDS), text(" again"), finish()]
    )
    async with backend(path, model) as inside:
        return await inside.turn(message("Hello"))


async def encoded(log: RunLog, variant: str, after: int) -> bytes:
    name, view = VARIANTS[variant]
    context = StreamContext(THREAD, "m1", (), "r1")
    encoding, said = Encoding("r1", context, WIRE_FORMATS[name].encoder(context, view)), b""
    async for batch in log.read(after):
        said += b"".join([events async for events in encoding.frames(log, batch)])
    return said


@pytest.mark.parametrize("variant", VARIANTS)
async def test_the_bytes_of_a_run_are_the_same_from_every_worker(
    open_worker: OpenWorker, tmp_path: Path, variant: str
) -> None:
    writer, other = await open_worker("a"), await open_worker("b")
    log, said = await opened(writer.logs), await chunks(tmp_path / "t.db")
    for chunk in said:
        await log.append([chunk])
    mirror = await got(other.logs, "r1")
    for after in (0, 1, len(said) // 2, len(said) - 1):
        from_writer = await encoded(log, variant, after)
        assert from_writer
        assert await encoded(mirror, variant, after) == from_writer


@pytest.mark.parametrize("variant", VARIANTS)
async def test_what_a_newer_version_has_said_makes_no_event(
    open_worker: OpenWorker, redis_url: str, tmp_path: Path, variant: str
) -> None:
    writer, other = await open_worker("a"), await open_worker("b")
    log, said = await opened(writer.logs), await chunks(tmp_path / "t.db")
    await log.append(said[:3])
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        client.xadd("turnstream:{r1}:log", {"d": '{"type":"Applause"}'}, id="0-5")
        client.hset("turnstream:{r1}:state", "last", 4)
    taken = await other.logs.take_over("r1")
    assert taken
    await taken.append(said[3:])
    whole = await encoded(taken, variant, 0)
    assert b"Applause" not in whole
    assert b"id: r1:4\n" not in whole
    assert whole.count(f"id: r1:{len(said) + 1}\n".encode()) == 1
    third = await got((await open_worker("c")).logs, "r1")
    for after in (0, 3, 4):
        assert await encoded(third, variant, after) == await encoded(taken, variant, after)
