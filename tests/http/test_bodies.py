"""Large bodies: what they may be, and that they take nobody's room or time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.serving import Client, http_client, serving, settings
from tests.support.users import client_of, keys_settings
from tests.support.waiting import until

MEGABYTE = 1_000_000
VALUES = 1000
TOGETHER = 5 * MEGABYTE
OTHER_ADDRESS = "127.0.0.2"
HALF_LOGIN = b'{"credential": "' + b"x" * 9_950


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
    given = keys_settings(tmp_path, max_bodies_bytes=MEGABYTE, max_body_bytes=MEGABYTE)
    async with serving(given) as client, client_of(client, "ann") as ann:
        assert client.state is not None
        strangers, known = client.state["anonymous_bodies"], client.state["bodies"]
        async with half_login(client), half_login(client, OTHER_ADDRESS):
            await until(lambda: strangers.together == 2 * len(HALF_LOGIN))
            answer = await client.http.post("/login", json={"credential": "x" * 1_000})
            assert (answer.status_code, answer.json()["limit"]) == (503, "max_bodies_bytes")
            assert known.together == 0
            answer = await ann.http.post("/chat", json={"message": "x" * 900_000})
            assert (answer.status_code, answer.json()["code"]) == (422, "message_too_long")
        await until(lambda: strangers.together == 0)


async def test_bodies_of_one_address_keep_nobody_else_from_logging_in(tmp_path: Path) -> None:
    given = keys_settings(tmp_path, max_bodies_bytes=MEGABYTE)
    async with serving(given) as client, AsyncExitStack() as flood:
        assert client.state is not None
        strangers = client.state["anonymous_bodies"]
        for _ in range(3):
            await flood.enter_async_context(half_login(client, OTHER_ADDRESS))
        await until(lambda: strangers.together >= len(HALF_LOGIN))
        transport = httpx.AsyncHTTPTransport(local_address=OTHER_ADDRESS)
        async with http_client(client.url, transport) as other:
            answer = await other.post("/login", json={"credential": "x" * 5_000})
            detail = answer.json()["detail"]
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            assert "Each address that logs in may use at once 12000 bytes of" in detail
            assert "TURNSTREAM_MAX_BODIES_BYTES, 1000000." in detail
        assert strangers.together == len(HALF_LOGIN)
        answer = await client.http.post("/login", json={"credential": "x" * 9_000})
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


async def test_bodies_of_one_caller_leave_room_for_another(tmp_path: Path) -> None:
    bounds = {"max_bodies_bytes": 2 * MEGABYTE, "max_body_bytes": MEGABYTE}
    async with (
        serving(keys_settings(tmp_path, **bounds)) as client,
        client_of(client, "ann") as ann,
        client_of(client, "bob") as bob,
    ):
        assert client.state is not None
        bodies = client.state["bodies"]
        half = b'{"message": "' + b"x" * 900_000
        async with half_sent(ann, body=half, length=MEGABYTE):
            await until(lambda: bodies.together == len(half))
            answer = await ann.http.post("/chat", json={"message": "x" * 900_000})
            assert "Each caller may use at once 1000000 bytes of" in answer.json()["detail"]
            answer = await bob.http.post("/chat", json={"message": "x" * 900_000})
            assert (answer.status_code, answer.json()["code"]) == (422, "message_too_long")


def half_login(client: Client, address: str = "127.0.0.1") -> AbstractAsyncContextManager[None]:
    return half_sent(client, "/login", HALF_LOGIN, 11_000, address)


@asynccontextmanager
async def half_sent(
    client: Client,
    path: str = "/chat",
    body: bytes = b'{"message": "' + b"x" * (2 * MEGABYTE + 1000),
    length: int = 3 * MEGABYTE,
    address: str = "127.0.0.1",
) -> AsyncIterator[None]:
    """A body of this length of which a part has come."""
    host, port = client.http.base_url.host, client.http.base_url.port
    _, writer = await asyncio.open_connection(host, port, local_addr=(address, 0))
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        f"Authorization: {client.http.headers.get('Authorization', '')}\r\n"
        f"Content-Length: {length}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    try:
        yield
    finally:
        writer.close()
