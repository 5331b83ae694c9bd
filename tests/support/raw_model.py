"""A model's server that sends what a test likes, byte for byte, whether it is HTTP or not."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

HEADERS_END = b"\r\n\r\n"
EVENT_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
DONE = b"data: [DONE]\n\n"

Answer = bytes | Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chunk(delta: Any, finish: Any = None, **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "choices": [choice], **fields}


def say(text: str) -> bytes:
    return event(chunk({"content": text}))


def call(args: str, name: str | None = None, id: str | None = None, index: Any = 0) -> bytes:
    function = {"arguments": args} | ({"name": name} if name else {})
    return event(chunk({"tool_calls": [{"index": index, "id": id, "function": function}]}))


def finish(reason: str = "stop") -> bytes:
    return event(chunk({}, reason)) + DONE


def stream(*events: bytes) -> bytes:
    """An answer of these events; nothing is said of how they end."""
    return EVENT_STREAM + b"".join(events)


def endless(piece: bytes, head: bytes = EVENT_STREAM) -> Answer:
    """The piece, again and again, until the client has left."""

    async def play(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)

    return play


def sized(*events: bytes) -> bytes:
    """An answer of these events whose end is known: its connection serves the next request."""
    body = b"".join(events)
    length = b"Content-Length: %d" % len(body)
    return EVENT_STREAM.replace(b"Connection: close", length) + body


def cut(answer: bytes) -> Answer:
    """The bytes, and the end of the connection."""

    async def play(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    return play


def held_open(*events: bytes) -> Answer:
    """These events, on a connection that the model's server never closes."""

    async def play(writer: asyncio.StreamWriter) -> None:
        writer.write(stream(*events))
        await writer.drain()
        await asyncio.Event().wait()

    return play


FINE = stream(say("Fine."), finish())


@dataclass
class RawModel:
    answers: list[Answer]
    """One a request; then it says "Fine." for ever."""
    url: str = ""
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    """The heads of the requests."""
    bodies: list[bytes] = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client has closed before its answer ended."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._serve_one(reader, writer):
                pass
        except ConnectionError:
            self.left.set()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer a request; say whether its connection is good for another."""
        head = await reader.readuntil(HEADERS_END)
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        self.bodies.append(await reader.readexactly(int(length or 0)))
        self.requests.append(head)
        answer = self.answers.pop(0) if self.answers else FINE
        if not isinstance(answer, bytes):
            await answer(writer)
            return False
        writer.write(answer)
        await writer.drain()
        return b"Content-Length" in answer and b"Connection: close" not in answer


@asynccontextmanager
async def raw_model(answers: Sequence[Answer] = ()) -> AsyncIterator[RawModel]:
    model = RawModel(list(answers))
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(model.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=4096)
    model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield model
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
