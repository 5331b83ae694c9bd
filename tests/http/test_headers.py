"""The headers that every answer has, and what a page of an allowed origin may read."""

import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.support.serving import Client, serving, settings
from turnstream.server.http import problem_handlers
from turnstream.server.http.problem_handlers import UnexpectedErrors

ORIGIN = "https://app.example"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
async def client(database: Path) -> AsyncIterator[Client]:
    async with serving(settings(database, allowed_origins=(ORIGIN,))) as client:
        yield client


def protections(answer: httpx.Response) -> tuple[list[str], list[str]]:
    headers = answer.headers
    return headers.get_list("x-content-type-options"), headers.get_list("cache-control")


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/health", {}, 200),
        ("GET", "/threads", {}, 200),
        ("GET", "/threads/t1", {}, 404),
        ("GET", "/nothing", {}, 404),
        ("PUT", "/chat", {}, 405),
        ("POST", "/chat", {}, 415),
        ("DELETE", "/threads/t1", {}, 204),
        ("GET", "/threads", {"Host": "elsewhere.example"}, 403),
        ("OPTIONS", "/chat", {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}, 200),
    ],
)
async def test_no_answer_is_sniffed_or_cached(
    client: Client, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = await client.http.request(method, path, headers=headers)
    assert answer.status_code == status
    assert protections(answer) == (["nosniff"], ["no-store"])


@pytest.mark.parametrize(
    ("trusted", "prefix", "before"),
    [
        (("127.0.0.1",), "/tools/chat", "/tools/chat"),
        (("127.0.0.1",), "/tools/", "/tools"),
        (("127.0.0.1",), "//elsewhere.example", ""),
        (("127.0.0.1",), "https://elsewhere.example", ""),
        (("10.0.0.1",), "/tools/chat", ""),
    ],
)
async def test_a_location_is_below_the_path_at_which_a_trusted_proxy_serves_us(
    database: Path, trusted: tuple[str, ...], prefix: str, before: str
) -> None:
    headers = {"X-Forwarded-Prefix": prefix, "Prefer": "respond-async"}
    body = {"thread_id": "t1", "message": "Hello"}
    async with serving(settings(database, trusted_proxies=trusted)) as client:
        answer = await client.http.post("/chat", json=body, headers=headers)
        assert answer.status_code == 202
        assert answer.headers["location"].startswith(f"{before}/chat/t1/stream?last_event_id=")
        lost = await client.http.get("/threads/", headers=headers)
        assert httpx.URL(lost.headers["location"]).path == f"{before}/threads"


async def test_a_stream_keeps_its_own_rule_for_caches(client: Client) -> None:
    async with client.chat({"message": "Hello"}) as stream:
        assert protections(stream.response) == (["nosniff"], ["no-cache, no-transform"])
        await stream.rest()


async def test_the_page_keeps_its_own_rule_for_caches(client: Client) -> None:
    assert protections(await client.http.get("/")) == (["nosniff"], ["no-cache"])


async def test_a_page_of_an_allowed_origin_can_read_a_500(
    client: Client, database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("ALTER TABLE threads RENAME TO elsewhere")
    answer = await client.http.get("/threads", headers={"Origin": ORIGIN})
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert answer.headers["access-control-allow-origin"] in ("*", ORIGIN)
    assert protections(answer) == (["nosniff"], ["no-store"])
    # Tasks in the background may log that they failed, too.
    [logged] = [each for each in caplog.records if each.name == problem_handlers.__name__]
    assert answer.json()["id"] in logged.getMessage()
    other = await client.http.get("/threads", headers={"Origin": "https://other.example"})
    assert other.status_code == 500
    assert "access-control-allow-origin" not in other.headers
    assert re.fullmatch("[0-9a-f]{12}", other.json()["id"])


async def test_an_error_in_the_middle_of_an_answer_is_left_to_the_server_that_logs_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sent: list[Message] = []

    async def break_off(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    with pytest.raises(RuntimeError):
        await UnexpectedErrors(break_off)({"type": "http"}, receive, send)
    assert [message["type"] for message in sent] == ["http.response.start"]
    assert caplog.records == []
