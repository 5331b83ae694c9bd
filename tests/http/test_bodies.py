"""Large bodies: what they may be, and that they take nobody's room or time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import Client, serving, settings
from tests.support.users import client_of, keys_settings
from tests.support.waiting import until

MEGABYTE = 1_000_000
VALUES = 1000
TOGETHER = 5 * MEGABYTE


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    bounds = {"max_body_values": VALUES, "max_bodies_bytes": TOGETHER}
    room = {"max_message_chars": 4 * MEGABYTE, "max_body_bytes": 4 * MEGABYTE}
    async with serving(settings(tmp_path / "t.db", **bounds, **room)) as client:
        yield client


def history(values: int) -> dict[str, Any]:
    """A body of the AI SDK with earlier messages that have so many values."""
    parts: list[Any] = [{"type": "text", "text": "Hi, " * 3}] * ((values - 30) // 5)
    said = [{"id": "m1", "role": "assistant", "parts": parts}]
    asked = [{"id": "m2", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}]
    return {"id": "t1", "trigger": "submit-message", "messages": [*said, *asked]}


async def test_a_body_of_many_values_is_refused_however_small_it_is(client: Client) -> None:
    too_many: list[Any] = [history(2 * VALUES), [0] * (VALUES + 1), {"message": [[]] * VALUES}]
    for body in too_many:
        answer = await client.http.post("/chat", json=body)
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (413, "body_too_large")
        assert "TURNSTREAM_MAX_BODY_VALUES" in problem["detail"]


async def test_a_long_text_is_one_value(client: Client) -> None:
    _, events = await client.turn(history(VALUES - 100))
    assert events[-1].type == "[DONE]"
    body = {"message": 'Say [1,2,{"a":3}], "then" \\stop. ' * (2 * MEGABYTE // 32)}
    _, events = await client.turn(body)
    assert events[-1].type == "[DONE]"


@pytest.mark.parametrize("body", [b"[" * 2 * MEGABYTE, b'{"message": "' + b"x" * 2 * MEGABYTE])
async def test_a_large_body_is_refused_as_a_small_one_is(client: Client, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = await client.http.post("/chat", content=body, headers=headers)
    assert answer.status_code in (400, 413)
    wrong = {"message": "x" * 2 * MEGABYTE, "modle": 1}
    answer = await client.http.post("/chat", json=wrong)
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_key")


async def test_bodies_that_come_at_once_have_room_together(client: Client) -> None:
    """Two are half sent; a third finds no room until they have gone."""
    assert client.state is not None
    bodies = client.state["bodies"]
    async with half_sent(client), half_sent(client):
        await until(lambda: bodies.together > 4 * MEGABYTE)
        answer = await client.http.post("/chat", json={"message": "x" * 2 * MEGABYTE})
        assert (answer.status_code, answer.json()["limit"]) == (503, "max_bodies_bytes")
        assert answer.headers["retry-after"]
        _, events = await client.turn({"message": "Hello"})
        assert events[-1].type == "[DONE]"
    await until(lambda: bodies.together == 0)
    _, events = await client.turn({"message": "x" * 2 * MEGABYTE})
    assert events[-1].type == "[DONE]"


async def test_bodies_of_strangers_take_no_room_of_known_callers(tmp_path: Path) -> None:
    given = keys_settings(tmp_path, max_bodies_bytes=MEGABYTE)
    async with serving(given) as client, client_of(client, "ann") as ann:
        assert client.state is not None
        strangers, known = client.state["anonymous_bodies"], client.state["bodies"]
        body = b'{"credential": "' + b"x" * 15_000
        async with half_sent(client, "/login", body, 18_000):
            await until(lambda: strangers.together == len(body))
            answer = await client.http.post("/login", json={"credential": "x" * 9_000})
            assert (answer.status_code, answer.json()["limit"]) == (503, "max_bodies_bytes")
            assert known.together == 0
            answer = await ann.http.post("/chat", json={"message": "x" * 900_000})
            assert (answer.status_code, answer.json()["code"]) == (422, "message_too_long")
        await until(lambda: strangers.together == 0)


@asynccontextmanager
async def half_sent(
    client: Client,
    path: str = "/chat",
    body: bytes = b'{"message": "' + b"x" * (2 * MEGABYTE + 1000),
    length: int = 3 * MEGABYTE,
) -> AsyncIterator[None]:
    """A body of this length of which a part has come."""
    host, port = client.http.base_url.host, client.http.base_url.port
    _, writer = await asyncio.open_connection(host, port)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    try:
        yield
    finally:
        writer.close()
