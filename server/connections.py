"""One client's connection: what it may take its time for, and what it gets when that is over.

    headers   HEADER_SECONDS from the opening, or from the first byte of a later request
    body      at most BODY_SECONDS behind MIN_BODY_RATE at any time, and in all no longer than the
              largest body takes at that rate
    response  no limit, while the client reads
    idle      KEEP_ALIVE_SECONDS (uvicorn's own timer)

This is the one module that rests on the insides of uvicorn and h11: `READ_IN` names the versions it
was read in. uvicorn itself limits the idle time alone, and any byte ends that limit.
"""

import asyncio
import logging
import resource
import select
import socket
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from turnstream.server.accepting import Acceptor
from turnstream.server.http.problems import SHUTTING_DOWN, SOON, Problem, problem
from turnstream.server.http.readers import TRANSPORT
from turnstream.server.settings import Settings

READ_IN = {"uvicorn": "0.54.0", "h11": "0.16.0"}
UNACKNOWLEDGED_MS = 30_000
"""A peer that has answered no packet for so long is gone: pings find it out."""
POLL_SECONDS = 0.02
NEW_SECONDS = 0.5
"""A client sends its request within this time after it has connected."""
UNREAD_SECONDS = 30
"""A peer that has read nothing of what waits for it for so long is cut off."""
MIN_BODY_RATE = 4_000
"""Bytes a second: a poor mobile link."""
CLOSE = (b"connection", b"close")

MALFORMED = Problem(
    400,
    "malformed_request",
    "The request is not valid HTTP/1.1, or its headers are larger than 16 KiB.",
)
TOO_MANY = problem("too_many_connections", headers=SOON)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ConnectionLimits:
    header_seconds: float
    body_seconds: float
    whole_body_seconds: float
    keep_alive_seconds: float
    max_connections: int

    @classmethod
    def of(cls, settings: Settings) -> Self:
        most = most_connections(settings.max_connections, open_files())
        if most < settings.max_connections:
            logger.warning(
                "TURNSTREAM_MAX_CONNECTIONS is %d, but `ulimit -n` leaves room for %d",
                settings.max_connections,
                most,
            )
        behind, whole = settings.body_seconds, settings.max_body_bytes / MIN_BODY_RATE
        idle = settings.keep_alive_seconds
        return cls(settings.header_seconds, behind, behind + whole, idle, most)


