"""The MCP SDK's server at an address, which can be restarted: a new process knows no session.

`gateway` is the status with which a proxy in front of it answers while it is set.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from mcp.server import MCPServer
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.endpoint.serving import TRANSPORT, serve

EVENTS = (b"content-type", b"text/event-stream")


class RestartedServer:
    """`make` returns the server as it is after each start. An old one speaks no protocol without
    sessions; `options` are those of `streamable_http_app`."""

    def __init__(
        self,
        make: Callable[[], MCPServer],
        *,
        is_old: bool = True,
        refuses_streams: bool = False,
        **options: Any,
    ) -> None:
        self.gateway: int | None = None
        self.initialized = 0
        self.streams = 0
        """Event streams that are open."""
        self.port = 0
        self._make, self._is_old, self._options = make, is_old, options
        self._refuses_streams = refuses_streams
        self._stop = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def start(self) -> None:
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        self._running = asyncio.create_task(self._run(started, self._stop))
        await asyncio.wait([started, self._running], return_when=asyncio.FIRST_COMPLETED)
        if self._running.done():
            self._running.result()

    async def stop(self) -> None:
        self._stop.set()
        if self._running is not None:
            await self._running

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def __aenter__(self) -> "RestartedServer":
        await self.start()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.stop()

    async def _run(self, started: "asyncio.Future[None]", stop: asyncio.Event) -> None:
        server = self._make()
        app = self._fronted(_mortal(server.streamable_http_app(**self._options), stop))
        async with (
            serve(app, self.port, keep_alive=True) as self.port,
            server.session_manager.run(),
        ):
            started.set_result(None)
            await stop.wait()

    def _fronted(self, app: ASGIApp) -> ASGIApp:
        async def front(scope: Scope, receive: Receive, send: Send) -> None:
            headers = {name: value.decode() for name, value in scope["headers"]}
            version = headers.get(b"mcp-protocol-version")
            status = self.gateway
            if self._is_old and version in MODERN_PROTOCOL_VERSIONS:
                status = 400
            if self._refuses_streams and scope["method"] == "GET":
                status = 405
            if status is not None:
                await PlainTextResponse("no", status)(scope, receive, send)
                return
            if scope["method"] == "POST" and version is None:
                self.initialized += 1
            opened = 0

            async def count(message: Message) -> None:
                nonlocal opened
                if message["type"] == "http.response.start" and EVENTS in message["headers"]:
                    opened = 1
                    self.streams += 1
                await send(message)

            try:
                await app(scope, receive, count)
            finally:
                self.streams -= opened

        return front


def _mortal(app: ASGIApp, stop: asyncio.Event) -> ASGIApp:
    """The app of a process that ends: its connections break, with no answer to what is open."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if stop.is_set():
            scope["state"][TRANSPORT].abort()
            return
        work = asyncio.ensure_future(app(scope, receive, send))
        end = asyncio.ensure_future(stop.wait())
        await asyncio.wait([work, end], return_when=asyncio.FIRST_COMPLETED)
        if not end.cancel():
            scope["state"][TRANSPORT].abort()
            work.cancel()
        await asyncio.gather(work, end, return_exceptions=True)

    return answer
