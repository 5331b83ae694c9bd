"""TCP between a client and a server, cut when a test wants it."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

RETRY = b"retry: 1\n\n"
"""Milliseconds until an EventSource comes back; its own default is three seconds."""
HEAD_END = b"\r\n\r\n"


@dataclass
class Proxy:
    """`cuts` are where to cut each connection, in bytes of its answer; later ones stay whole."""

    server_port: int
    cuts: list[int]
    port: int = 0
    requests: list[bytes] = field(default_factory=list)
    """What the client sent, one a connection."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        cut = self.cuts.pop(0) if self.cuts else None
        upstream, to_server = await asyncio.open_connection("127.0.0.1", self.server_port)
        try:
            request = await reader.readuntil(HEAD_END)
            self.requests.append(request)
            length = re.search(rb"(?i)content-length: *([0-9]+)", request)
            body = await reader.readexactly(int(length[1])) if length else b""
            # One request a connection: the end of its answer is the end of the line.
            head = request.replace(b"connection: keep-alive", b"connection: close")
            to_server.write(head + body)
            head = await upstream.readuntil(HEAD_END)
            streams = b"transfer-encoding: chunked" in head.lower()
            writer.write(head + (_chunk(RETRY) if streams else b""))
            await self._pass_on(upstream, writer, cut)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            to_server.close()
            writer.close()

    async def _pass_on(
        self, upstream: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: int | None
    ) -> None:
        while data := await upstream.read(65536 if cut is None else min(cut, 65536)):
            writer.write(data)
            await writer.drain()
            if cut is not None:
                cut -= len(data)
                if cut == 0:
                    return


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@asynccontextmanager
async def proxy(server_port: int, *cuts: int) -> AsyncIterator[Proxy]:
    passing = Proxy(server_port, list(cuts))
    server = await asyncio.start_server(passing.serve, "127.0.0.1", 0)
    passing.port = server.sockets[0].getsockname()[1]
    try:
        yield passing
    finally:
        server.close()
