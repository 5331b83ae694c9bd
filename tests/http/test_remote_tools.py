"""Real tools of another server: one like ours, and one that does all that a server should not."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from httpcore._backends.auto import AutoBackend
from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool, ToolException

from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.forked_server import forked_server
from tests.support.serving import endpoint_settings, serving, settings
from tests.support.waiting import WAIT_SECONDS
from turnstream.graphs import stored
from turnstream.graphs.answers import client_view
from turnstream.graphs.classify import check_args
from turnstream.graphs.execution import execute
from turnstream.graphs.limits import Limits
from turnstream.server.__main__ import main
from turnstream.tools.catalogue import Catalogue, as_function
from turnstream.tools.contract import CatalogueError, real_tool
from turnstream.tools.remote import CONNECT_RETRIES, with_remote_tools
from turnstream.tools.ui import render_ui_component

ECHO = {
    "name": "echo",
    "kind": "real",
    "description": "Say a word back.",
    "parameters": {
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
    },
}
LISTED = json.dumps({"tools": [ECHO, {"name": "draw", "kind": "ui"}]}).encode()
NOWHERE = "http://127.0.0.1:9"
"""The port of `discard`: nobody listens there."""


# a server of bytes


def http(body: bytes, status: str = "200 OK", *headers: str, length: int | None = None) -> bytes:
    head = [
        f"HTTP/1.1 {status}",
        "Content-Type: application/json",
        f"Content-Length: {len(body) if length is None else length}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


class Nasty:
    """A server of tools that answers `GET /tools` with `listed` and a call with `called`, as raw
    bytes; None: it never answers."""

    def __init__(self, called: bytes | None, listed: bytes | None = None) -> None:
        self.called = called
        self.listed = http(LISTED) if listed is None else listed
        self.requests: list[str] = []
        self.url = ""
        self._open: set[asyncio.Task[None]] = set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._open.add(task)
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(head.split(b" HTTP")[0].decode())
        answer = self.listed if head.startswith(b"GET") else self.called
        if answer is None:
            await asyncio.Event().wait()
        else:
            writer.write(answer)
            await writer.drain()
        writer.close()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Nasty"]:
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for task in self._open:
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)
            await server.wait_closed()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.close()


@asynccontextmanager
async def joined(*urls: str, seconds: float = 5, most: int = 10_000) -> AsyncIterator[Catalogue]:
    """An own catalogue of one UI tool, with the tools of these servers."""
    own = Catalogue((), (render_ui_component,))
    async with with_remote_tools(own, urls, timeout_seconds=seconds, max_bytes=most) as found:
        yield found


async def remote_call(
    tool: BaseTool, args: dict[str, Any], seconds: float = WAIT_SECONDS
) -> ToolMessage:
    """A call of a tool as a run makes it."""
    call = ToolCall(type="tool_call", id="c1", name=tool.name, args=args)
    return await execute(call, partial(tool.ainvoke, call), Limits(tool_timeout_seconds=seconds))


async def refusal(nasty: Nasty, seconds: float = 5, most: int = 10_000) -> str:
    """What model and client are told of a call of the nasty server's tool."""
    async with nasty.listening(), joined(nasty.url, seconds=seconds, most=most) as found:
        message = await remote_call(found.real_by_name["echo"], {"word": "hi"}, seconds=seconds * 4)
        assert stored.end_of(message) == "error"
        error = client_view(message)["error"]
        assert error["code"] == "tool_error"
        assert nasty.url not in error["message"], "an address is nobody's business"
        assert nasty.requests == ["GET /tools", "POST /tools/echo"], "what was sent is not resent"
        sentence: str = error["message"]
        return sentence


def doubling(levels: int) -> dict[str, Any]:
    """A schema in which each definition refers twice to the next one."""
    twice = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {
        "type": "object",
        "properties": {"word": {"$ref": "#/$defs/a0"}},
        "$defs": {**twice, f"a{levels}": {"type": "string"}},
    }


async def test_a_schema_of_another_server_is_never_written_out() -> None:
    """With all its references written out, this one would not fit into any memory."""
    schema = doubling(60)
    listed = json.dumps({"tools": [ECHO | {"parameters": schema}]}).encode()
    async with Nasty(None, http(listed)).listening() as nasty, joined(nasty.url) as found:
        assert [tool["parameters"] for tool in found.describe() if tool["kind"] == "real"] == [
            schema
        ]
        tool = found.real_by_name["echo"]
        function = {"name": "echo", "description": ECHO["description"], "parameters": schema}
        assert as_function(tool) == {"type": "function", "function": function}
        check_args(tool, {"word": "hi"})
        with pytest.raises(ValueError, match=r"\$\.word: 7 is not of type string"):
            check_args(tool, {"word": 7})


