"""The response of one reader of an event stream."""

from collections.abc import Callable

from sse_starlette import EventSourceResponse
from starlette.types import Receive, Scope, Send

from server.http.readers import respond_in_time


class ServerSentEvents(EventSourceResponse):
    """EventSourceResponse has a timeout for slow readers too, but not for the last send, and it
    leaves the connection open with all that the reader has not taken."""

    expires_at: float | None = None
    """When the reader's credentials expire, as a Unix time."""
    closed: Callable[[], None] | None = None
    """Called when it has ended, however it did."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await respond_in_time(super().__call__, scope, receive, send, self.expires_at)
        finally:
            if self.closed:
                self.closed()
