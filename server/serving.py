"""uvicorn with an orderly end: on a signal the runs come to theirs first, then the server.

By itself uvicorn closes the listener at once, and sse-starlette cuts every stream; both would take
live runs from their readers.

    signal -> no new runs (503) -> live runs finish, DRAIN_SECONDS at most -> the rest is stopped
           -> readers have their terminal chunk -> uvicorn closes -> exit 0
"""

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from sse_starlette.sse import AppStatus
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from server.runs.registry import Runs

SIGNALS = (signal.SIGTERM, signal.SIGINT)
CLOSE_SECONDS = 5
"""How long readers may take to fetch what is ready, once all runs have ended."""
TRANSPORT = "transport"
"""In a request's state: the connection's `asyncio.Transport`."""
UNACKNOWLEDGED_MS = 30_000
"""A peer that has answered no packet for so long is gone: pings find it out."""


class Connection(H11Protocol):
    """Hands its transport to the app, which may have to cut a reader off."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {TRANSPORT: transport}
        option = getattr(socket, "TCP_USER_TIMEOUT", None)  # Linux has it
        if option is not None:
            accepted = transport.get_extra_info("socket")
            accepted.setsockopt(socket.IPPROTO_TCP, option, UNACKNOWLEDGED_MS)


class Server(uvicorn.Server):
    def __init__(self, app: ASGIApp, runs: Runs, drain_seconds: float) -> None:
        config = uvicorn.Config(
            app,
            http=Connection,
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="warning",
            timeout_graceful_shutdown=CLOSE_SECONDS,
        )
        super().__init__(config)
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
            self._runs.stop_all()

    async def _end(self) -> None:
        await self._runs.drain(self._drain_seconds)
        self.should_exit = True