async def test_tools_whose_calls_need_an_approval_there_are_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pay = ECHO | {"name": "pay", "approval": "always"}
    listed = json.dumps({"tools": [ECHO | {"approval": "never"}, pay]}).encode()
    async with Nasty(None, http(listed)).listening() as nasty, joined(nasty.url) as found:
        assert [*found.real_by_name] == ["echo"]
    assert "left out, since their calls need approvals: pay" in caplog.text


# a second real server


async def test_the_tools_of_another_server_join_the_catalogue(tmp_path: Path) -> None:
    """Under other names than ours, so the other server has a catalogue of its own."""
    async with other_server(tmp_path) as url:
        mine = settings(tmp_path / "mine.db", remote_tools=url)
        async with serving(mine) as client:
            names = [t["name"] for t in (await client.http.get("/tools")).json()["tools"]]
            assert "shout" in names
            assert "calculator" in names
            answer = await client.http.post("/tools/shout", json={"word": "hi"})
            assert answer.json()["result"] == {"word": "HI"}


async def test_a_remote_tool_runs_in_a_turn_and_its_secrets_stay_where_they_are(
    tmp_path: Path,
) -> None:
    async with other_server(tmp_path) as url, StrictEndpoint() as endpoint:
        endpoint.script(call_reply(("shout", '{"word":"hi"}')), text_reply("It said HI."))
        mine = endpoint_settings(tmp_path / "mine.db", endpoint, remote_tools=url)
        async with serving(mine) as client:
            _, events = await client.turn({"message": "Shout"})
            [result] = [event.data for event in events if event.type == "result"]
            assert result["result"] == {"word": "HI"}
        told = endpoint.requests[1]["messages"][-1]["content"]
        assert json.loads(told) == {"word": "HI"}, "the other server's clients see no more"
        assert endpoint.refused == []


async def test_what_the_other_server_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    async with other_server(tmp_path) as url, joined(url) as found:
        for args, words in (
            ({"word": "x"}, "No 'x' today."),
            ({"word": "fail"}, "The tool's server answered status 500 and no result."),
            ({"word": "wait"}, "The tool's server answered status 504 and no result."),
        ):
            message = await remote_call(found.real_by_name["shout"], args)
            assert client_view(message)["error"]["message"] == words
            assert "s3cret" not in message.model_dump_json()


async def test_arguments_are_checked_here_by_the_other_servers_schema(tmp_path: Path) -> None:
    nasty = Nasty(None)
    async with (
        nasty.listening(),
        serving(settings(tmp_path / "t.db", remote_tools=nasty.url)) as client,
    ):
        answer = await client.http.post("/tools/echo", json={"word": 1})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_arguments")
        assert nasty.requests == ["GET /tools"]


@real_tool(client_fields=["word"])
async def shout(word: str) -> dict[str, Any]:
    """Say a word loudly.

    Args:
        word: The word.
    """
    if word == "x":
        raise ToolException("No 'x' today.")
    if word == "fail":
        raise RuntimeError("s3cret")
    if word == "wait":
        await asyncio.Event().wait()
    return {"word": word.upper(), "secret": "s3cret"}


@asynccontextmanager
async def other_server(path: Path) -> AsyncIterator[str]:
    """Another turnstream, with one tool of its own."""
    tools = Catalogue((shout,), (render_ui_component,))
    async with serving(settings(path / "other.db", tool_timeout_seconds=0.2), tools) as client:
        yield str(client.http.base_url)


# a nasty one, at a call


@pytest.mark.parametrize(
    "called",
    [
        http(b"hello"),
        http(b""),
        http(b'{"result": {"value": NaN}}'),
        http(b'{"result": {"value": Infinity}}'),
        http(b'{"result": {"a": 1'),
        http(b"\xff\xfe\x00"),
        http(b"[" * 9000),
        http(b'{"result": [1, 2]}'),
        http(b'{"result": "text"}'),
        http(b'{"value": 1}'),
        http(b"[]"),
        http(b"null"),
        http(b"<html>Hello</html>"),
    ],
    ids=lambda raw: raw.partition(b"\r\n\r\n")[2][:20].decode("latin-1") or "empty",
)
async def test_an_answer_that_is_no_result_is_told_by_its_status(called: bytes) -> None:
    said = await refusal(Nasty(called))
    assert said == "The tool's server answered status 200 and no result."


async def test_a_page_of_html_is_not_repeated() -> None:
    page = b"<html><body>Traceback: s3cret at db.internal</body></html>"
    said = await refusal(Nasty(http(page, "500 Internal Server Error")))
    assert said == "The tool's server answered status 500 and no result."


