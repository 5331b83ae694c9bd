"""Sessions that a server at an address gives out, and forgets."""

import asyncio
from pathlib import Path

from tests.support.endpoint.serving import serve
from tests.support.session_server import TOOL, SessionServer
from tests.tools.test_mcp import EMPTY, called, file_of
from turnstream.tools.mcp.joining import with_mcp_tools


async def test_calls_survive_that_a_server_has_forgotten_their_session(tmp_path: Path) -> None:
    server = SessionServer()
    async with serve(server.app, 0, keep_alive=True) as port:
        file = file_of(tmp_path, far={"url": f"http://127.0.0.1:{port}/mcp"})
        async with with_mcp_tools(EMPTY, file) as current:
            assert (await called(current.current, "far_ping")).text == '{"text": "pong"}'
            server.forget()
            answers = await asyncio.gather(*(called(current.current, "far_ping") for _ in range(5)))
            assert {answer.text for answer in answers} == {'{"text": "pong"}'}
    assert server.opened == 2


async def test_a_tool_whose_description_is_blank_is_described_by_its_name(tmp_path: Path) -> None:
    server = SessionServer([{**TOOL, "description": "  "}])
    async with serve(server.app, 0, keep_alive=True) as port:
        file = file_of(tmp_path, far={"url": f"http://127.0.0.1:{port}/mcp"})
        async with with_mcp_tools(EMPTY, file) as current:
            assert current.current.real_by_name["far_ping"].description == "ping"
