"""Tools of MCP servers, by the servers' own library: a command, and an address."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import ToolException

from tests.support.samples import sample
from tests.support.serving import PROJECT
from tests.support.waiting import eventually, until
from turnstream.graphs import stored
from turnstream.graphs.execution import execute, limits_of
from turnstream.graphs.limits import Limits
from turnstream.tools.builtin import CATALOGUE
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import CatalogueError, approval_of
from turnstream.tools.mcp.configuration import read_servers
from turnstream.tools.mcp.joining import with_mcp_tools
from turnstream.tools.mcp.names import tool_name
from turnstream.tools.mcp.tools import ToolFailed

COMMAND = {"command": sys.executable, "args": ["-m", "tests.support.mcp_server"]}
STDIO: dict[str, Any] = {**COMMAND, "cwd": str(PROJECT)}
EMPTY = Catalogue((), ())


def file_of(folder: Path, **servers: Any) -> Path:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


@asynccontextmanager
async def joined(
    folder: Path, options: Mapping[str, Any] | None = None, catalogue: Catalogue = EMPTY
) -> AsyncIterator[Catalogue]:
    file = file_of(folder, t={**STDIO, "turnstream": options or {}})
    async with with_mcp_tools(catalogue, file) as tools:
        yield tools.current


async def called(catalogue: Catalogue, name: str, /, **args: Any) -> ToolMessage:
    call = {"type": "tool_call", "id": "c1", "name": name, "args": args}
    message = await catalogue.real_by_name[name].ainvoke(call)
    assert isinstance(message, ToolMessage)
    return message


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tools(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Catalogue]:
    """For tests that leave its server as it was: to start one takes a second."""
    async with joined(tmp_path_factory.mktemp("mcp")) as tools:
        yield tools


on_one_server = pytest.mark.asyncio(loop_scope="module")


async def test_tools_join_under_the_servers_name_with_one_session_for_all_calls(
    tmp_path: Path,
) -> None:
    async with joined(tmp_path) as tools:
        assert {"t_add", "t_count"} <= tools.real_by_name.keys()
        assert json.loads(str((await called(tools, "t_add", a=1, b=2)).content)) == {"result": 3}
        counts = [json.loads((await called(tools, "t_count")).text) for _ in range(3)]
        assert counts == [{"result": 1}, {"result": 2}, {"result": 3}]


async def test_a_client_sees_of_a_result_what_the_file_declares(tmp_path: Path) -> None:
    declared = {"weather": {"client_fields": ["city"]}, "pic*": {"client_fields": ["*"]}}
    async with joined(tmp_path, {"tools": declared}) as tools:
        weather = await called(tools, "t_weather", city="Rome")
        assert json.loads(weather.text)["station"] == "private"
        assert weather.artifact == {"city": "Rome"}
        assert (await called(tools, "t_add", a=1, b=2)).artifact == {"hidden": True}
        picture = await called(tools, "t_picture")
        assert picture.artifact["images"][0]["mime_type"] == "image/png"
        assert picture.artifact["images"][0]["data"] not in picture.text


@on_one_server
async def test_a_tool_that_its_server_calls_destructive_needs_an_approval(tools: Catalogue) -> None:
    assert approval_of(tools.real_by_name["t_erase"]) is True
    assert approval_of(tools.real_by_name["t_add"]) is False


async def test_the_file_says_which_tools_need_an_approval_and_which_are_left_out(
    tmp_path: Path,
) -> None:
    turned = {"*": {"approval": True}, "erase": {"approval": False}, "boom": {"allowed": False}}
    async with joined(tmp_path, {"tools": turned}) as tools:
        assert approval_of(tools.real_by_name["t_erase"]) is False
        assert approval_of(tools.real_by_name["t_add"]) is True
        assert "t_boom" not in tools.real_by_name


@on_one_server
async def test_what_an_exception_of_the_server_says_reaches_nobody(tools: Catalogue) -> None:
    with pytest.raises(ToolFailed) as raised:
        await called(tools, "t_boom")
    assert "sk-123" not in str(raised.value)


async def test_a_server_that_dies_in_a_call_is_there_again_at_the_next(tmp_path: Path) -> None:
    async with joined(tmp_path) as tools:
        with pytest.raises(ToolException, match="broke off"):
            await called(tools, "t_die")
        assert json.loads((await called(tools, "t_count")).text) == {"result": 1}
        assert (task := asyncio.current_task()) is not None
        assert task.cancelling() == 0


@on_one_server
async def test_a_call_that_is_cancelled_is_cancelled_on_the_server(
    tools: Catalogue, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    call = asyncio.create_task(called(tools, "t_hang", mark=str(mark)))
    await until((tmp_path / "mark.began").exists)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until((tmp_path / "mark.cancelled").exists)
    assert (await called(tools, "t_add", a=1, b=2)).text == '{"result": 3}'


async def test_a_tools_own_time_limit_ends_its_call_here_and_there(tmp_path: Path) -> None:
    options = {"tools": {"hang": {"timeout_seconds": 0.5}}}
    async with joined(tmp_path, options) as tools:
        hang, args = tools.real_by_name["t_hang"], {"mark": str(tmp_path / "mark")}
        call = ToolCall(type="tool_call", id="c1", name="t_hang", args=args)
        message = await execute(call, lambda: hang.ainvoke(call), limits_of(hang, Limits()))
        assert stored.end_of(message) == "timeout"
        await until((tmp_path / "mark.cancelled").exists)


@on_one_server
async def test_an_answer_that_is_too_large_is_refused(tools: Catalogue) -> None:
    with pytest.raises(ToolException, match="larger than 4000000 characters"):
        await called(tools, "t_large", size=5_000_000)


@pytest.mark.long
async def test_calls_leave_nothing_behind(tmp_path: Path) -> None:
    before = len(asyncio.all_tasks())
    async with joined(tmp_path) as tools:
        await called(tools, "t_count")
        during = len(asyncio.all_tasks())
        for number in range(sample(1000, 50)):
            answer = await called(tools, "t_count")
            assert json.loads(answer.text) == {"result": number + 2}, "the same process"
        assert len(asyncio.all_tasks()) == during
    assert len(asyncio.all_tasks()) == before


async def test_a_name_that_is_taken_gets_a_suffix_and_is_called_by_its_own(tmp_path: Path) -> None:
    async with joined(tmp_path) as first, joined(tmp_path, catalogue=first) as both:
        second = tool_name("t", "add", ["t"], ["t_add"])
        assert {"t_add", second} <= both.real_by_name.keys()
        assert (await called(both, second, a=1, b=2)).text == '{"result": 3}'
        odd = tool_name("t", "odd name!", ["t"], [])
        assert json.loads((await called(first, odd)).text) == {"result": "odd"}


@asynccontextmanager
async def by_address(module: str = "tests.support.mcp_server", **more: str) -> AsyncIterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, str(port)),
        cwd=PROJECT,
        env={**os.environ, **more},
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await eventually(lambda: is_listening(port))
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def is_listening(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def test_a_server_at_an_address_is_called_the_same_way(tmp_path: Path) -> None:
    async with by_address() as url:
        file = file_of(tmp_path, far={"url": url, "type": "http"})
        async with with_mcp_tools(CATALOGUE, file) as joined:
            tools = joined.current
            assert (await called(tools, "far_add", a=1, b=2)).text == '{"result": 3}'
            with pytest.raises(ToolException, match="broke off"):
                await called(tools, "far_die")
            with pytest.raises(ToolException, match="cannot be reached"):
                await called(tools, "far_add", a=1, b=2)


async def test_a_server_that_is_down_keeps_ours_from_starting_unless_it_is_optional(
    tmp_path: Path,
) -> None:
    down = {"url": "http://127.0.0.1:1/mcp"}
    with pytest.raises(CatalogueError, match=r"'far' cannot be had: .*optional"):
        async with with_mcp_tools(EMPTY, file_of(tmp_path, far=down)):
            pass
    file = file_of(tmp_path, far={**down, "turnstream": {"optional": True}}, t=STDIO)
    async with with_mcp_tools(EMPTY, file) as tools:
        assert "t_add" in tools.current.real_by_name
        assert not [name for name in tools.current.real_by_name if name.startswith("far")]


FAULTS: list[tuple[Any, str]] = [
    ("{", "not valid JSON"),
    ([], "the file"),
    ({}, "mcpServers: Field required"),
    ({"mcpServers": {"a": {}}}, "mcpServers.a: give it a command, or a url"),
    ({"mcpServers": {"a": {"command": "x", "url": "y"}}}, "a command, or a url"),
    ({"mcpServers": {"a": {"url": "y", "type": "sse"}}}, "'sse' is not served"),
    ({"mcpServers": {"a": {"command": "x", "args": "y"}}}, "mcpServers.a.args"),
    ({"mcpServers": {"a": {"command": "x", "turnstream": {"x": 1}}}}, "mcpServers.a.turnstream.x"),
    (
        {"mcpServers": {"a": {"command": "x", "env": {"K": "${NOT_SET}"}}}},
        "mcpServers.a.env.K names ${NOT_SET}, which is not set",
    ),
    ({"mcpServers": {"a": {"url": "example.org/mcp"}}}, "write it as http://host/path"),
    ({"mcpServers": {"a": {"url": "ftp://example.org"}}}, "write it as http://host/path"),
    ({"mcpServers": {"a": {"url": "http://example.org:99999/"}}}, "write it as http://host/path"),
    (
        {"mcpServers": {"a": {"url": "http://x", "headers": {"A b": "c"}}}},
        "mcpServers.a.headers: 'A b' is not the name of a header",
    ),
    (
        {
            "mcpServers": {
                "a": {
                    "url": "http://x",
                    "headers": {"x-user": "all"},
                    "turnstream": {"forward": {"X-User": "{identity}"}},
                }
            }
        },
        "'x-user' is in headers and in forward",
    ),
]


@pytest.mark.parametrize(("content", "sentence"), FAULTS)
def test_a_fault_of_the_file_is_one_line_with_its_place(
    content: Any, sentence: str, tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(CatalogueError) as raised:
        read_servers(file, {})
    assert sentence in str(raised.value)
    assert "TURNSTREAM_MCP: mcp.json: " in str(raised.value)


@pytest.mark.parametrize("token", ["hush\n", "hush\r\nX-Other: 1", "hush ", "hüsh", "hu\0sh"])
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(
    token: str, tmp_path: Path
) -> None:
    server = {"url": "http://x", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    with pytest.raises(CatalogueError, match="the value of Authorization holds") as raised:
        read_servers(file_of(tmp_path, far=server), {"TOKEN": token})
    assert token not in str(raised.value)
    assert "Bearer" not in str(raised.value)


def test_variables_are_taken_from_the_environment(tmp_path: Path) -> None:
    server = {
        "url": "https://${HOST:-example.org}/mcp",
        "headers": {"Authorization": "Bearer ${TOKEN}"},
    }
    off = {"command": "x", "disabled": True}
    servers = read_servers(file_of(tmp_path, far=server, off=off), {"TOKEN": "t"})
    assert [*servers] == ["far"]
    assert servers["far"].url == "https://example.org/mcp"
    assert servers["far"].headers == {"Authorization": "Bearer t"}
