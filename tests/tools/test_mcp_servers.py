"""MCP servers that change, hang, come late, answer nonsense or list what cannot be used."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import ToolException
from mcp import Client
from mcp.client.subscriptions import Subscription

from tests.support.child_processes import children_of, command_of
from tests.support.mcp_raw_server import LOOP, TREE, tool
from tests.support.samples import sample
from tests.support.serving import PROJECT
from tests.support.waiting import until
from tests.tools.test_mcp import STDIO, by_address, called, file_of, joined
from turnstream.graphs.factories import AUTH_USER
from turnstream.server.callers.principal import Principal
from turnstream.server.runs.graph_user import GraphUser
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import ALL_FIELDS
from turnstream.tools.current import CurrentCatalogue
from turnstream.tools.mcp import servers, sessions
from turnstream.tools.mcp.configuration import read_servers
from turnstream.tools.mcp.joining import with_mcp_tools
from turnstream.tools.mcp.names import tool_name
from turnstream.tools.mcp.tools import ToolFailed

EMPTY = Catalogue((), ())
EVERYTHING = {"tools": {"*": {"client_fields": [ALL_FIELDS]}}}


def raw_server(folder: Path, listed: Sequence[Mapping[str, Any]], *more: str) -> dict[str, Any]:
    """How to start the hand-written server with these tools."""
    tools = folder / "tools.json"
    tools.write_text(json.dumps(listed))
    args = ["-m", "tests.support.mcp_raw_server", str(tools), *more]
    return {"command": sys.executable, "args": args, "cwd": str(PROJECT)}


@asynccontextmanager
async def raw(
    folder: Path, listed: Sequence[Mapping[str, Any]], **options: Any
) -> AsyncIterator[CurrentCatalogue]:
    """The hand-written server as `r`, with these tools."""
    file = file_of(folder, r={**raw_server(folder, listed), "turnstream": options})
    async with with_mcp_tools(EMPTY, file) as current:
        yield current


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause between two lists, and none before the next try."""
    monkeypatch.setattr(servers, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(servers, "RETRY_SECONDS", 0.01)


@pytest.mark.usefixtures("at_once")
async def test_tools_that_a_server_adds_and_takes_away_come_and_go(tmp_path: Path) -> None:
    async with with_mcp_tools(EMPTY, file_of(tmp_path, t=STDIO)) as current:
        before = current.current
        await called(before, "t_grow", name="more")
        await until(lambda: "t_more" in current.current.real_by_name)
        assert "t_more" not in before.real_by_name, "who has taken the catalogue keeps it"
        assert (await called(current.current, "t_more", a=1, b=2)).text == '{"result": 3}'
        await called(before, "t_shrink", name="more")
        await until(lambda: "t_more" not in current.current.real_by_name)


@pytest.mark.usefixtures("at_once")
async def test_tools_come_and_go_by_http_too(tmp_path: Path) -> None:
    async with (
        by_address() as url,
        with_mcp_tools(EMPTY, file_of(tmp_path, far={"url": url})) as current,
    ):
        await called(current.current, "far_grow", name="more")
        await until(lambda: "far_more" in current.current.real_by_name)


@pytest.mark.usefixtures("at_once")
async def test_a_tool_that_is_added_before_changes_are_told_comes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listen, has_grown = Client.listen, asyncio.Event()

    @asynccontextmanager
    async def listen_late(client: Client, **asked: Any) -> AsyncIterator[Subscription]:
        await has_grown.wait()
        async with listen(client, **asked) as events:
            yield events

    monkeypatch.setattr(Client, "listen", listen_late)
    async with (
        by_address() as url,
        with_mcp_tools(EMPTY, file_of(tmp_path, far={"url": url})) as current,
    ):
        await called(current.current, "far_grow", name="more")
        has_grown.set()
        await until(lambda: "far_more" in current.current.real_by_name)


@pytest.mark.usefixtures("at_once")
async def test_a_server_of_an_older_protocol_tells_of_changes_too(tmp_path: Path) -> None:
    async with raw(tmp_path, [tool("tell")]) as current:
        (tmp_path / "tools.json").write_text(json.dumps([tool("tell"), tool("new")]))
        await called(current.current, "r_tell")
        await until(lambda: "r_new" in current.current.real_by_name)


@pytest.mark.usefixtures("at_once")
async def test_an_optional_server_that_comes_late_joins(tmp_path: Path) -> None:
    folder = tmp_path / "late"
    late = {**STDIO, "cwd": str(folder), "env": {"PYTHONPATH": str(PROJECT)}}
    file = file_of(tmp_path, t={**late, "turnstream": {"optional": True}})
    async with with_mcp_tools(EMPTY, file) as current:
        assert current.current.real == ()
        folder.mkdir()
        await until(lambda: "t_add" in current.current.real_by_name)


async def test_a_server_that_died_between_two_calls_is_started_again_by_the_next(
    tmp_path: Path,
) -> None:
    async with joined(tmp_path) as tools:
        kept = len(asyncio.all_tasks())
        os.kill(mcp_servers()[0], signal.SIGKILL)
        await until(lambda: len(asyncio.all_tasks()) < kept)
        assert json.loads((await called(tools, "t_count")).text) == {"result": 1}


async def test_a_server_that_hangs_is_started_anew_by_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "PROBE_SECONDS", 0.2)
    async with raw(tmp_path, [tool("block"), tool("echo")]) as current:
        mark = tmp_path / "mark"
        call = asyncio.create_task(called(current.current, "r_block", mark=str(mark)))
        await until(mark.exists)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        answer = await called(current.current, "r_echo", a=1)
        assert json.loads(answer.text) == {"text": '{"a": 1}'}


