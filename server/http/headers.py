"""Headers of every answer: it is what its content type says, and no cache keeps it.

An answer that has such a header of its own keeps that: the page's files, event streams.
"""

from collections.abc import Awaitable
from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class ApiHeaders:
    """ASGI middleware."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        def with_headers(message: Message) -> Awaitable[None]:
            # No coroutine of its own: it is called for every chunk of a stream.
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            return send(message)

        await self.app(scope, receive, with_headers)