async def test_the_detail_of_a_failure_there_is_not_repeated_either() -> None:
    body = b'{"detail": "s3cret at db.internal", "code": "x"}'
    said = await refusal(Nasty(http(body, "500 Internal Server Error")))
    assert said == "The tool's server answered status 500 and no result."


async def test_a_refusal_there_is_bounded_here() -> None:
    body = json.dumps({"detail": "no " * 2000}).encode()
    assert len(await refusal(Nasty(http(body, "422 Unprocessable")))) == 2000


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
async def test_a_redirect_is_not_followed(status: str) -> None:
    """It could lead into our own network."""
    elsewhere = Nasty(http(b'{"result": {"word": "stolen"}}'))
    async with elsewhere.listening():
        moved = http(b"", status, f"Location: {elsewhere.url}/tools/echo")
        said = await refusal(Nasty(moved))
        assert said == f"The tool's server answered status {status[:3]} and no result."
        assert elsewhere.requests == []


async def test_a_huge_answer_is_not_read_to_its_end() -> None:
    big = b'{"result": {"word": "' + b"x" * 50_000 + b'"}}'
    said = await refusal(Nasty(http(big)), most=10_000)
    assert said == "The tool's server answered more than 10000 bytes."


async def test_a_small_answer_that_unpacks_to_a_huge_one_is_not_unpacked() -> None:
    packed = gzip.compress(b'{"result": {"word": "' + b"x" * 5_000_000 + b'"}}')
    assert len(packed) < 10_000
    said = await refusal(Nasty(http(packed, "200 OK", "Content-Encoding: gzip")))
    assert said == "The tool's server answered status 200 and no result."


