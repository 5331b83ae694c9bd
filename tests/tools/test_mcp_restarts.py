"""Servers of the MCP SDK at an address: restarted, behind a gateway, or away."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import ToolException
from mcp.client import streamable_http
from mcp.server import MCPServer

from tests.support.mcp_restarts import RestartedServer
from tests.support.waiting import until
from tests.tools.test_mcp import EMPTY, called, file_of
from turnstream.tools.current import CurrentCatalogue
from turnstream.tools.mcp import notifications, servers
from turnstream.tools.mcp.joining import with_mcp_tools

KINDS: dict[str, dict[str, Any]] = {
    "sse": {},
    "json": {"json_response": True},
    "stateless": {"stateless_http": True},
    "stateless-json": {"stateless_http": True, "json_response": True},
    "no-stream": {"refuses_streams": True},
    "without-sessions": {"is_old": False},
    "without-sessions-json": {"is_old": False, "json_response": True},
}
WITH_STREAM = ["sse", "json", "without-sessions"]
"""Kinds that keep a stream open: the client sees it break."""


class Tools:
    """`runs` has the calls that ran, in all processes of the server; `added` is a tool that it has
    from its next start on."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.added: str | None = None
        self.began = asyncio.Event()

    def make(self) -> MCPServer:
        server = MCPServer("restarted")

        def ping(name: str) -> str:
            self.runs.append(name)
            return name

        async def hang() -> str:
            self.runs.append("hang")
            self.began.set()
            await asyncio.Event().wait()
            return "never"

        server.add_tool(ping)
        server.add_tool(hang)
        if self.added:
            server.add_tool(ping, name=self.added)
        return server


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pauses before what is tried again."""
    monkeypatch.setattr(servers, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(servers, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(servers, "MAX_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(notifications, "RELISTEN_SECONDS", 0.01)
    monkeypatch.setattr(streamable_http, "DEFAULT_RECONNECTION_DELAY_MS", 10)


@asynccontextmanager
async def playing(
    make: Callable[[], MCPServer], kind: str, folder: Path, **options: Any
) -> AsyncIterator[tuple[RestartedServer, CurrentCatalogue]]:
    async with RestartedServer(make, **KINDS[kind]) as server:
        file = file_of(folder, far={"url": server.url, "turnstream": options})
        async with with_mcp_tools(EMPTY, file) as current:
            yield server, current


@pytest.mark.parametrize("kind", KINDS)
async def test_calls_at_a_restart_each_run_once_in_one_new_session(
    kind: str, tmp_path: Path
) -> None:
    tools = Tools()
    async with playing(tools.make, kind, tmp_path) as (server, current):
        await called(current.current, "far_ping", name="before")
        await server.restart()
        names = [f"call{number}" for number in range(5)]
        await asyncio.gather(*(called(current.current, "far_ping", name=name) for name in names))
        assert sorted(tools.runs) == ["before", *names]
        assert server.initialized == (0 if "without" in kind else 1 if "less" in kind else 2)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_call_that_a_restart_interrupts_fails_and_is_not_made_again(
    kind: str, tmp_path: Path
) -> None:
    tools = Tools()
    async with playing(tools.make, kind, tmp_path) as (server, current):
        call = asyncio.create_task(called(current.current, "far_hang"))
        await tools.began.wait()
        await server.restart()
        with pytest.raises(ToolException, match="broke off"):
            await call
        await called(current.current, "far_ping", name="after")
        assert tools.runs == ["hang", "after"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_gateway_without_its_server_is_a_clear_error_until_the_server_is_back(
    kind: str, status: int, tmp_path: Path
) -> None:
    tools = Tools()
    async with playing(tools.make, kind, tmp_path) as (server, current):
        server.gateway = status
        with pytest.raises(ToolException, match="not available at present; the call may have run"):
            await called(current.current, "far_ping", name="lost")
        await server.restart()
        server.gateway = None
        await called(current.current, "far_ping", name="found")
        assert tools.runs == ["found"]


@pytest.mark.parametrize("kind", ["stateless", "without-sessions"])
async def test_a_gateway_that_has_lost_the_way_to_its_server_is_a_clear_error_too(
    kind: str, tmp_path: Path
) -> None:
    tools = Tools()
    async with playing(tools.make, kind, tmp_path) as (server, current):
        server.gateway = 404
        with pytest.raises(ToolException, match="not available at present; the call may have run"):
            await called(current.current, "far_ping", name="lost")
        server.gateway = None
        await called(current.current, "far_ping", name="found")
        assert tools.runs == ["found"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_stays_away_is_a_clear_error_until_it_is_back(
    kind: str, tmp_path: Path
) -> None:
    tools = Tools()
    async with playing(tools.make, kind, tmp_path) as (server, current):
        await server.stop()
        for _ in range(2):
            with pytest.raises(ToolException, match="cannot be reached"):
                await called(current.current, "far_ping", name="lost")
        await server.start()
        await called(current.current, "far_ping", name="found")
        assert tools.runs == ["found"]


@pytest.mark.parametrize("kind", ["sse", "json", "no-stream"])
async def test_the_catalogue_follows_a_restart_that_a_call_comes_upon(
    kind: str, tmp_path: Path
) -> None:
    tools = Tools()
    async with playing(tools.make, kind, tmp_path) as (server, current):
        tools.added = "new"
        await server.restart()
        await called(current.current, "far_ping", name="after")
        await until(lambda: "far_new" in current.current.real_by_name)


@pytest.mark.parametrize("kind", WITH_STREAM)
async def test_the_catalogue_follows_a_restart_without_a_call(kind: str, tmp_path: Path) -> None:
    tools = Tools()
    async with playing(tools.make, kind, tmp_path) as (server, current):
        await until(lambda: server.streams)
        tools.added = "new"
        await server.restart()
        await until(lambda: "far_new" in current.current.real_by_name)


@pytest.mark.parametrize("kind", WITH_STREAM)
async def test_the_catalogue_follows_when_a_server_was_away(kind: str, tmp_path: Path) -> None:
    tools = Tools()
    async with playing(tools.make, kind, tmp_path) as (server, current):
        tools.added = "new"
        await server.stop()
        with pytest.raises(ToolException, match="cannot be reached"):
            await called(current.current, "far_ping", name="lost")
        await server.start()
        await until(lambda: "far_new" in current.current.real_by_name)


async def test_the_catalogue_follows_a_restart_that_a_callers_own_session_comes_upon(
    tmp_path: Path,
) -> None:
    tools = Tools()
    forward = {"forward": {"X-User": "{identity}"}}
    async with playing(tools.make, "no-stream", tmp_path, **forward) as (server, current):
        ann: RunnableConfig = {"configurable": {"langgraph_auth_user": {"identity": "ann"}}}
        ping = current.current.real_by_name["far_ping"]
        await ping.ainvoke(CALL, ann)
        tools.added = "new"
        await server.restart()
        await ping.ainvoke(CALL, ann)
        assert tools.runs == ["ann", "ann"]
        await until(lambda: "far_new" in current.current.real_by_name)


CALL = {"type": "tool_call", "id": "c1", "name": "far_ping", "args": {"name": "ann"}}