def open_files() -> int | None:
    """The process's limit of descriptors, `ulimit -n`; None if it has none."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def most_connections(wanted: int, descriptors: int | None) -> int:
    """Half of the descriptors unless another number is wanted, and never all of them.

    A connection may have a run whose model is called over another connection, hence the half; 64
    are kept for the database, files and tools.
    """
    if descriptors is None:
        return wanted or 1_000_000
    half = max(descriptors // 2, 1)
    return min(wanted, max(descriptors - 64, half)) if wanted else half


class Connection(H11Protocol):
    """Limits how long its client may take.

    Its one timer runs as long as the connection, and finds out what is due only when it fires.
    Hands its transport to the app, which may have to cut a reader off.
    """

    def __init__(
        self, config: uvicorn.Config, server_state: ServerState, limits: ConnectionLimits
    ) -> None:
        super().__init__(config, server_state, {})
        self._limits = limits
        self.timeout_keep_alive = limits.keep_alive_seconds  # type: ignore[assignment]
        self._awaited: object = h11.IDLE
        """The part of a request that the client still owes: `h11.IDLE` for the headers, a cycle for
        the body of its request, None for nothing."""
        self._opened = self._since = self._body_due = self._read_at = self.loop.time()
        self._unread = 0
        self._is_closing = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {TRANSPORT: transport}
        self._period = min(self._limits.header_seconds, self._limits.body_seconds)
        self._timer = self.loop.call_later(self._period, self._check)
        option = getattr(socket, "TCP_USER_TIMEOUT", None)  # Linux has it
        if option is not None:
            accepted = transport.get_extra_info("socket")
            accepted.setsockopt(socket.IPPROTO_TCP, option, UNACKNOWLEDGED_MS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._note(len(data))
        if self._is_closing:
            self._close_after_response()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:  # of a request that came behind the last one
            self._note(0)

    @property
    def owes_answer(self) -> bool:
        """True if a request has come whose answer has not begun, or may be about to come: on a
        connection that is new, not on one that a browser has opened to have it."""
        if self.cycle is None:
            is_new = self.loop.time() - self._opened < NEW_SECONDS
            return is_new or bool(self.conn.trailing_data[0])
        if self.cycle.response_complete:
            return not self.transport.is_closing() and self._has_next_request()
        return not self.cycle.response_started

    def _has_next_request(self) -> bool:
        """Return True if bytes have come behind the last request."""
        return bool(self.conn.trailing_data[0]) or _has_unread(self.transport)

    def close_when_idle(self) -> None:
        """Close the connection once it has no request to answer; at once if it is kept alive for
        the next one. On a new one the first request is still answered."""
        self._is_closing = True
        is_idle = self.cycle is not None and self.cycle.response_complete
        if is_idle and not self._has_next_request():
            self.transport.close()
        else:
            self._close_after_response()

    def _close_after_response(self) -> None:
        if self.cycle is None:
            return
        if not self.cycle.response_started and CLOSE not in self.cycle.default_headers:
            self.cycle.default_headers = [*self.cycle.default_headers, CLOSE]
        self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """Called by uvicorn when the server ends; a request whose body is not whole has no time."""
        if self._awaited is self.cycle is not None and not self._is_responding():
            self._end(SHUTTING_DOWN)
        else:
            super().shutdown()

    def let_go(self) -> None:
        """End now what is being answered; who has read a part of it sees that it broke off."""
        if self.cycle is None or self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            if self.cycle:
                self.cycle.disconnected = True
            self.transport.abort()
        else:
            self._end(SHUTTING_DOWN)

    def send_400_response(self, _message: str) -> None:
        self._end(MALFORMED)

    def _note(self, received: int) -> None:
        """Note what the client still owes after the bytes that it has just sent."""
        state = self.conn.their_state
        if state is not h11.IDLE and state is not h11.SEND_BODY:
            self._awaited = None
            return
        awaited = self.cycle if state is h11.SEND_BODY else state
        now = self.loop.time()
        latest = now + self._limits.body_seconds
        if awaited is not self._awaited:
            self._awaited, self._since, self._body_due = awaited, now, latest
        self._body_due = min(self._body_due + received / MIN_BODY_RATE, latest)

    def _check(self) -> None:
        now = self.loop.time()
        if self._is_stuck(now):
            self.transport.abort()
            return
        due = self._due()
        if due <= now and not self.transport.is_closing():
            self._time_out()
        self._timer = self.loop.call_at(
            due if now < due < now + self._period else now + self._period, self._check
        )

    def _due(self) -> float:
        if self._awaited is h11.IDLE:
            return self._since + self._limits.header_seconds
        if self._awaited is None or self._is_responding():
            return float("inf")
        if self.cycle.response_complete:
            return self._since + self._limits.body_seconds
        return min(self._body_due, self._since + self._limits.whole_body_seconds)

    def _is_responding(self) -> bool:
        return self.cycle.response_started and not self.cycle.response_complete

    def _is_stuck(self, now: float) -> bool:
        """Check that the client has long read nothing of what waits for it."""
        unread = self.transport.get_write_buffer_size()
        if not unread or unread != self._unread:
            self._unread, self._read_at = unread, now
        return now - self._read_at >= UNREAD_SECONDS

    def _time_out(self) -> None:
        what, setting = "body", "TURNSTREAM_BODY_SECONDS"
        if self._awaited is h11.IDLE:
            what, setting = "headers", "TURNSTREAM_HEADER_SECONDS"
        if self._awaited is h11.IDLE and not self.conn.trailing_data[0]:
            self.transport.close()  # No request has begun.
        else:
            self._end(
                Problem(
                    408,
                    "request_timeout",
                    f"The request's {what} took too long. Send it faster, or raise {setting}.",
                )
            )

    def _end(self, problem: Problem) -> None:
        """Answer, unless the request's response has begun, and close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(closing_response(problem, self.server_state))
        if self.conn.our_state is h11.SEND_RESPONSE:
            self.cycle.disconnected = True  # What the app may still send goes nowhere.
            self.cycle.message_event.set()
        self.transport.close()


def _has_unread(transport: asyncio.Transport) -> bool:
    """Return True if bytes of the client have come that the event loop has not read yet."""
    arrived = select.poll()
    arrived.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(arrived.poll(0))


def closing_response(problem: Problem, server_state: ServerState) -> bytes:
    """A whole response, after which the connection is closed."""
    response = problem.response()
    headers = [*server_state.default_headers, *response.raw_headers, CLOSE]
    status = f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}".encode()
    lines = [status, *(name + b": " + value for name, value in headers)]
    return b"\r\n".join([*lines, b"", bytes(response.body)])


class BoundedServer(uvicorn.Server):
    """uvicorn with at most so many connections; it serves the sockets that it is given."""

    def __init__(self, config: uvicorn.Config, limits: ConnectionLimits) -> None:
        super().__init__(config)
        self._limits = limits
        self._acceptors: list[Acceptor] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        self._acceptors = [self._acceptor(listener) for listener in sockets or ()]
        for acceptor in self._acceptors:
            acceptor.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self.stop_accepting()
        await super().shutdown(sockets)

    async def stop_accepting(self) -> None:
        """Close the listeners, and each connection once it is idle, so that a proxy sends its next
        request to another worker. What has come before is answered."""
        acceptors, self._acceptors = self._acceptors, []
        for acceptor in acceptors:
            await acceptor.close()
        for connection in self._connections():
            connection.close_when_idle()

    async def answers_begun(self, seconds: float) -> None:
        """Wait until no connection owes an answer that has not begun, at most so many seconds."""
        due = time.monotonic() + seconds
        while time.monotonic() < due and any(  # noqa: ASYNC110  uvicorn does not say when
            connection.owes_answer for connection in self._connections()
        ):
            await asyncio.sleep(POLL_SECONDS)

    def _connections(self) -> list[Connection]:
        return [each for each in self.server_state.connections if isinstance(each, Connection)]

    def _acceptor(self, listener: socket.socket) -> Acceptor:
        return Acceptor(
            listener,
            lambda: Connection(self.config, self.server_state, self._limits),
            self.server_state.connections,
            most=self._limits.max_connections,
            refusal=lambda: closing_response(TOO_MANY, self.server_state),
        )
