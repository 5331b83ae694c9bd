"""A bare HTTP client: each request is a connection of its own, so that a proxy can give it to
another worker, and costs little beside the servers."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

SECONDS = 60
"""How long a server may be silent: it sends pings."""


class BrokenOff(Exception):
    """The connection ended ahead of the response, or in the middle of it."""


class Silent(Exception):
    """Nothing came for too long."""


@dataclass
class Response:
    status: int
    headers: Mapping[str, str]
    reader: asyncio.StreamReader
    answered: float = field(default_factory=time.time)

    @property
    def run_id(self) -> str:
        return self.headers.get("x-run-id", "")

    async def json(self) -> dict[str, Any]:
        """An empty object if the body has no JSON."""
        body = b"".join([piece async for piece in self._pieces()])
        value: dict[str, Any] = json.loads(body) if body[:1] == b"{" else {}
        return value

    async def frames(self) -> AsyncIterator[bytes]:
        """Of an event stream, without its comments. Raises BrokenOff, Silent."""
        waiting = b""
        async for piece in self._pieces():
            *blocks, waiting = (waiting + piece).split(b"\n\n")
            for block in blocks:
                if not block.startswith(b":"):
                    yield block + b"\n\n"
        if waiting:
            raise BrokenOff("in the middle of an event")

    async def _pieces(self) -> AsyncIterator[bytes]:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            while size := int(await _within(self.reader.readline()) or b"x", 16):
                yield (await _within(self.reader.readexactly(size + 2)))[:-2]
        elif length := int(self.headers.get("content-length", "0")):
            yield await _within(self.reader.readexactly(length))


async def _within(reading: Any) -> bytes:
    try:
        async with asyncio.timeout(SECONDS):
            got: bytes = await reading
            if not got:
                raise BrokenOff
            return got
    except TimeoutError:
        raise Silent from None
    except (OSError, asyncio.IncompleteReadError):
        raise BrokenOff from None


@asynccontextmanager
async def request(
    url: str,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[Response]:
    """Raises BrokenOff if there is no answer, Silent if it does not come."""
    place = urlsplit(url)
    try:
        reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=2**20)
    except OSError:
        raise BrokenOff from None
    try:
        content = b"" if body is None else json.dumps(body).encode()
        named = {
            "Host": place.netloc,
            "Connection": "close",
            "Content-Length": str(len(content)),
            **({"Content-Type": "application/json"} if body is not None else {}),
            **(headers or {}),
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + content)
        yield await _head(reader)
    finally:
        writer.close()


async def _head(reader: asyncio.StreamReader) -> Response:
    first, *lines = (await _within(reader.readuntil(b"\r\n\r\n"))).decode().split("\r\n")
    fields = (line.split(": ", 1) for line in lines if line)
    return Response(int(first.split()[1]), {k.lower(): v for k, v in fields}, reader)
