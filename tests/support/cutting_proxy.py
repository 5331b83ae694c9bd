"""A network that breaks: a TCP proxy before the server that cuts event streams off."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

HEADERS_END = b"\r\n\r\n"
EVENT_END = b"\n\n"
RETRY = b"a\r\nretry: 9\n\n\r\n"
"""A chunk of the body: an EventSource comes back after 9 ms."""


@dataclass
class CuttingProxy:
    """The n-th event stream through it is cut in the middle of an event, behind `cuts[n]` whole
    ones; the streams after those are left alone. `resumed` are the cursors that readers came with.
    """

    host: str
    port: int
    cuts: list[int]
    resumed: list[str | None] = field(default_factory=list)
    url: str = ""
    connections: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections.add(task)
        task.add_done_callback(self.connections.discard)
        upstream, downstream = await asyncio.open_connection(self.host, self.port)
        try:
            async with asyncio.TaskGroup() as both:
                back = both.create_task(self._answers(upstream, writer))
                there = both.create_task(_requests(reader, downstream, self.resumed))
                back.add_done_callback(lambda _: there.cancel())
        except* ConnectionError:
            pass
        finally:
            writer.close()  # not aborted: a reset may take what the reader has not read yet
            downstream.transport.abort()

    async def _answers(self, upstream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass answers on, up to the one that is cut."""
        while head := await _head(upstream):
            writer.write(head)
            if b"text/event-stream" not in head:
                writer.write(await upstream.readexactly(_length(head)))
                continue
            writer.write(RETRY)
            if self.cuts:
                await _first_events(upstream, writer, self.cuts.pop(0))
                return
            while data := await upstream.read(65536):
                writer.write(data)
                await writer.drain()


def _length(head: bytes) -> int:
    found = re.search(rb"content-length: (\d+)", head.lower())
    return int(found[1]) if found else 0


async def _head(upstream: asyncio.StreamReader) -> bytes:
    try:
        return await upstream.readuntil(HEADERS_END)
    except asyncio.IncompleteReadError:
        return b""


async def _first_events(
    upstream: asyncio.StreamReader, writer: asyncio.StreamWriter, count: int
) -> None:
    """So many events and a piece of the next."""
    passed = b""
    while passed.count(EVENT_END) <= count and (data := await upstream.read(65536)):
        passed += data
    place = 0
    for _ in range(count):
        place = passed.index(EVENT_END, place) + len(EVENT_END)
    writer.write(passed[: place + 9])
    await writer.drain()


async def _requests(
    reader: asyncio.StreamReader, downstream: asyncio.StreamWriter, resumed: list[str | None]
) -> None:
    while data := await reader.read(65536):
        if b"/stream" in data.partition(b"\r\n")[0]:
            lines = data.decode("latin-1").split("\r\n")
            cursors = [
                line.partition(": ")[2]
                for line in lines
                if line.lower().startswith("last-event-id: ")
            ]
            resumed.append(cursors[0] if cursors else None)
        downstream.write(data)
        await downstream.drain()


@asynccontextmanager
async def cutting_proxy(host: str, port: int, cuts: Sequence[int]) -> AsyncIterator[CuttingProxy]:
    proxy = CuttingProxy(host, port, list(cuts))
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield proxy
        # A client may keep its connections for what it asks next.
        open_ones = [*proxy.connections]
        for connection in open_ones:
            connection.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)
