"""A model whose words are the time at which it says them: what comes late shows how late.

The model's server runs in the process that measures; `time.monotonic` is one clock for all.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclass
class ClockModel:
    """Answers each request with `words` times, one each `seconds`."""

    words: int
    seconds: float
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(HEAD)
            start = time.monotonic()
            for number in range(self.words):
                due = start + number * self.seconds
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                writer.write(_chunk({"content": f"{time.monotonic():.4f} "}))
            writer.write(_chunk({}, "stop") + b"data: [DONE]\n\n")
            await writer.drain()
        writer.close()


def _chunk(delta: dict[str, str], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    body = {"id": "clock", "object": "chat.completion.chunk", "created": 0, "model": "clock"}
    return b"data: " + json.dumps({**body, "choices": [choice]}).encode() + b"\n\n"


@asynccontextmanager
async def clock_model(words: int, seconds: float) -> AsyncIterator[ClockModel]:
    model = ClockModel(words, seconds)
    server = await asyncio.start_server(model.serve, "127.0.0.1", 0, backlog=2000)
    model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        yield model
