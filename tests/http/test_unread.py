"""Large responses that nobody reads: they hold a bounded part of the server's memory."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.serving import Client, serving, settings
from tests.support.users import client_of, keys_settings
from tests.support.waiting import until
from turnstream.server.connections import Connection
from turnstream.server.http.unread import PIECE_BYTES
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool

TEXT = "x" * 6_000_000
"""More than a kernel keeps for a connection of this machine's own."""
LIMITS = {"max_message_chars": 6_000_000, "max_responses_bytes": 8_000_000}
THREAD = "long"


@asynccontextmanager
async def unread(client: Client, path: str, body: Any = None) -> AsyncIterator[None]:
    """A client that asks and reads nothing of the answer."""
    host, port = client.http.base_url.host, client.http.base_url.port
    method, content = ("GET", b"") if body is None else ("POST", json.dumps(body).encode())
    given = {
        "Host": f"{host}:{port}",
        "Content-Type": "application/json",
        "Content-Length": len(content),
        "Authorization": client.http.headers.get("Authorization", ""),
    }
    head = "\r\n".join(f"{name}: {value}" for name, value in given.items() if value)
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect((host, port))
        reader.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n\r\n".encode() + content)
        yield


def held(client: Client) -> int:
    assert client.state is not None
    return client.state["unread"].held


def full(client: Client) -> AbstractContextManager[None]:
    """No room for a large response."""
    assert client.state is not None
    return client.state["unread"].holding(200_000_000, "local")


def largest_buffer(client: Client) -> int:
    """Bytes in the connection that has most of them."""
    assert client.server is not None
    connections = client.server.server_state.connections
    transports = [one.transport for one in connections if isinstance(one, Connection)]
    return max(transport.get_write_buffer_size() for transport in transports)


async def is_refused(client: Client, path: str, body: Any = None) -> bool:
    method = "GET" if body is None else "POST"
    answer = await client.http.request(method, path, json=body)
    if answer.status_code == 200:
        return False
    assert (answer.status_code, answer.json()["limit"]) == (503, "max_responses_bytes")
    return bool(answer.headers["retry-after"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def long(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """A server with a long thread."""
    given = settings(tmp_path_factory.mktemp("long") / "t.db", **LIMITS)
    async with serving(given) as client:
        await client.turn({"thread_id": THREAD, "message": TEXT})
        yield client


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"/threads/{THREAD}", None),
        (f"/threads/{THREAD}?protocol=ui-message-stream", None),
        (f"/threads/{THREAD}?protocol=assistant-transport", None),
        (f"/langgraph/threads/{THREAD}", None),
        (f"/langgraph/threads/{THREAD}/state", None),
        (f"/langgraph/threads/{THREAD}/history", {"limit": 1}),
    ],
)
async def test_what_waits_for_a_reader_has_a_limit(
    long: Client, path: str, body: dict[str, Any] | None
) -> None:
    async with unread(long, path, body):
        await until(lambda: held(long) > len(TEXT))
        assert largest_buffer(long) < 2 * PIECE_BYTES
        assert await is_refused(long, path, body)
        assert (await long.http.get("/threads")).status_code == 200
    await until(lambda: held(long) == 0)
    assert not await is_refused(long, path, body)


@pytest.mark.full
async def test_a_caller_has_a_share_of_the_room_and_another_is_served(tmp_path: Path) -> None:
    given = keys_settings(tmp_path, **{**LIMITS, "max_responses_bytes": 16_000_000})
    async with (
        serving(given) as client,
        client_of(client, "ann") as ann,
        client_of(client, "bob") as bob,
    ):
        for caller in (ann, bob):
            await caller.turn({"thread_id": THREAD, "message": TEXT})
        async with unread(ann, f"/threads/{THREAD}"):
            await until(lambda: held(client) > len(TEXT))
            assert await is_refused(ann, f"/threads/{THREAD}")
            refusal = await ann.http.get(f"/threads/{THREAD}")
            assert "Each caller may use at once 2000000 bytes of" in refusal.json()["detail"]
            assert not await is_refused(bob, f"/threads/{THREAD}")


