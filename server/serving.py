"""uvicorn with an orderly end: on a signal the runs come to theirs first, then the server.

By itself uvicorn ends at once, and sse-starlette cuts every stream; both would take live runs from
their readers.

    signal -> no new connections, and idle ones end: a proxy goes to another worker
           -> no new runs (503) -> live runs finish, DRAIN_SECONDS at most -> the rest is stopped
           -> readers have their terminal chunk -> uvicorn closes -> exit 0

Who is still being answered after CLOSE_SECONDS reads what other workers run, or reads slowly: the
answer breaks off, and goes on at another worker.
"""

import asyncio
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import uvicorn
from sse_starlette.sse import AppStatus
from starlette.types import ASGIApp, Receive, Scope, Send

from turnstream.server.announcement import notify
from turnstream.server.connections import BoundedServer, Connection, ConnectionLimits
from turnstream.server.runs.runs import Runs

SIGNALS = (signal.SIGTERM, signal.SIGINT)
CLOSE_SECONDS = 5
"""Seconds that readers may take to fetch what is ready, once all runs have ended."""
BEGIN_SECONDS = 2.0
"""Time for requests that have come before the end to begin their answer. A run that has not begun
by then is refused."""
_CANCEL_SECONDS = 2
"""Seconds that their requests may take to end then."""


class Server(BoundedServer):
    def __init__(
        self, app: ASGIApp, runs: Runs, drain_seconds: float, limits: ConnectionLimits
    ) -> None:
        self._lets_go = False
        config = uvicorn.Config(
            self._letting_go(app),
            http=Connection,
            ws="none",
            proxy_headers=False,  # The app reads them: it has to know the proxy's own address too.
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="error",  # Warnings are of clients: each could fill the log.
            timeout_graceful_shutdown=CLOSE_SECONDS + _CANCEL_SECONDS,
        )
        super().__init__(config, limits)
        self._runs = runs
        self._drain_seconds = drain_seconds
        self.ending: asyncio.Task[None] | None = None
        """The end, once it has begun."""
        AppStatus.enable_automatic_graceful_drain = False

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.end)
        try:
            yield
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    def end(self) -> None:
        """Begin the end; said again, the runs that are still live are stopped now."""
        if self.ending is None:
            self.ending = asyncio.create_task(self._end())
        else:
            self._runs.hurry()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        notify("READY=1")

    async def _end(self) -> None:
        try:
            notify("STOPPING=1")
            await self.stop_accepting()
            await self.answers_begun(BEGIN_SECONDS)
            await self._runs.drain(self._drain_seconds)
        finally:
            self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        timer = asyncio.get_running_loop().call_later(CLOSE_SECONDS, self._let_go)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()

    def _let_go(self) -> None:
        """End the requests that have outlasted the runs."""
        self._lets_go = True
        for connection in [*self.server_state.connections]:
            assert isinstance(connection, Connection)
            connection.let_go()
        for task in self.server_state.tasks:
            task.cancel()

    def _letting_go(self, app: ASGIApp) -> ASGIApp:
        """The app, of which uvicorn does not hear that a request was let go."""

        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await app(scope, receive, send)
            except asyncio.CancelledError:
                if not self._lets_go:
                    raise

        return call


def with_state(app: ASGIApp, state: Mapping[str, Any]) -> ASGIApp:
    """The app with its lifespan's state in every scope, for a server that did not open it."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {}).update(state)
        await app(scope, receive, send)

    return call
