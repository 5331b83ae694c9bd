"""A load balancer without memory: each connection goes to the next worker, to another one if that
does not take it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count


class RoundRobin:
    """TCP; knows nothing of what it carries, and not whether a worker is well."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self._turn = count()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError):
                behind = await self._connect()
                if behind is not None:
                    await _both_ways((reader, writer), behind)
        finally:
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        start = next(self._turn)
        for number in range(len(self._ports)):
            port = self._ports[(start + number) % len(self._ports)]
            with suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", port)
        return None


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _both_ways(client: Connection, behind: Connection) -> None:
    """Until one of them is gone: these clients end no direction by itself."""
    pumps = [
        asyncio.create_task(_pump(client[0], behind[1])),
        asyncio.create_task(_pump(behind[0], client[1])),
    ]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        behind[1].close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(2**16):
        writer.write(data)
        await writer.drain()


@asynccontextmanager
async def round_robin(ports: Sequence[int]) -> AsyncIterator[str]:
    """Its URL."""
    server = await asyncio.start_server(RoundRobin(ports).carry, "127.0.0.1", 0, backlog=1000)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
