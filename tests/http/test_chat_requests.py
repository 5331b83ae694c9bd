"""What POST /chat takes and refuses: every refusal has a code, a sentence and a way out."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.serving import Client, serving, settings
from tests.support.waiting import WAIT_SECONDS

MAX_BYTES = 20_000
MAX_CHARS = 500
ALLOWED = "https://app.example"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    limits = {"max_body_bytes": MAX_BYTES, "max_message_chars": MAX_CHARS}
    configured = settings(tmp_path / "t.db", allowed_origins=ALLOWED, **limits)
    async with serving(configured) as client:
        yield client


def problem(answer: httpx.Response) -> tuple[int, str, str]:
    """Status, code and sentence of a problem document."""
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == answer.status_code
    assert document["title"]
    assert document["type"]
    assert document["detail"].endswith((".", ")"))
    assert "Traceback" not in answer.text
    return answer.status_code, document["code"], document["detail"]


def parts(*given: Any) -> dict[str, Any]:
    return {"message": {"parts": list(given)}}


TEXT = {"type": "text", "text": "Hi"}
ANSWER = {"tool_call_id": "c1", "result": "red"}

REFUSED: dict[str, tuple[Any, int, str, str]] = {
    "an array": ([], 422, "invalid_body", "JSON object"),
    "a string": ("Hi", 422, "invalid_body", "JSON object"),
    "null": (None, 422, "invalid_body", "JSON object"),
    "nothing to do": ({}, 422, "missing_action", "message"),
    "only a thread": ({"thread_id": "t1"}, 422, "missing_action", "message"),
    "an unknown key": ({"message": "Hi", "modle": "x"}, 422, "unknown_key", "'modle'"),
    "an unknown key of a part": (
        {"message": {"parts": [TEXT], "role": "user"}},
        422,
        "unknown_key",
        "'role'",
    ),
    "two actions": ({"message": "Hi", "continue": True}, 422, "conflicting_actions", "one of"),
    "an empty message": ({"message": ""}, 422, "empty_message", "empty"),
    "a blank message": ({"message": " \n\t"}, 422, "empty_message", "empty"),
    "a message of no parts": (parts(), 422, "empty_message", "empty"),
    "a message too long": (
        {"message": "x" * (MAX_CHARS + 1)},
        422,
        "message_too_long",
        str(MAX_CHARS),
    ),
    "parts too long together": (
        parts(*[{"type": "text", "text": "x" * 200}] * 3),
        422,
        "message_too_long",
        str(MAX_CHARS),
    ),
    "a number as message": ({"message": 7}, 422, "invalid_body", "string"),
    "half a character": ({"message": "\ud800"}, 422, "invalid_text", "whole characters"),
    "a file": (parts({"type": "file", "data": "x"}), 422, "unsupported_part", "text, image"),
    "audio": (parts({"type": "audio"}), 422, "unsupported_part", "text, image"),
    "a part without type": (parts({"text": "Hi"}), 422, "invalid_body", "type"),
    "an image that is none": (
        parts({"type": "image", "image": "file:///etc/passwd"}),
        422,
        "invalid_image",
        "data:image/png;base64",
    ),
    "an image of no base64": (
        parts({"type": "image", "image": "data:image/png;base64,%%%"}),
        422,
        "invalid_image",
        "http",
    ),
    "a thread id with a slash": (
        {"message": "Hi", "thread_id": "../x"},
        422,
        "invalid_thread_id",
        "leave it out",
    ),
    "an empty thread id": ({"message": "Hi", "thread_id": ""}, 422, "invalid_thread_id", "1 to"),
    "a thread id too long": (
        {"message": "Hi", "thread_id": "x" * 129},
        422,
        "invalid_thread_id",
        "128",
    ),
    "a thread id that is a number": (
        {"message": "Hi", "thread_id": 1},
        422,
        "invalid_thread_id",
        "1 to",
    ),
    "a result for nothing": ({"tool_results": [ANSWER]}, 409, "not_pending", "'c1'"),
    "a result without a result": (
        {"tool_results": [{"tool_call_id": "c1"}]},
        422,
        "invalid_body",
        "result",
    ),
    "a result without a call": ({"tool_results": [{"result": 1}]}, 422, "invalid_body", "id"),
    "results that are no list": ({"tool_results": ANSWER}, 422, "invalid_body", "array"),
    "no results at all": ({"tool_results": []}, 422, "missing_action", "message"),
    "a result too long": (
        {"tool_results": [{"tool_call_id": "c1", "result": "x" * (MAX_CHARS + 1)}]},
        422,
        "value_too_long",
        str(MAX_CHARS),
    ),
    "going on where nothing is": ({"continue": True}, 409, "nothing_to_continue", "message"),
    "going on, but no": ({"continue": False}, 422, "invalid_body", "true"),
    "regenerating nothing": ({"regenerate": True}, 409, "nothing_to_do", "send one"),
    "editing nothing": (
        {"edit": {"message_id": "m1", "message": "Hi"}},
        409,
        "unknown_message",
        "'m1'",
    ),
    "a way to be busy": ({"message": "Hi", "on_busy": "wait"}, 422, "invalid_on_busy", "reject"),
    "a tool of the server": (
        {
            "message": "Hi",
            "client_tools": [
                {"name": "calculator", "description": "x", "parameters": {"type": "object"}}
            ],
        },
        409,
        "tool_name_taken",
        "another name",
    ),
    "a command that is none": (
        {"commands": [{"type": "delete-message"}]},
        422,
        "unsupported_command",
        "add-message",
    ),
}


@pytest.mark.parametrize(("body", "status", "code", "hint"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_body_that_cannot_be_taken_is_refused_with_a_way_out(
    client: Client, body: Any, status: int, code: str, hint: str
) -> None:
    raw = json.dumps(body).encode()
    answer = await client.http.post("/chat", content=raw, headers=JSON)
    found = problem(answer)
    assert found[:2] == (status, code)
    assert hint in found[2]
    assert (await client.http.get("/threads")).json()["threads"] == [], "no thread came of it"


JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b'{"message": "Hi"',
        b"\xff\xfe",
        b'{"message": NaN}',
        b"message=Hi",
        b"[" * 5_000,
        b'{"message": 1' + b"0" * 5_000 + b"}",
    ],
    ids=lambda raw: repr(raw[:12]),
)
async def test_what_is_not_json_is_a_400(client: Client, raw: bytes) -> None:
    answer = await client.http.post("/chat", content=raw, headers=JSON)
    status, code, sentence = problem(answer)
    assert (status, code) == (400, "malformed_json")
    assert "Send one JSON object" in sentence


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
async def test_another_content_type_is_a_415(client: Client, content_type: str) -> None:
    answer = await client.http.post(
        "/chat", content=b'{"message": "Hi"}', headers={"content-type": content_type}
    )
    status, code, sentence = problem(answer)
    assert (status, code) == (415, "not_json")
    assert "application/json" in sentence


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON"])
async def test_json_by_any_of_its_names_is_taken(client: Client, content_type: str) -> None:
    answer = await client.http.post(
        "/chat", content=b'{"message": "Hi"}', headers={"content-type": content_type}
    )
    assert answer.status_code == 200


async def test_a_body_too_large_is_a_413_before_it_has_all_come(client: Client) -> None:
    url = client.http.base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    head = f"POST /chat HTTP/1.1\r\nHost: {url.host}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
    for _ in range(MAX_BYTES // 1000 + 1):
        writer.write(b"3e8\r\n" + b" " * 1000 + b"\r\n")
    async with asyncio.timeout(WAIT_SECONDS):
        said = await reader.readuntil(b"}")
    writer.close()
    await writer.wait_closed()
    assert said.startswith(b"HTTP/1.1 413 ")
    document = json.loads(said.partition(b"\r\n\r\n")[2])
    assert document["code"] == "body_too_large"
    assert "TURNSTREAM_MAX_BODY_BYTES" in document["detail"]


async def test_a_body_of_just_the_size_is_read(client: Client) -> None:
    raw = b'{"message": "Hi"}'.ljust(MAX_BYTES)
    answer = await client.http.post("/chat", content=raw, headers=JSON)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://app.example"]
)
async def test_a_page_of_another_origin_is_refused_with_the_setting_named(
    client: Client, origin: str
) -> None:
    answer = await client.http.post("/chat", json={"message": "Hi"}, headers={"origin": origin})
    status, code, sentence = problem(answer)
    assert (status, code) == (403, "origin_not_allowed")
    assert "TURNSTREAM_ALLOWED_ORIGINS" in sentence
    assert "access-control-allow-origin" not in answer.headers


async def test_our_own_page_and_an_allowed_one_may_call(client: Client) -> None:
    own = str(client.http.base_url).rstrip("/")
    for origin in (own, ALLOWED):
        answer = await client.http.post("/chat", json={"message": "Hi"}, headers={"origin": origin})
        assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == ALLOWED
    exposed = answer.headers["access-control-expose-headers"].lower()
    for name in ("x-thread-id", "x-run-id", "x-message-id", "location"):
        assert name in exposed


async def test_a_preflight_of_an_allowed_page_passes_and_of_another_does_not(
    client: Client,
) -> None:
    for origin, allowed in ((ALLOWED, True), ("https://evil.example", False)):
        answer = await client.http.options(
            "/chat",
            headers={
                "origin": origin,
                "access-control-request-method": "POST",
                "access-control-request-headers": "content-type",
            },
        )
        assert ("access-control-allow-origin" in answer.headers) == allowed


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", ""]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_foreign_host_is_refused_whatever_is_asked(
    client: Client, host: str, method: str
) -> None:
    path = "/chat" if method == "POST" else "/threads"
    answer = await client.http.request(method, path, headers={"host": host})
    status, code, sentence = problem(answer)
    assert (status, code) == (403, "host_not_allowed")
    assert "TURNSTREAM_ALLOWED_HOSTS" in sentence


@pytest.mark.parametrize("host", ["localhost", "LocalHost:8000", "127.0.0.1:1", "[::1]:8000"])
async def test_every_name_of_this_machine_is_served(client: Client, host: str) -> None:
    answer = await client.http.get("/health", headers={"host": host})
    assert answer.status_code == 200


@pytest.mark.parametrize("protocol", ["xml", ""])
async def test_an_unknown_protocol_is_refused_with_the_known_ones(
    client: Client, protocol: str
) -> None:
    answer = await client.http.post("/chat", json={"message": "Hi"}, params={"protocol": protocol})
    status, code, sentence = problem(answer)
    assert (status, code) == (422, "invalid_protocol")
    assert "assistant-transport or ui-message-stream" in sentence


async def test_a_stream_is_never_cached_buffered_or_compressed(client: Client) -> None:
    async with client.chat({"message": "Hi"}, headers={"accept-encoding": "gzip, br"}) as stream:
        headers = stream.response.headers
        await stream.rest()
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["cache-control"] == "no-cache, no-transform"
    assert headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in headers
    assert "content-length" not in headers


async def test_the_headers_name_thread_run_and_message(client: Client) -> None:
    async with client.chat({"thread_id": "t1", "message": "Hi"}) as stream:
        headers = stream.response.headers
        events = await stream.rest()
    assert headers["x-thread-id"] == "t1"
    assert events[0].id == f"{headers['x-run-id']}:1"
    assert len(headers["x-run-id"]) == 11
    user, assistant = (await client.thread("t1"))["messages"]
    assert user["id"] == headers["x-message-id"]
    assert assistant["id"] == events[0].data["messageId"]


async def test_a_message_without_a_thread_starts_one(client: Client) -> None:
    first, _ = await client.turn({"message": "Hi"})
    second, _ = await client.turn({"message": "Hi"})
    assert first != second
    for thread_id in (first, second):
        assert len((await client.thread(thread_id))["messages"]) == 2


async def test_a_thread_id_that_is_new_starts_that_thread(client: Client) -> None:
    thread_id, _ = await client.turn({"thread_id": "my-own_id", "message": "Hi"})
    assert thread_id == "my-own_id"
    await client.turn({"thread_id": "my-own_id", "message": "Again"})
    assert len((await client.thread("my-own_id"))["messages"]) == 4


async def test_a_client_may_name_its_message_once(client: Client) -> None:
    body = {"thread_id": "t1", "message": {"id": "mine", "parts": [TEXT]}}
    async with client.chat(body) as stream:
        assert stream.response.headers["x-message-id"] == "mine"
        await stream.rest()
    answer = await client.http.post("/chat", json=body)
    assert problem(answer)[:2] == (409, "message_exists")


async def test_an_address_that_is_not_there_is_a_problem_too(client: Client) -> None:
    assert problem(await client.http.get("/nothing/here"))[:2] == (404, "not_found")
    assert problem(await client.http.get("/threads/none"))[:2] == (404, "thread_not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/chat", {"POST"}),
        ("POST", "/chat/t1/stream", {"GET", "HEAD"}),
        ("GET", "/chat/t1/stop", {"POST"}),
        ("GET", "/tools/calculator", {"POST"}),
        ("POST", "/tools", {"GET", "HEAD"}),
        ("POST", "/threads/t1", {"GET", "HEAD", "PATCH", "DELETE"}),
        ("POST", "/", {"GET", "HEAD"}),
    ],
)
async def test_another_method_is_a_405_that_names_the_right_one(
    client: Client, method: str, path: str, allowed: set[str]
) -> None:
    answer = await client.http.request(method, path)
    status, code, detail = problem(answer)
    assert (status, code) == (405, "method_not_allowed")
    assert all(name in detail for name in allowed)


@pytest.mark.parametrize(
    "path", ["/unheard-of", "/threads/t1/no", "/@0123456789ab/no.js", "/" + "a" * 300, "/%00x"]
)
async def test_nothing_is_at_an_unknown_address_whatever_the_method(
    client: Client, path: str
) -> None:
    for method in ("GET", "POST", "DELETE"):
        answer = await client.http.request(method, path)
        assert problem(answer)[:2] == (404, "not_found")
