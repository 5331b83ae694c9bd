"""The middleware of large responses, message by message."""

from collections.abc import Sequence
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from turnstream.server.http.unread import PIECE_BYTES, LargeResponses, unread_budget

SIZE = PIECE_BYTES + 1
START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-length", str(SIZE).encode())],
}


async def sent(*messages: Message) -> Sequence[Message]:
    """The messages that the server gets of these of an application."""

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    async def receive() -> Message:
        raise AssertionError("nobody reads the request")

    got: list[Message] = []

    async def send(message: Message) -> None:
        got.append(message)

    budget = unread_budget(1, knows_callers=False)
    scope: dict[str, Any] = {"type": "http", "method": "GET", "state": {"unread": budget}}
    await LargeResponses(app)(scope, receive, send)
    return got


@pytest.mark.parametrize(
    "message",
    [
        {"type": "http.response.pathsend", "path": "/tmp/page.js"},
        {"type": "http.response.zerocopysend", "file": 3},
        {"type": "http.response.body", "body": b"x" * PIECE_BYTES, "more_body": True},
    ],
)
async def test_other_messages_are_passed_on_behind_the_start(message: Message) -> None:
    assert await sent(START, message) == [START, message]


async def test_trailers_come_behind_a_body_in_pieces() -> None:
    body, trailers = b"x" * SIZE, {"type": "http.response.trailers", "headers": []}
    first, *pieces, last = await sent(START, {"type": "http.response.body", "body": body}, trailers)
    assert (first, last) == (START, trailers)
    assert b"".join(piece["body"] for piece in pieces) == body
    assert len(pieces) == 3
