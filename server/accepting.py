"""Accepts connections, up to a cap, and never spins when there is no descriptor for another.

The event loop's own server is not used: it accepts its whole backlog in one go, past any cap, and
when descriptors run out, Python 3.11 tries again for each of the backlog, and logs each failure
(github.com/python/cpython/issues/151615). What is used instead are public methods of the event
loop: `add_reader`, `connect_accepted_socket`.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Collection
from contextlib import suppress

BACKLOG = 2048
"""Connections that the kernel holds until they are accepted."""
ACCEPTS = 64
"""Connections accepted in one go, before others get the event loop."""
RETRY_SECONDS = 1
"""Pause after the system has refused a connection: by then a descriptor may be free."""
LOG_SECONDS = 60
"""The same trouble is logged once in so long."""
LINGER_SECONDS = 1
"""A refused client may finish sending for so long: closing at once could lose the answer."""
LINGERING = 32
"""Refused connections that may linger at once; any more are closed at once."""

logger = logging.getLogger(__name__)


class Acceptor:
    """Hands accepted connections to `connect`'s protocols while fewer than `most` are open.

    Any other is answered with `refusal` and closed.
    """

    def __init__(
        self,
        listener: socket.socket,
        connect: Callable[[], asyncio.Protocol],
        open_connections: Collection[asyncio.Protocol],
        *,
        most: int,
        refusal: Callable[[], bytes],
    ) -> None:
        self._listener = listener
        self._connect = connect
        self._open = open_connections
        self._most = most
        self._refusal = refusal
        self._loop = asyncio.get_running_loop()
        self._connecting: set[asyncio.Task[object]] = set()
        self._admitted: set[asyncio.Protocol] = set()
        """The connections among them that may be open, and may not be yet."""
        self._lingering: set[asyncio.Transport] = set()
        self._retry: asyncio.TimerHandle | None = None
        self._logged: dict[str, float] = {}

    def start(self) -> None:
        self._listener.setblocking(False)
        self._listener.listen(BACKLOG)
        self._resume()

    async def close(self) -> None:
        """Accept the connections that have come, and close the listener."""
        self._loop.remove_reader(self._listener)
        if self._retry:
            self._retry.cancel()
        with suppress(OSError):  # no descriptor for another
            while self._accept_some():
                pass
        self._listener.close()
        if self._connecting:
            await asyncio.wait(self._connecting)
        for transport in self._lingering:
            transport.abort()

    def _resume(self) -> None:
        self._retry = None
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        try:
            self._accept_some()
        except OSError as error:
            self._log("cannot accept connections: %s", error.strerror or error)
            self._loop.remove_reader(self._listener)
            self._retry = self._loop.call_later(RETRY_SECONDS, self._resume)

    def _accept_some(self) -> bool:
        """Accept up to ACCEPTS connections. Returns False if there are no more. Raises OSError."""
        for _ in range(ACCEPTS):
            try:
                accepted, _address = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return False
            except ConnectionAbortedError:
                continue  # It left before it was accepted; others may wait behind it.
            self._admit(accepted)
        return True

    def _admit(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        if len(self._open) + sum(each not in self._open for each in self._admitted) < self._most:
            protocol = self._connect()
            self._admitted.add(protocol)
            connecting = self._start(lambda: protocol, accepted)
            connecting.add_done_callback(lambda _: self._admitted.discard(protocol))
            return
        self._log("refusing connections: %d are open, see TURNSTREAM_MAX_CONNECTIONS", self._most)
        if len(self._lingering) < LINGERING:
            self._start(lambda: Refusal(self._refusal(), self._lingering), accepted)
        else:
            with accepted, suppress(OSError):
                accepted.send(self._refusal())

    def _start(
        self, protocol: Callable[[], asyncio.Protocol], accepted: socket.socket
    ) -> "asyncio.Task[object]":
        task: asyncio.Task[object] = self._loop.create_task(
            self._loop.connect_accepted_socket(protocol, accepted)
        )
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)
        return task

    def _log(self, message: str, detail: object) -> None:
        now = time.monotonic()
        if now - self._logged.get(message, -LOG_SECONDS) >= LOG_SECONDS:
            self._logged[message] = now
            logger.warning(message, detail)


class Refusal(asyncio.Protocol):
    """Answers at once, drops what the client sends, and closes once the client has."""

    def __init__(self, answer: bytes, lingering: set[asyncio.Transport]) -> None:
        self._answer = answer
        self._lingering = lingering

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._lingering.add(transport)
        self._timer = asyncio.get_running_loop().call_later(LINGER_SECONDS, transport.abort)
        transport.write(self._answer)
        transport.write_eof()

    def connection_lost(self, _error: Exception | None) -> None:
        self._timer.cancel()
        self._lingering.discard(self._transport)
