"""A streamed response, as long as its reader takes it and may have it."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator

import pytest
from starlette.types import Message, Receive, Scope, Send

from turnstream.server.formats import DEFAULT
from turnstream.server.formats.format import StreamContext
from turnstream.server.http import readers
from turnstream.server.http.event_streams import Encoding
from turnstream.server.http.readers import TRANSPORT, respond_in_time
from turnstream.server.http.sse_response import ServerSentEvents
from turnstream.server.http.unread import PIECE_BYTES, joined
from turnstream.server.storage.memory_logs import MemoryLog
from turnstream.server.turns.chunks import Custom

HEAD: Message = {"type": "http.response.start", "status": 200, "headers": []}
END: Message = {"type": "http.response.body", "body": b"", "more_body": False}


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.aborted = asyncio.Event()

    def abort(self) -> None:
        self.aborted.set()


async def receive() -> Message:
    return {"type": "http.disconnect"}


async def endless(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send(HEAD)
    await asyncio.Event().wait()


async def silent(_scope: Scope, _receive: Receive, _send: Send) -> None:
    await asyncio.Event().wait()


async def fails(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise TimeoutError("of its own")


async def sent_by(respond: object, expires_at: float | None) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await respond_in_time(respond, {"type": "http"}, receive, send, expires_at)  # type: ignore[arg-type]
    return sent


async def test_a_response_ends_when_its_readers_credentials_expire() -> None:
    assert await sent_by(endless, time.time() + 0.05) == [HEAD, END]


@pytest.mark.parametrize("respond", [endless, silent])
async def test_credentials_that_have_expired_before_the_first_byte_get_a_whole_answer(
    respond: object,
) -> None:
    head, *_, last = await sent_by(respond, time.time() - 1)
    assert head["status"] == (200 if respond is endless else 401)
    assert not last.get("more_body", False)


async def test_a_timeout_of_the_responses_own_is_its_error() -> None:
    for expires_at in (None, time.time() + 60):
        with pytest.raises(TimeoutError, match="of its own"):
            await sent_by(fails, expires_at)


@pytest.mark.parametrize("seconds", [0, 0.01])
async def test_a_reader_that_takes_nothing_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(readers, "SEND_TIMEOUT_SECONDS", seconds)
    transport, taken = Transport(), []

    async def one_message(message: Message) -> None:
        taken.append(message)
        if len(taken) > 1:
            await transport.aborted.wait()

    async def two_messages(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send(HEAD)
        await send(END)

    scope = {"type": "http", "state": {TRANSPORT: transport}}
    await respond_in_time(two_messages, scope, receive, one_message, None)
    assert taken == [HEAD, END]


async def test_a_reader_to_whom_nothing_is_sent_is_not_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readers, "SEND_TIMEOUT_SECONDS", 0.001)
    transport = Transport()
    scope = {"type": "http", "state": {TRANSPORT: transport}}

    async def send(_message: Message) -> None: ...

    response = asyncio.create_task(respond_in_time(endless, scope, receive, send, None))
    with pytest.raises(TimeoutError):  # fifty times as long
        await asyncio.wait_for(transport.aborted.wait(), 0.05)
    response.cancel()


def test_events_are_sent_some_at_a_time_and_a_large_one_by_itself() -> None:
    small, large = [b"%06d" % number * 100 for number in range(1_000)], b"x" * 3 * PIECE_BYTES
    events = [*small, large, *small, b""]
    groups = [*joined(events)]
    assert b"".join(groups) == b"".join(events)
    assert [group for group in groups if len(group) > PIECE_BYTES] == [large]
    assert len(groups) < 20
    assert [*joined([b"", b""])] == []


async def test_a_long_log_is_read_a_piece_at_a_time() -> None:
    chunk, context = Custom({"text": "x" * 1_000}), StreamContext("t", "m")
    encoding = Encoding("r", context, DEFAULT.encoder(context, None))
    batch = [(number, chunk) for number in range(1, 1_001)]
    groups = [events async for events in encoding.frames(MemoryLog(), batch)]
    assert b"".join(groups).count(b"\n\n") == len(batch)
    assert max(map(len, groups)) <= PIECE_BYTES


async def test_no_ping_comes_within_an_event() -> None:
    event, waits, sent = b"x" * 3 * PIECE_BYTES, asyncio.Semaphore(0), list[bytes]()

    async def events() -> AsyncIterator[bytes]:
        yield event

    async def waits_on() -> Message:
        waits.release()
        return await asyncio.Future[Message]()

    async def slow(message: Message) -> None:
        if len(message.get("body", b"")) == PIECE_BYTES:
            for _ in range(2):  # times for a ping
                await waits.acquire()
        sent.append(message.get("body", b""))

    response = ServerSentEvents(events(), ping=1)
    response.ping_interval = 0.001
    await response({"type": "http", "method": "GET"}, waits_on, slow)
    assert event in b"".join(sent)


async def test_an_event_that_was_sent_is_not_held_while_the_next_one_is_awaited() -> None:
    event, references = b"x" * 3 * PIECE_BYTES, list[int]()

    async def events() -> AsyncIterator[bytes]:
        references.append(sys.getrefcount(event))
        yield event
        references.append(sys.getrefcount(event))

    async def stays() -> Message:
        return await asyncio.Future[Message]()

    async def send(_message: Message) -> None: ...

    await ServerSentEvents(events())({"type": "http", "method": "GET"}, stays, send)
    before, after = references
    assert after == before
