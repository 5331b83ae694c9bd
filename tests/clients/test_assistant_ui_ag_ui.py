"""assistant-ui's `useAgUiRuntime`: what it shows at the end is what the thread says."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import ClientOf
from tests.clients.driver import ClientProcess
from tests.clients.scripted_turns import ASKED, QUESTION, TURNS, Turn
from tests.clients.test_ag_ui import erase
from tests.support.endpoint import Pause, Say, call_reply, reply, text_reply
from tests.support.samples import sample
from tests.support.scripted_server import ScriptedServer, scripted_server

THREAD = "thread-1"
Json = dict[str, Any]
SHOWN = [turn for turn in TURNS if not turn.errors][:: sample(1, 3)]


@pytest.fixture
def page(client_of: ClientOf) -> ClientProcess:
    return client_of("assistant-ui-ag-ui.mjs")


async def begin(page: ClientProcess, server: ScriptedServer, **options: Any) -> None:
    await page.do("open", url=server.url, threadId=THREAD, **options)


def said(messages: list[Json]) -> list[Any]:
    """Who says what, turn by turn: the page puts steps together, and knows no tool messages."""
    turns: list[Any] = []
    for message in messages:
        if message["role"] == "user":
            turns.append([part["text"] for part in message["content"]])
            continue
        if not turns or isinstance(turns[-1], list):
            turns.append({"text": "", "calls": {}})
        for part in message["content"]:
            if part["type"] == "text":
                turns[-1]["text"] += part["text"]
            elif part["type"] == "tool-call":
                turns[-1]["calls"][part["toolCallId"]] = part.get("result")
    return turns


def stored(messages: list[Json]) -> list[Any]:
    """The same of the thread's messages."""
    turns: list[Any] = []
    for message in messages:
        match message["role"]:
            case "user":
                turns.append([message["content"]])
            case "assistant":
                if not turns or isinstance(turns[-1], list):
                    turns.append({"text": "", "calls": {}})
                turns[-1]["text"] += message.get("content", "")
                turns[-1]["calls"] |= {call["id"]: None for call in message.get("toolCalls", ())}
            case "tool":
                turns[-1]["calls"][message["toolCallId"]] = json.loads(message["content"])
    return turns


async def clean_report(page: ClientProcess, server: ScriptedServer) -> Json:
    report = await page.report()
    assert report["warnings"] == []
    assert report["errors"] == []
    assert said(report["messages"]) == stored(await server.messages(THREAD, "ag-ui"))
    return report


@pytest.mark.long
@pytest.mark.parametrize("turn", SHOWN, ids=lambda turn: turn.name)
async def test_a_turn_is_shown_as_the_thread_has_it(
    turn: Turn, tmp_path: Path, page: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, *turn.replies, tool_timeout_seconds=turn.tool_timeout_seconds
    ) as server:
        await begin(page, server)
        await page.do("send", text="Go on")
        report = await clean_report(page, server)
        waits = turn.finish == "tool-calls"
        expected = "requires-action" if waits else "complete"
        assert report["messages"][-1]["status"]["type"] == expected


async def test_a_thread_goes_on(tmp_path: Path, page: ClientProcess) -> None:
    add = call_reply(("add", '{"a":1,"b":2}'), ids=("call_1",))
    replies = (add, text_reply("Three."), text_reply("You are welcome."))
    async with scripted_server(tmp_path, *replies) as server:
        await begin(page, server)
        await page.do("send", text="Add")
        await page.do("send", text="Thanks")
        await clean_report(page, server)


async def test_a_question_is_answered_in_the_page(tmp_path: Path, page: ClientProcess) -> None:
    ask = call_reply(("request_user_selection", QUESTION), ids=("call_1",))
    async with scripted_server(tmp_path, ask, text_reply("Saturday it is.")) as server:
        await begin(page, server)
        await page.do("send", text="Book a trip")
        message = (await clean_report(page, server))["messages"][-1]
        assert message["content"][0]["args"] == ASKED
        await page.do(
            "answer", messageId=message["id"], toolCallId="call_1", result={"value": "sat"}
        )
        report = await clean_report(page, server)
        assert said(report["messages"])[-1] == {
            "text": "Saturday it is.",
            "calls": {"call_1": {"value": "sat"}},
        }