async def test_lines_that_are_not_json_end_no_call(tmp_path: Path) -> None:
    async with raw(tmp_path, [tool("noise")]) as current:
        assert json.loads((await called(current.current, "r_noise")).text) == {"text": "{}"}


async def test_an_answer_that_is_not_valid_is_a_clear_error(tmp_path: Path) -> None:
    async with raw(tmp_path, [tool("nonsense"), tool("echo")]) as current:
        with pytest.raises(ToolException, match="answered what is not valid"):
            await called(current.current, "r_nonsense")
        await called(current.current, "r_echo")


async def test_what_a_server_says_of_errors_is_shown_where_the_file_says_so(
    tmp_path: Path,
) -> None:
    async with raw(tmp_path, [tool("refused")]) as current:
        with pytest.raises(ToolFailed) as raised:
            await called(current.current, "r_refused")
        assert "sk-456" not in str(raised.value)
    async with raw(tmp_path, [tool("refused")], error_texts=True) as current:
        with pytest.raises(ToolException, match="sk-456 is wrong"):
            await called(current.current, "r_refused")


async def test_a_command_that_answers_with_an_error_goes_on_whatever_the_error_says(
    tmp_path: Path,
) -> None:
    async with raw(tmp_path, [tool("failed"), tool("process")]) as current:
        before = (await called(current.current, "r_process")).text
        with pytest.raises(ToolFailed):
            await called(current.current, "r_failed")
        assert (await called(current.current, "r_process")).text == before


async def test_tools_whose_schemas_cannot_be_used_are_left_out_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    listed = [tool("loop", LOOP), tool("tree", TREE), tool("plain"), tool("plain")]
    async with raw(tmp_path, listed) as current:
        assert current.current.real_by_name.keys() == {"r_tree", "r_plain"}
        assert current.current.real_by_name["r_plain"].description, "a blank one is filled"
        await called(current.current, "r_tree", a=[[], [[]]])
    said = [r.getMessage() for r in caplog.records]
    assert any("r_loop" in line and "circle" in line for line in said)
    assert any("r_plain" in line and "twice" in line for line in said)


async def test_tools_that_a_server_lists_wrongly_are_left_out_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wrong: list[Any] = [
        {"name": "without_schema"},
        {"name": "listed_schema", "inputSchema": []},
        {"name": "typeless_schema", "inputSchema": {"type": 5}},
        {"name": "wrong_hints", "inputSchema": {"type": "object"}, "annotations": "none"},
        {"name": 7, "inputSchema": {"type": "object"}},
        {"inputSchema": {"type": "object"}},
        None,
        tool(" "),
        tool("", description=" "),
    ]
    async with raw(tmp_path, [*wrong, tool("plain")]) as current:
        assert [*current.current.real_by_name] == ["r_plain"]
        await called(current.current, "r_plain")
    said = [r.getMessage() for r in caplog.records if "is left out" in r.getMessage()]
    assert len(said) == len(wrong)
    assert any("'listed_schema'" in line and "inputSchema" in line for line in said)


async def test_tools_for_a_servers_user_interface_are_not_offered(tmp_path: Path) -> None:
    listed = [
        tool("draw", _meta={"ui": {"visibility": ["app"]}}),
        tool("both", _meta={"ui": {"visibility": ["model", "app"]}}),
        tool("plain", _meta={"ui": {"resourceUri": "ui://here"}}),
    ]
    async with raw(tmp_path, listed) as current:
        assert current.current.real_by_name.keys() == {"r_both", "r_plain"}


async def test_five_hundred_tools_join_and_each_can_be_called(tmp_path: Path) -> None:
    async with raw(tmp_path, [tool(f"tool{n}") for n in range(500)]) as current:
        assert len(current.current.real) == 500
        await called(current.current, "r_tool499")