async def test_an_export_says_for_which_threads_there_was_no_room(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", **LIMITS)) as client:
        await client.turn({"thread_id": THREAD, "message": TEXT})
        await client.turn({"thread_id": "short", "message": "Hi"})
        async with unread(client, f"/threads/{THREAD}"):
            await until(lambda: held(client) > len(TEXT))
            lines = (await client.http.get("/export")).text.splitlines()
            short, long = (json.loads(line) for line in lines)
            assert (short["id"], len(short["messages"])) == ("short", 2)
            assert (long["id"], long["messages"]) == (THREAD, [])
            assert long["error"]["code"] == "limit_reached"
        await until(lambda: held(client) == 0)
        async with unread(client, "/export"):
            await until(lambda: held(client) > len(TEXT))
            assert largest_buffer(client) < 2 * PIECE_BYTES


@pytest.mark.full
async def test_the_thread_ahead_of_a_stream_needs_room_too(tmp_path: Path) -> None:
    """AG-UI and LangGraph's SDK get the thread first when they attach."""
    async with serving(settings(tmp_path / "t.db", **LIMITS)) as client:
        _, events = await client.turn({"thread_id": THREAD, "message": TEXT})
        assert events
        cursor = events[0].id
        assert cursor
        start = f"/chat/{THREAD}/stream?protocol=ag-ui&last_event_id={cursor.split(':')[0]}:0"
        async with unread(client, start):
            await until(lambda: held(client) > len(TEXT))
            assert largest_buffer(client) < 2 * PIECE_BYTES
            assert await is_refused(client, start)
        await until(lambda: held(client) == 0)
        assert TEXT in (await client.http.get(start)).text


@pytest.mark.parametrize("length", [5, 200_000, 3_000_000])
async def test_a_call_that_has_been_made_is_answered_without_room(
    tmp_path: Path, length: int
) -> None:
    paid: list[int] = []

    @real_tool(client_fields=["receipt"])
    def pay(amount: int) -> dict[str, str]:
        """Pay.

        Args:
            amount: how much
        """
        paid.append(amount)
        return {"receipt": "x" * length}

    own = settings(tmp_path / "t.db", max_result_bytes=4_000_000)
    async with serving(own, Catalogue((pay,), ())) as client:
        with full(client):
            answer = await client.http.post("/tools/pay", json={"amount": 5})
        assert (answer.status_code, len(answer.json()["result"]["receipt"])) == (200, length)
        assert (paid, held(client)) == ([5], 0)


@pytest.mark.parametrize("path", ["/ag-ui", "/langgraph/threads/long/runs/stream"])
async def test_a_run_begins_without_a_stream_if_there_is_no_room_for_its_thread(
    tmp_path: Path, path: str
) -> None:
    said = {"id": "u2", "role": "user", "content": "Hello"}
    body = {
        "/ag-ui": {"threadId": THREAD, "runId": "r2", "messages": [said]},
        "/langgraph/threads/long/runs/stream": {
            "assistant_id": "chat",
            "input": {"messages": [{"type": "human", "content": "Hello", "id": "u2"}]},
        },
    }[path]
    own = settings(tmp_path / "t.db", max_message_chars=200_000, max_open_streams=1)
    async with serving(own) as client:
        await client.turn({"thread_id": THREAD, "message": "x" * 200_000})
        with full(client):
            answer = await client.http.post(path, json=body)
            assert (answer.status_code, b"cursor_lost" in answer.content) == (200, True)
            run_id = answer.headers["x-run-id"]
            stream = f"/chat/{THREAD}/stream?last_event_id={run_id}:0"
            for format in ("ag-ui", "langgraph"):
                assert await is_refused(client, f"{stream}&protocol={format}")
        whole = await client.http.get(f"{stream}&protocol=ag-ui")
        assert (whole.status_code, "x" * 200_000 in whole.text) == (200, True)
        assert '"RUN_FINISHED"' in whole.text
        assert held(client) == 0
