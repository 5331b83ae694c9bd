"""uvicorn's HTTP protocol on a loopback port, as part of the running event loop.

`uvicorn.Server` is left out: it looks whether it should stop every tenth of a second and catches
signals. Here the way down takes no time: every connection is closed, and the requests see it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

HOST = "127.0.0.1"
TRANSPORT = "transport"
"""In a request's state: the connection's `asyncio.Transport`."""


class Connection(H11Protocol):
    """Hands its transport to the app, and keeps quiet about requests."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.access_log = False
        self.app_state = {TRANSPORT: transport}


@asynccontextmanager
async def serve(app: ASGIApp, port: int, *, keep_alive: bool) -> AsyncIterator[int]:
    """Serve until the block ends; the value is the port, a free one for 0."""
    config = uvicorn.Config(
        app, http="h11", ws="none", lifespan="off", log_config=None, proxy_headers=False
    )
    config.load()
    state = ServerState()
    state.default_headers = [] if keep_alive else [(b"connection", b"close")]
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(config, state, {}), HOST, port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        # Before Python 3.12 a connection that is accepted as its server closes is lost, and stays.
        for listener in server.sockets:
            loop.remove_reader(listener.fileno())
        for _ in range(2):
            await asyncio.sleep(0)  # the loop makes those that it has accepted
        server.close()
        await _hang_up(state)
        await server.wait_closed()


async def _hang_up(state: ServerState) -> None:
    for connection in list(state.connections):
        connection.transport.abort()
    await asyncio.sleep(0)  # the loop tells each connection that it is lost
    await asyncio.gather(*state.tasks)