async def test_calls_are_approved_and_declined_as_tool_approvals(
    tmp_path: Path, page: ClientProcess
) -> None:
    async with scripted_server(tmp_path, erase("old", "new"), text_reply("Done.")) as server:
        await begin(page, server)
        await page.do("send", text="Tidy up")
        message = (await clean_report(page, server))["messages"][-1]
        approvals = [part["approval"]["id"] for part in message["content"]]
        assert approvals == ["approval:call_1:call_1", "approval:call_2:call_2"]
        about = {"messageId": message["id"]}
        await page.do("decide", **about, toolCallId="call_1", approved=True, wait=False)
        await page.do("decide", **about, toolCallId="call_2", approved=False, reason="No.")
        report = await clean_report(page, server)
        calls = said(report["messages"])[-1]["calls"]
        assert calls["call_1"] == {"erased": "old"}
        assert calls["call_2"]["error"]["code"] == "declined"


async def test_a_frontend_tool_runs_in_the_page_and_the_turn_goes_on(
    tmp_path: Path, page: ClientProcess
) -> None:
    schema = {"type": "object", "properties": {"of": {"type": "string"}}}
    tools = {"pick": {"description": "Pick.", "parameters": schema, "result": {"colour": "red"}}}
    pick = call_reply(("pick", '{"of":"walls"}'), ids=("call_1",))
    async with scripted_server(tmp_path, pick, text_reply("Red.")) as server:
        await begin(page, server, tools=tools)
        await page.do("send", text="Pick")
        await page.do("saying", text="Red.")
        await page.do("settled")
        report = await clean_report(page, server)
        assert said(report["messages"])[-1]["calls"] == {"call_1": {"colour": "red"}}


async def test_a_stop_from_anywhere_ends_the_run_and_keeps_the_words(
    tmp_path: Path, page: ClientProcess
) -> None:
    replies = (reply(Say("The tide "), Pause(asyncio.Event())), text_reply("Once more."))
    async with scripted_server(tmp_path, *replies) as server:
        await begin(page, server)
        await page.do("send", text="Go on", wait=False)
        await page.do("saying", text="The tide ")
        await server.http.http.post(f"/chat/{THREAD}/stop")
        await page.do("settled")
        await clean_report(page, server)
        await page.do("send", text="And on")
        await clean_report(page, server)


async def test_an_answer_is_made_anew(tmp_path: Path, page: ClientProcess) -> None:
    async with scripted_server(tmp_path, *map(text_reply, ("One.", "Two."))) as server:
        await begin(page, server)
        await page.do("send", text="Count")
        first = (await clean_report(page, server))["messages"][-1]
        await page.do("reload", id=first["id"])
        report = await clean_report(page, server)
        assert said(report["messages"]) == [["Count"], {"text": "Two.", "calls": {}}]


async def test_an_edit_names_the_message_that_it_replaces(
    tmp_path: Path, page: ClientProcess
) -> None:
    async with scripted_server(tmp_path, *map(text_reply, ("One.", "Two.", "Other."))) as server:
        await begin(page, server)
        await page.do("send", text="First")
        await page.do("send", text="Second")
        messages = (await clean_report(page, server))["messages"]
        edited = messages[2]["id"]
        await page.do(
            "send",
            text="Second, but other",
            parentId=messages[1]["id"],
            sourceId=edited,
            runConfig={"custom": {"edit": edited}},
        )
        report = await clean_report(page, server)
        assert said(report["messages"])[2:] == [
            ["Second, but other"],
            {"text": "Other.", "calls": {}},
        ]
