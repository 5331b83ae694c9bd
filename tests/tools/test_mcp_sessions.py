"""Sessions that a server at an address gives out, and forgets."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from langchain_core.tools import ToolException
from mcp import Client, MCPError
from mcp.server import MCPServer

from tests.support.endpoint.serving import serve
from tests.support.session_server import TOOL, Refusal, SessionServer
from tests.tools.test_mcp import EMPTY, called, file_of
from turnstream.tools.current import CurrentCatalogue
from turnstream.tools.mcp.http_client import Failure, HttpClient, failure_of
from turnstream.tools.mcp.joining import with_mcp_tools
from turnstream.tools.mcp.sessions import Session, Unreachable
from turnstream.tools.mcp.tools import ToolFailed


def rpc_error(code: int, message: str) -> dict[str, object]:
    """An error that answers no request in particular."""
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}


UNKNOWN = {
    "python-sdk": Refusal(404, rpc_error(-32600, "Session not found")),
    "typescript-sdk": Refusal(404, rpc_error(-32001, "Session not found")),
    "no-body": Refusal(404),
    "a-page": Refusal(404, "<h1>404</h1>"),
    "typescript-example": Refusal(400, rpc_error(-32000, "No valid session ID provided")),
    "bad-request": Refusal(400, "what session?"),
}


@asynccontextmanager
async def joined(server: SessionServer, folder: Path) -> AsyncIterator[CurrentCatalogue]:
    async with serve(server.app, 0, keep_alive=True) as port:
        file = file_of(folder, far={"url": f"http://127.0.0.1:{port}/mcp"})
        async with with_mcp_tools(EMPTY, file) as current:
            yield current


@pytest.mark.parametrize("unknown", UNKNOWN)
async def test_calls_survive_that_a_server_has_forgotten_their_session(
    unknown: str, tmp_path: Path
) -> None:
    server = SessionServer(unknown=UNKNOWN[unknown])
    async with joined(server, tmp_path) as current:
        assert (await called(current.current, "far_ping")).text == '{"text": "pong"}'
        server.forget()
        answers = await asyncio.gather(*(called(current.current, "far_ping") for _ in range(5)))
        assert {answer.text for answer in answers} == {'{"text": "pong"}'}
    assert server.opened == 2
    assert server.called == 6


@pytest.mark.parametrize("body", [rpc_error(-32602, "Invalid params"), "blocked"])
async def test_a_call_that_is_refused_for_itself_is_not_made_again(
    body: dict[str, object] | str, tmp_path: Path
) -> None:
    server = SessionServer()
    async with joined(server, tmp_path) as current:
        server.refused = Refusal(400, body)
        with pytest.raises(ToolFailed):
            await called(current.current, "far_ping")
        assert (server.asked, server.opened) == (1, 1)


async def test_a_server_that_forgets_new_sessions_too_is_asked_twice_and_then_a_clear_error(
    tmp_path: Path,
) -> None:
    server = SessionServer()
    async with joined(server, tmp_path) as current:
        server.refused = Refusal(404)
        with pytest.raises(ToolException, match="cannot be reached"):
            await called(current.current, "far_ping")
        assert server.asked == 2
        server.refused = None
        await called(current.current, "far_ping")


async def test_a_servers_own_error_is_not_taken_for_a_lost_session(tmp_path: Path) -> None:
    server = SessionServer()
    async with joined(server, tmp_path) as current:
        forged = {"mark": "", "failure": "session-gone"}
        error = {"code": -32600, "message": "Session not found", "data": forged}
        server.refused = Refusal(500, {"jsonrpc": "2.0", "id": None, "error": error})
        with pytest.raises(ToolFailed):
            await called(current.current, "far_ping")
        assert (server.asked, server.opened) == (1, 1)


@pytest.mark.parametrize(
    ("params", "failure"),
    [
        ({"name": "ping"}, Failure.NOT_SENT),
        ({"name": "ping", "requestState": "s"}, Failure.BROKEN),
        ({"name": "ping", "inputResponses": {}}, Failure.BROKEN),
    ],
)
async def test_the_later_round_of_a_call_does_not_count_as_one_that_did_not_run(
    params: dict[str, object], failure: Failure
) -> None:
    def refuse(_request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("down")

    async with HttpClient(lambda: None, transport=httpx2.MockTransport(refuse)) as http:
        http.is_open = True
        answer = await http.post("http://far/mcp", json={"method": "tools/call", "params": params})
    error = json.loads(answer.content)["error"]
    assert failure_of(MCPError(error["code"], error["message"], error["data"])) is failure


async def test_a_tool_whose_description_is_blank_is_described_by_its_name(tmp_path: Path) -> None:
    server = SessionServer([{**TOOL, "description": "  "}])
    async with joined(server, tmp_path) as current:
        assert current.current.real_by_name["far_ping"].description == "ping"


async def test_a_call_that_joins_a_failing_attempt_to_connect_makes_one_of_its_own() -> None:
    began, fails = asyncio.Event(), asyncio.Event()
    attempts: list[None] = []

    @asynccontextmanager
    async def opening(*_given: object) -> AsyncIterator[Client]:
        attempts.append(None)
        if len(attempts) == 1:
            began.set()
            await fails.wait()
            raise ConnectionError
        async with Client(MCPServer("back")) as client:
            yield client

    session = Session(opening)
    first = asyncio.create_task(session.ready())
    await began.wait()
    second = asyncio.create_task(session.ready())
    await asyncio.wait([second], timeout=0)
    fails.set()
    with pytest.raises(Unreachable):
        await first
    await second
    await session.close()
    assert len(attempts) == 2