async def test_structured_content_goes_before_text_and_resources_are_what_they_are(
    tmp_path: Path,
) -> None:
    options = {"tools": {"*": {"client_fields": ["a", "resources"]}}}
    async with raw(tmp_path, [tool("structured"), tool("resources")], **options) as current:
        answer = await called(current.current, "r_structured")
        assert (json.loads(answer.text), answer.artifact) == ({"a": 1, "b": 2}, {"a": 1})
        answer = await called(current.current, "r_resources")
        text, blob = answer.artifact["resources"]
        assert text == {"uri": "file:///a.txt", "mime_type": "text/plain", "text": "Ahoy"}
        assert blob == {"uri": "file:///b.bin", "blob": "AAAA"}
        assert "Ahoy" in answer.text
        assert "AAAA" not in answer.text


async def test_a_server_is_told_who_calls_each_caller_in_a_session_of_their_own(
    tmp_path: Path,
) -> None:
    options = {"forward": {"X-User": "{identity}"}, **EVERYTHING}
    async with by_address() as url:
        file = file_of(tmp_path, far={"url": url, "turnstream": options})
        async with with_mcp_tools(EMPTY, file) as current:
            who = current.current.real_by_name["far_who"]

            async def asked(identity: str) -> str:
                return str((await who.ainvoke(CALL, of(identity))).artifact["user"])

            names = ["ann", "böb\r\nX-Admin: 1", "ann"]
            assert [await asked(name) for name in names] == [
                "ann",
                "b%C3%B6b%0D%0AX-Admin:%201",
                "ann",
            ]


async def test_a_server_gets_the_callers_own_token_and_no_call_of_whoever_has_none(
    tmp_path: Path,
) -> None:
    options = {"forward": {"X-User": "Bearer {token}"}, **EVERYTHING}
    async with by_address() as url:
        file = file_of(tmp_path, far={"url": url, "turnstream": options})
        async with with_mcp_tools(EMPTY, file) as current:
            who = current.current.real_by_name["far_who"]
            ann = Principal("ann", method="token", token="a.b.c")
            told = await who.ainvoke(CALL, {"configurable": {AUTH_USER: GraphUser.of(ann)}})
            assert told.artifact["user"] == "Bearer a.b.c"
            with pytest.raises(ToolException, match="this caller has none"):
                await who.ainvoke(CALL, of("ann"))
            assert "a.b.c" not in repr((ann, dict(GraphUser.of(ann)), GraphUser.of(ann)))


CALL = {"type": "tool_call", "id": "c1", "name": "who", "args": {}}


def of(identity: str) -> RunnableConfig:
    """The config of a call of this user."""
    return {"configurable": {"langgraph_auth_user": {"identity": identity}}}


@pytest.mark.long
async def test_sessions_of_many_callers_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "MAX_SESSIONS", 4)
    options = {"forward": {"X-User": "{identity}"}}
    async with by_address() as url:
        file = file_of(tmp_path, far={"url": url, "turnstream": options})
        async with with_mcp_tools(EMPTY, file) as current:
            who = current.current.real_by_name["far_who"]
            tasks = []
            for n in range(sample(200, 12)):
                await who.ainvoke(CALL, of(f"user{n}"))
                tasks.append(len(asyncio.all_tasks()))
            await until(lambda: len(asyncio.all_tasks()) <= tasks[4])


def test_a_name_never_comes_to_mean_another_tool() -> None:
    assert tool_name("fs", "read", ["fs"], []) == "fs_read"
    assert tool_name("a_b", "c", ["a", "a_b"], []) != tool_name("a", "b_c", ["a", "a_b"], [])
    dotted, plain = tool_name("fs", "read.all", ["fs"], []), tool_name("fs", "read_all", ["fs"], [])
    assert plain == "fs_read_all"
    assert dotted.startswith("fs_read_all_")
    long = {tool_name("fs", "x" * 80 + end, ["fs"], []) for end in "ab"}
    assert {len(name) for name in long} == {64}
    assert len(long) == 2


@pytest.mark.parametrize(
    "text", ["{password}", "plain", "{identity.__class__}", "{{identity}", "{"]
)
def test_a_header_can_tell_of_the_caller_what_is_said_of_them_and_no_more(
    text: str, tmp_path: Path
) -> None:
    forward = {"turnstream": {"forward": {"X-User": text}}}
    with pytest.raises(
        Exception, match=r"write \{identity\} or \{display_name\} or \{token\} into it"
    ):
        read_servers(file_of(tmp_path, a={"url": "http://x", **forward}), {})


def mcp_servers() -> list[int]:
    return [child for child in children_of("self") if b"mcp_server" in command_of(child)]
