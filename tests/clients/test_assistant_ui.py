"""assistant-ui's `useAssistantTransportRuntime` in a page, with the converter of its example."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.clients.driver import ClientProcess
from tests.clients.message_parts import parts_of_assistant_message, parts_of_thread_messages
from tests.clients.scripted_turns import (
    ASKED,
    PENDING,
    QUESTION,
    TURNS,
    Part,
    Turn,
    call,
    text,
)
from tests.support.endpoint import Pause, Say, call_reply, reply, text_reply
from tests.support.scripted_server import ScriptedServer, scripted_server

ASK = call_reply(("request_user_selection", QUESTION), ids=("call_1",))
COLOUR = {
    "name": "pick_colour",
    "description": "The user picks a colour.",
    "parameters": {"type": "object", "properties": {"of": {"type": "string"}}},
}


async def hydrated(server: ScriptedServer, thread_id: str) -> list[list[Part]]:
    messages = await server.messages(thread_id, "assistant-transport")
    return [parts_of_assistant_message(message) for message in messages]


async def clean_report(page: ClientProcess, server: ScriptedServer) -> dict[str, Any]:
    """The report of a page that shows the thread as it is stored, and complained of nothing."""
    report = await page.report()
    assert report["warnings"] == []
    assert report["errors"] == []
    assert shown(report) == await hydrated(server, report["state"]["thread_id"])
    return report


def shown(report: dict[str, Any]) -> list[list[Part]]:
    return parts_of_thread_messages(report["messages"])


def commands(report: dict[str, Any]) -> list[list[str]]:
    """The commands of each request; every request is a POST to /chat that is answered with 200."""
    assert {(r["method"], r["path"], r["status"]) for r in report["requests"]} == {
        ("POST", "/chat", 200)
    }
    return [[command["type"] for command in r["body"]["commands"]] for r in report["requests"]]


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
async def test_a_turn_is_one_request_and_shows_what_hydrate_does(
    turn: Turn, tmp_path: Path, assistant_ui: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, *turn.replies, tool_timeout_seconds=turn.tool_timeout_seconds
    ) as server:
        await assistant_ui.do("open", url=server.url)
        await assistant_ui.do("send", text="Go on")
        report = await assistant_ui.report()
        assert shown(report) == [[text("Go on")], turn.parts]
        assert await hydrated(server, report["state"]["thread_id"]) == shown(report)
        assert report["errors"] == turn.errors
        assert report["warnings"] == []
        assert commands(report) == [["add-message"]]


@pytest.mark.parametrize("result", [{"value": "sat"}, {"cancelled": True}])
async def test_an_answer_goes_on_with_the_turn(
    result: Any, tmp_path: Path, assistant_ui: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ASK, text_reply("So be it.")) as server:
        await assistant_ui.do("open", url=server.url)
        await assistant_ui.do("send", text="Book a trip")
        asked = await clean_report(assistant_ui, server)
        await assistant_ui.do(
            "answer", messageId=asked["messages"][1]["id"], toolCallId="call_1", result=result
        )
        report = await clean_report(assistant_ui, server)
        assert commands(report) == [["add-message"], ["add-tool-result"]]
        assert shown(report)[1] == [
            call("request_user_selection", ASKED, result),
            text("So be it."),
        ]


async def test_typing_past_a_question_closes_it_on_the_screen_too(
    tmp_path: Path, assistant_ui: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ASK, text_reply("As you like.")) as server:
        await assistant_ui.do("open", url=server.url)
        await assistant_ui.do("send", text="Book a trip")
        await assistant_ui.do("send", text="Never mind")
        report = await clean_report(assistant_ui, server)
        assert shown(report)[1][0]["result"] != PENDING
        assert shown(report)[3] == [text("As you like.")]
        first, second = (request["body"] for request in report["requests"])
        assert "thread_id" not in first["state"]
        assert second["state"]["thread_id"] == report["state"]["thread_id"]


async def test_an_edit_takes_the_place_of_its_source_and_of_all_that_followed(
    tmp_path: Path, assistant_ui: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, text_reply("First."), text_reply("Second."), text_reply("Anew.")
    ) as server:
        await assistant_ui.do("open", url=server.url)
        await assistant_ui.do("send", text="One")
        await assistant_ui.do("send", text="Two")
        before = await clean_report(assistant_ui, server)
        await assistant_ui.do("edit", messageId=before["messages"][0]["id"], text="Uno")
        report = await clean_report(assistant_ui, server)
        assert shown(report) == [[text("Uno")], [text("Anew.")]]
        (edit,) = report["requests"][-1]["body"]["commands"]
        assert edit["sourceId"] == before["messages"][0]["id"]


async def test_frontend_tools_answer_one_by_one_and_the_model_is_asked_once(
    tmp_path: Path, assistant_ui: ClientProcess
) -> None:
    ids = ("call_1", "call_2", "call_3")
    picking = call_reply(*[("pick_colour", f'{{"of":"{id}"}}') for id in ids], ids=ids)
    async with scripted_server(tmp_path, picking, text_reply("Picked.")) as server:
        await assistant_ui.do("open", url=server.url, tools=[COLOUR])
        await assistant_ui.do("send", text="Paint")
        for id in ("call_2", "call_1", "call_3"):
            await assistant_ui.do("executing", toolCallId=id)
            assert len(server.endpoint.requests) == 1
            await assistant_ui.do("execute", toolCallId=id, result={"colour": id})
        report = await clean_report(assistant_ui, server)
        assert commands(report) == [["add-message"], *[["add-tool-result"]] * 3]
        assert shown(report)[1] == [
            *(call("pick_colour", {"of": id}, {"colour": id}) for id in ids),
            text("Picked."),
        ]
        assert sorted(done["toolCallId"] for done in report["executed"]) == list(ids)
        offered = [tool["function"]["name"] for tool in server.endpoint.requests[0]["tools"]]
        assert offered.count("pick_colour") == 1


async def test_a_stop_on_the_server_leaves_the_text_on_the_screen(
    tmp_path: Path, assistant_ui: ClientProcess
) -> None:
    async with scripted_server(tmp_path, reply(Say("The tide "), Pause(asyncio.Event()))) as server:
        await assistant_ui.do("open", url=server.url)
        await assistant_ui.do("send", text="Go on", wait=False)
        await assistant_ui.do("saying", text="The tide ")
        thread_id = (await assistant_ui.report())["state"]["thread_id"]
        await server.http.http.post(f"/chat/{thread_id}/stop")
        await assistant_ui.do("settled")
        report = await clean_report(assistant_ui, server)
        assert shown(report)[1] == [text("The tide ")]


async def test_a_page_that_comes_back_resumes_the_turn_that_goes_on(
    tmp_path: Path, assistant_ui: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    adding = call_reply(("add", '{"a":1,"b":2}'), ids=("call_1",))
    async with scripted_server(
        tmp_path, adding, reply(Say("The sum "), pause, Say("is 3."))
    ) as server:
        await assistant_ui.do("open", url=server.url)
        await assistant_ui.do("send", text="Add", wait=False)
        await assistant_ui.do("saying", text="The sum ")
        thread_id = (await assistant_ui.report())["state"]["thread_id"]
        new = {"messages": [], "thread_id": thread_id}
        await assistant_ui.do("open", url=server.url, state=new)
        await assistant_ui.do("resume", wait=False)
        await assistant_ui.do("saying", text="The sum ")
        pause.event.set()
        await assistant_ui.do("settled")
        report = await clean_report(assistant_ui, server)
        assert commands(report) == [[]]
        assert shown(report)[1] == [
            call("add", {"a": 1, "b": 2}, {"sum": 3}),
            text("The sum is 3."),
        ]
        await assistant_ui.do("resume")
        again = await clean_report(assistant_ui, server)
        assert commands(again) == [[], []]
        assert again["state"] == report["state"]


async def test_a_page_that_comes_back_resumes_a_continuation_with_all_that_was_said_before(
    tmp_path: Path, assistant_ui: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    async with scripted_server(
        tmp_path, ASK, reply(Say("Saturday "), pause, Say("it is."))
    ) as server:
        await assistant_ui.do("open", url=server.url)
        await assistant_ui.do("send", text="Book a trip")
        asked = await clean_report(assistant_ui, server)
        await assistant_ui.do(
            "answer",
            messageId=asked["messages"][1]["id"],
            toolCallId="call_1",
            result={"value": "sat"},
            wait=False,
        )
        await assistant_ui.do("saying", text="Saturday ")
        new = {"messages": [], "thread_id": asked["state"]["thread_id"]}
        await assistant_ui.do("open", url=server.url, state=new)
        await assistant_ui.do("resume", wait=False)
        await assistant_ui.do("saying", text="Saturday ")
        pause.event.set()
        await assistant_ui.do("settled")
        report = await clean_report(assistant_ui, server)
        assert shown(report) == [
            [text("Book a trip")],
            [
                call("request_user_selection", ASKED, {"value": "sat"}),
                text("Saturday it is."),
            ],
        ]


async def test_a_page_that_has_seen_half_of_a_turn_resumes_without_doubling_it(
    tmp_path: Path, assistant_ui: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    async with scripted_server(tmp_path, reply(Say("The tide "), pause, Say("is high."))) as server:
        await assistant_ui.do("open", url=server.url)
        await assistant_ui.do("send", text="Go on", wait=False)
        await assistant_ui.do("saying", text="The tide ")
        await assistant_ui.do("cancel")
        await assistant_ui.do("resume", wait=False)
        pause.event.set()
        await assistant_ui.do("settled")
        report = await clean_report(assistant_ui, server)
        assert shown(report)[1] == [text("The tide is high.")]
        assert commands(report) == [["add-message"], []]