@pytest.mark.parametrize(
    "called",
    [
        http(b'{"result": {"word"', length=500),
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["in the body", "in the head", "at once", "another protocol", "a bad chunk"],
)
async def test_a_connection_that_breaks_off_is_told_so(called: bytes) -> None:
    assert await refusal(Nasty(called)) == "The connection to the tool's server broke off."


async def test_a_server_that_does_not_answer_is_told_so() -> None:
    said = await refusal(Nasty(None), seconds=0.2)
    assert said == "The tool's server did not answer in time."


async def test_a_server_that_does_not_answer_costs_a_run_no_more_than_a_tool_may(
    tmp_path: Path,
) -> None:
    nasty = Nasty(None)
    async with nasty.listening(), StrictEndpoint() as endpoint:
        endpoint.script(call_reply(("echo", '{"word":"hi"}')))
        mine = endpoint_settings(
            tmp_path / "t.db", endpoint, remote_tools=nasty.url, tool_timeout_seconds=0.3
        )
        async with serving(mine) as client:
            thread_id, events = await client.turn({"message": "Go"})
            [result] = [event.data for event in events if event.type == "result"]
            assert result["isError"]
            assert result["result"]["error"]["code"] in ("tool_timeout", "tool_error")
            assert events[-2].data["finishReason"] == "stop"
            await client.turn({"thread_id": thread_id, "message": "And now?"})


async def test_a_server_that_has_gone_down_is_told_so_and_may_come_back() -> None:
    nasty = Nasty(http(b'{"result": {"word": "hi"}}'))
    async with nasty.listening():
        port = int(nasty.url.rpartition(":")[2])
        catalogue = joined(nasty.url)
        found = await catalogue.__aenter__()
    try:
        tool = found.real_by_name["echo"]
        gone = await remote_call(tool, {"word": "hi"})
        error = {"code": "tool_error", "message": "The tool's server cannot be reached."}
        assert client_view(gone) == {"error": error}
        back = await asyncio.start_server(nasty.answer, "127.0.0.1", port)
        async with back:
            assert client_view(await remote_call(tool, {"word": "hi"})) == {"word": "hi"}
    finally:
        await catalogue.__aexit__(None, None, None)


async def test_a_connection_that_fails_is_tried_again_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The port opens while the client waits for its last attempt."""
    nasty = Nasty(http(b'{"result": {"word": "hi"}}'))
    async with nasty.listening():
        port = int(nasty.url.rpartition(":")[2])
        catalogue = joined(nasty.url)
        found = await catalogue.__aenter__()
    servers: list[asyncio.Server] = []
    waits: list[float] = []

    async def wait(_: AutoBackend, seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == CONNECT_RETRIES:
            servers.append(await asyncio.start_server(nasty.answer, "127.0.0.1", port))

    monkeypatch.setattr(AutoBackend, "sleep", wait)
    try:
        message = await remote_call(found.real_by_name["echo"], {"word": "hi"})
        assert client_view(message) == {"word": "hi"}
        assert nasty.requests == ["GET /tools", "POST /tools/echo"]
    finally:
        for server in servers:
            server.close()
        await catalogue.__aexit__(None, None, None)


async def test_what_no_thread_can_hold_arrives_in_a_form_that_it_can() -> None:
    body = b'{"result": {"big": 1180591620717411303424, "half": "\\ud800"}}'
    nasty = Nasty(http(body))
    async with nasty.listening(), joined(nasty.url) as found:
        message = await remote_call(found.real_by_name["echo"], {"word": "hi"})
        assert client_view(message) == {"big": 2.0**70, "half": "\ufffd"}
        assert "\ud800" not in message.text


# a nasty one, at the start


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        (http(b"hello"), "answered status 200 without a list of tools"),
        (http(b'{"tools": {}}'), "answered status 200 without a list of tools"),
        (http(b"<html>", "404 Not Found"), "answered status 404 without a list of tools"),
        (http(b"", "302 Found", "Location: /x"), "answered status 302 without a list"),
        (http(b"x" * 20_000), "answered more than 10000 bytes"),
        (http(b"{", length=9), "cannot be had"),
        (b"", "cannot be had"),
        (http(b'{"tools": [{"kind": "real"}]}'), "without a name or parameters"),
        (http(b'{"tools": [{"kind": "real", "name": 1}]}'), "without a name or parameters"),
    ],
)
async def test_a_list_that_is_none_is_an_error_that_names_the_server(
    listed: bytes, said: str
) -> None:
    nasty = Nasty(None, listed)
    async with nasty.listening():
        with pytest.raises(CatalogueError, match=said) as refused:
            async with joined(nasty.url):
                pass
        assert nasty.url in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "no spaces please"}, "No model provider takes the tool name"),
        ({"name": "../chat"}, "No model provider takes the tool name"),
        ({"name": "render_ui_component"}, "Two tools are named 'render_ui_component'"),
        ({"description": ""}, "has no description"),
        ({"parameters": {"type": "array"}}, "cannot be used"),
        ({"parameters": {"type": "object", "properties": {"a": {"type": 7}}}}, "cannot be used"),
        ({"parameters": {"type": "object", "oneOf": []}}, "cannot be used"),
    ],
)
async def test_a_tool_that_cannot_be_served_is_an_error_that_says_why(
    changes: dict[str, Any], said: str
) -> None:
    nasty = Nasty(None, http(json.dumps({"tools": [ECHO | changes]}).encode()))
    async with nasty.listening():
        with pytest.raises(CatalogueError, match=said):
            async with joined(nasty.url):
                pass


async def test_two_servers_with_one_tool_are_an_error() -> None:
    one, two = Nasty(None), Nasty(None)
    async with one.listening(), two.listening():
        with pytest.raises(CatalogueError, match="Two tools are named 'echo'"):
            async with joined(one.url, two.url):
                pass


async def test_a_server_that_never_lists_its_tools_holds_up_no_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("turnstream.tools.remote.LIST_SECONDS", 0.1)
    nasty = Nasty(None)
    nasty.listed = None  # type: ignore[assignment]
    async with nasty.listening():
        with pytest.raises(CatalogueError, match="cannot be had: TimeoutError"):
            async with joined(nasty.url, seconds=WAIT_SECONDS):
                pass


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://x", "http://[bad", "http://\x00"])
async def test_an_address_that_is_none_is_an_error(url: str) -> None:
    with pytest.raises(CatalogueError, match="cannot be had"):
        async with joined(url):
            pass


def test_a_server_that_is_down_keeps_ours_from_starting_and_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNSTREAM_REMOTE_TOOLS", NOWHERE)
    monkeypatch.setattr("logging.basicConfig", lambda **_: None)
    status = main(["--port", "0", "--model", "offline", "--database", str(tmp_path / "t.db")])
    said = capsys.readouterr().err
    assert status == 2
    assert f"The remote tools of {NOWHERE} cannot be had" in said
    assert "TURNSTREAM_REMOTE_TOOLS" in said
    assert "Traceback" not in said


async def test_a_second_process_serves_the_tools_of_the_first(tmp_path: Path) -> None:
    """As a user has it: by the setting, over processes."""
    nasty = Nasty(http(b'{"result": {"word": "hi"}, "duration_ms": 1}'))
    async with (
        nasty.listening(),
        forked_server(tmp_path / "t.db", REMOTE_TOOLS=f"{nasty.url}/ ") as started,
    ):
        _, events = await started.client.turn({"message": 'Call echo with {"word": "hi"}'})
        [result] = [event.data["result"] for event in events if event.type == "result"]
        assert result == {"word": "hi"}
