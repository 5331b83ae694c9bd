"""uvicorn with an orderly end: on a signal the runs come to theirs first, then the server.

By itself uvicorn closes the listener at once, and sse-starlette cuts every stream; both would take
live runs from their readers.

    signal -> no new runs (503) -> live runs finish, DRAIN_SECONDS at most -> the rest is stopped
           -> readers have their terminal chunk -> uvicorn closes -> exit 0
"""

import asyncio
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import uvicorn
from sse_starlette.sse import AppStatus
from starlette.types import ASGIApp, Receive, Scope, Send

from server.connections import BoundedServer, Connection, ConnectionLimits
from server.runs.runs import Runs

SIGNALS = (signal.SIGTERM, signal.SIGINT)
CLOSE_SECONDS = 5
"""How long readers may take to fetch what is ready, once all runs have ended."""


class Server(BoundedServer):
    def __init__(
        self, app: ASGIApp, runs: Runs, drain_seconds: float, limits: ConnectionLimits
    ) -> None:
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            proxy_headers=False,  # The app reads them: it has to know the proxy's own address too.
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="error",  # Warnings are of clients: each could fill the log.
            timeout_graceful_shutdown=CLOSE_SECONDS,
        )
        super().__init__(config, limits)
        self._runs = runs
        self._drain_seconds = drain_seconds
        self._ending: asyncio.Task[None] | None = None
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
        if self._ending is None:
            self._ending = asyncio.create_task(self._end())
        else:
            self._runs.hurry()

    async def _end(self) -> None:
        await self._runs.drain(self._drain_seconds)
        self.should_exit = True


def with_state(app: ASGIApp, state: Mapping[str, Any]) -> ASGIApp:
    """The app with its lifespan's state in every scope, for a server that did not open it."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {}).update(state)
        await app(scope, receive, send)

    return call
