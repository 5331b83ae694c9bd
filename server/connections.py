"""A connection of uvicorn that hands its transport to the app (read in uvicorn 0.54.0)."""

import asyncio
import socket

from uvicorn.protocols.http.h11_impl import H11Protocol

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
