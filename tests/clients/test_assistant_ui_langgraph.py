"""assistant-ui's `useLangGraphRuntime` in a page, on LangGraph's wire."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import ClientOf
from tests.clients.driver import ClientProcess
from tests.clients.message_parts import parts_of_assistant_message, parts_of_thread_messages
from tests.clients.scripted_turns import ASKED, QUESTION, TURNS, Part, Turn, call, text
from tests.clients.test_use_stream import agent, is_in
from tests.support.endpoint import Pause, Say, call_reply, reply, text_reply
from tests.support.scripted_server import scripted_server
from tests.support.serving import Client
from tests.support.waiting import eventually

ASK = call_reply(("request_user_selection", QUESTION), ids=("call_1",))
ERASE = call_reply(("erase", '{"name":"old"}'), ids=("call_1",))


@pytest.fixture
def page(client_of: ClientOf) -> ClientProcess:
    return client_of("assistant-ui-langgraph.mjs")


async def hydrated(http: Client, thread_id: str) -> list[list[Part]]:
    messages = (await http.thread(thread_id))["messages"]
    return [parts_of_assistant_message(message) for message in messages]


def shown(report: dict[str, Any]) -> list[list[Part]]:
    return parts_of_thread_messages(report["messages"])


async def clean_report(page: ClientProcess, http: Client) -> dict[str, Any]:
    """The report of a page that shows the thread as it is stored; it knows no event `end` and no
    `messages/metadata`, which LangGraph's server sends too."""
    report = await page.report()
    warned = {one.split(" {")[0] for one in report["warnings"]}
    unknown = ("end null", "messages/metadata")
    assert warned <= {f"warn: Unhandled event received: {one}" for one in unknown}
    assert report["errors"] == []
    assert shown(report) == await hydrated(http, report["threadId"])
    return report


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
async def test_a_turn_shows_what_hydrate_does(
    turn: Turn, tmp_path: Path, page: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, *turn.replies, tool_timeout_seconds=turn.tool_timeout_seconds
    ) as server:
        await page.do("open", url=server.url)
        await page.do("send", text="Go on")
        report = await page.report()
        assert shown(report) == [[text("Go on")], turn.parts]
        assert await hydrated(server.http, report["threadId"]) == shown(report)
        assert report["errors"] == turn.errors


async def test_an_answer_is_sent_as_a_tool_message(tmp_path: Path, page: ClientProcess) -> None:
    async with scripted_server(tmp_path, ASK, text_reply("Saturday it is.")) as server:
        await page.do("open", url=server.url)
        await page.do("send", text="Book a trip")
        asking = (await page.report())["messages"][1]["id"]
        answer = {"toolCallId": "call_1", "result": {"value": "sat"}}
        await page.do("answer", messageId=asking, **answer)
        report = await clean_report(page, server.http)
        assert shown(report)[1] == [
            call("request_user_selection", ASKED, {"value": "sat"}),
            text("Saturday it is."),
        ]


@pytest.mark.parametrize("asked", [ASK, ERASE], ids=["question", "approval"])
async def test_a_message_goes_past_what_waits(
    asked: Any, tmp_path: Path, page: ClientProcess
) -> None:
    """The page closes the call by itself, as cancelled."""
    async with scripted_server(tmp_path, asked, text_reply("As you like.")) as server:
        await page.do("open", url=server.url)
        await page.do("send", text="Do it")
        await page.do("send", text="Never mind")
        report = await page.report()
        assert report["errors"] == []
        assert report["messages"][-1]["content"][-1]["text"] == "As you like."
        (closed,) = (await hydrated(server.http, report["threadId"]))[1]
        assert "error" in closed["result"]


async def test_an_approval_is_an_interrupt_that_a_command_answers(
    tmp_path: Path, page: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ERASE, text_reply("Erased.")) as server:
        await page.do("open", url=server.url)
        await page.do("send", text="Tidy up")
        report = await clean_report(page, server.http)
        assert report["interrupt"]["value"]["tool_call_id"] == "call_1"
        await page.do("command", command={"resume": {"type": "approve"}})
        report = await clean_report(page, server.http)
        assert report["interrupt"] is None
        assert shown(report)[1] == [
            call("erase", {"name": "old"}, {"erased": "old"}),
            text("Erased."),
        ]


async def test_an_interrupt_of_a_graph_is_answered(tmp_path: Path, page: ClientProcess) -> None:
    async with agent(tmp_path, "asking") as http:
        await http.http.get("/health")
        await page.do("open", url=http.url)
        await page.do("send", text="Hello")
        report = await page.report()
        assert report["interrupt"]["value"] == {"question": "Which colour?"}
        await page.do("command", command={"resume": "red"})
        report = await clean_report(page, http)
        assert report["interrupt"] is None
        assert shown(report)[1] == [text("Colour red.")]


async def test_cancelling_ends_the_run_and_what_was_said_is_kept(
    tmp_path: Path, page: ClientProcess
) -> None:
    """The client leaves, with the order that this ends the run."""
    never = Pause(asyncio.Event())
    async with scripted_server(tmp_path, reply(Say("The tide "), never)) as server:
        await page.do("open", url=server.url)
        await page.do("send", text="Go on", wait=False)
        await page.do("saying", text="The tide ")
        await page.do("cancel")
        thread_id = (await page.report())["threadId"]
        await eventually(partial(is_in, server.http, thread_id, "stopped"))
        assert (await hydrated(server.http, thread_id))[1] == [text("The tide ")]


async def test_an_edit_and_an_answer_made_anew_begin_before_their_message(
    tmp_path: Path, page: ClientProcess
) -> None:
    replies = [text_reply(words) for words in ("First.", "Second.", "Anew.", "Again.")]
    async with scripted_server(tmp_path, *replies) as server:
        await page.do("open", url=server.url)
        await page.do("send", text="One")
        await page.do("send", text="Two")
        first = (await page.report())["messages"][0]["id"]
        await page.do("edit", messageId=first, text="Uno")
        report = await clean_report(page, server.http)
        assert shown(report) == [[text("Uno")], [text("Anew.")]]
        await page.do("regenerate", messageId=report["messages"][1]["id"])
        report = await clean_report(page, server.http)
        assert shown(report) == [[text("Uno")], [text("Again.")]]
