"""assistant-stream: strict decoder, frontend-tool pipeline, accumulator, on native bodies."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.clients.driver import ClientProcess
from tests.clients.message_parts import parts_of_assistant_message
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

THREAD = "thread-1"
PROTOCOL = "assistant-transport"
ASK = call_reply(("request_user_selection", QUESTION), ids=("call_1",))
ANSWER = {"tool_call_id": "call_1", "result": {"value": "sat"}}
STATUS = {
    "stop": {"type": "complete", "reason": "stop"},
    "tool-calls": {"type": "requires-action", "reason": "tool-calls"},
    "error": {"type": "incomplete", "reason": "error"},
}
PARTS = {"parts": [{"type": "text", "text": "Go on"}]}
COLOUR = {
    "name": "pick_colour",
    "description": "The user picks a colour.",
    "parameters": {
        "type": "object",
        "properties": {"of": {"type": "string"}},
        "required": ["of"],
    },
}


def body(**fields: Any) -> dict[str, Any]:
    return {"thread_id": THREAD, **fields}


async def stored(server: ScriptedServer) -> list[list[Part]]:
    """The answers of the thread, as hydrate shows them."""
    return [parts_of_assistant_message(m) for m in (await server.messages(THREAD, PROTOCOL))[1::2]]


async def clean_report(reader: ClientProcess) -> dict[str, Any]:
    """The report of a reader to which every event said something it understood."""
    report = await reader.report()
    assert report["warnings"] == []
    assert report["decoded"] == report["events"] > 0
    return report


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
async def test_the_accumulated_message_is_what_hydrate_shows(
    turn: Turn, tmp_path: Path, assistant_stream: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, *turn.replies, tool_timeout_seconds=turn.tool_timeout_seconds
    ) as server:
        await assistant_stream.do("open", url=server.url)
        await assistant_stream.do("send", body=body(message="Go on"))
        report = await clean_report(assistant_stream)
        (message,) = report["messages"]
        assert parts_of_assistant_message(message) == turn.parts
        assert await stored(server) == [turn.parts]
        assert report["errors"] == turn.errors
        assert STATUS[turn.finish].items() <= message["status"].items()
        assert all(part["status"]["type"] == "complete" for part in message["parts"])


async def test_an_answer_goes_on_in_a_message_of_its_own(
    tmp_path: Path, assistant_stream: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ASK, text_reply("Saturday it is.")) as server:
        await assistant_stream.do("open", url=server.url)
        await assistant_stream.do("send", body=body(message="Book a trip"))
        await assistant_stream.do("send", body=body(tool_results=[ANSWER]))
        report = await clean_report(assistant_stream)
        assert [parts_of_assistant_message(m) for m in report["messages"]] == [
            [call("request_user_selection", ASKED, PENDING)],
            [text("Saturday it is.")],
        ]
        first, second = (m["metadata"]["steps"][0]["messageId"] for m in report["messages"])
        assert first == second
        assert await stored(server) == [
            [call("request_user_selection", ASKED, {"value": "sat"}), text("Saturday it is.")]
        ]


async def test_a_question_that_was_typed_past_is_said_to_be_settled(
    tmp_path: Path, assistant_stream: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ASK, text_reply("As you like.")) as server:
        await assistant_stream.do("open", url=server.url)
        await assistant_stream.do("send", body=body(message="Book a trip"))
        await assistant_stream.do("send", body=body(message="Never mind"))
        report = await clean_report(assistant_stream)
        (told,) = report["messages"][1]["metadata"]["unstable_data"]
        assert told["name"] == "tool-settled"
        assert told["data"]["tool_call_id"] == "call_1"
        assert told["data"]["end"] == "cancelled"
        (closed,), _ = await stored(server)
        assert closed["result"] == {"error": told["data"]["result"]["error"]["message"]}


async def test_a_stopped_turn_keeps_its_text_and_says_why_it_ended(
    tmp_path: Path, assistant_stream: ClientProcess
) -> None:
    async with scripted_server(tmp_path, reply(Say("The tide "), Pause(asyncio.Event()))) as server:
        await assistant_stream.do("open", url=server.url)
        await assistant_stream.do("send", body=body(message="Go on"), wait=False)
        await assistant_stream.do("saying", text="The tide ")
        await server.http.http.post(f"/chat/{THREAD}/stop")
        await assistant_stream.do("settled")
        (message,) = (await clean_report(assistant_stream))["messages"]
        assert parts_of_assistant_message(message) == [text("The tide ")]
        assert message["status"] == {"type": "incomplete", "reason": "other"}
        assert message["metadata"]["unstable_data"] == [
            {"name": "run-ended", "data": {"reason": "stopped"}}
        ]
        assert await stored(server) == [[text("The tide ")]]


async def test_attaching_in_mid_turn_reads_the_run_from_its_start(
    tmp_path: Path, assistant_stream: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    adding = call_reply(("add", '{"a":1,"b":2}'), ids=("call_1",))
    async with scripted_server(
        tmp_path, adding, reply(Say("The sum "), pause, Say("is 3."))
    ) as server:
        async with server.http.chat(body(message="Add")):
            await asyncio.wait_for(pause.reached.wait(), 5)
        await assistant_stream.do("open", url=server.url)
        await assistant_stream.do("attach", path=f"/chat/{THREAD}/stream", wait=False)
        await assistant_stream.do("saying", text="The sum ")
        pause.event.set()
        await assistant_stream.do("settled")
        (message,) = (await clean_report(assistant_stream))["messages"]
        said = [call("add", {"a": 1, "b": 2}, {"sum": 3}), text("The sum is 3.")]
        assert parts_of_assistant_message(message) == said
        assert await stored(server) == [said]


async def test_attaching_in_mid_continuation_reads_the_run_that_goes_on(
    tmp_path: Path, assistant_stream: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    async with scripted_server(
        tmp_path, ASK, reply(Say("Saturday "), pause, Say("it is."))
    ) as server:
        await assistant_stream.do("open", url=server.url)
        await assistant_stream.do("send", body=body(message="Book a trip"))
        await assistant_stream.do("send", body=body(tool_results=[ANSWER]), wait=False)
        await assistant_stream.do("saying", text="Saturday ")
        await assistant_stream.do("open", url=server.url)
        await assistant_stream.do("attach", path=f"/chat/{THREAD}/stream", wait=False)
        await assistant_stream.do("saying", text="Saturday ")
        live = (await server.http.thread(THREAD))["run"]
        pause.event.set()
        await assistant_stream.do("settled")
        (message,) = (await clean_report(assistant_stream))["messages"]
        (whole,) = await stored(server)
        assert parts_of_assistant_message(message) == whole[live["first_part"] :]


async def test_a_turn_made_anew_and_an_edit_are_what_hydrate_shows(
    tmp_path: Path, assistant_stream: ClientProcess
) -> None:
    words = ("First.", "Second.", "Edited.")
    async with scripted_server(tmp_path, *map(text_reply, words)) as server:
        await assistant_stream.do("open", url=server.url)
        await assistant_stream.do("send", body=body(message={"id": "u1", **PARTS}))
        await assistant_stream.do("send", body=body(regenerate="u1.a"))
        assert await stored(server) == [[text("Second.")]]
        edit = {"message_id": "u1", "message": "Edited"}
        await assistant_stream.do("send", body=body(edit=edit))
        report = await clean_report(assistant_stream)
        assert [parts_of_assistant_message(m) for m in report["messages"]] == [
            [text(w)] for w in words
        ]
        assert await stored(server) == [[text("Edited.")]]


async def test_a_tool_that_the_client_brings_runs_there_and_its_result_goes_back(
    tmp_path: Path, assistant_stream: ClientProcess
) -> None:
    picking = call_reply(("pick_colour", '{"of":"tea"}'), ids=("call_1",))
    async with scripted_server(tmp_path, picking, text_reply("Green tea.")) as server:
        await assistant_stream.do(
            "open", url=server.url, tools={"pick_colour": {"colour": "green"}}
        )
        await assistant_stream.do("send", body=body(message="Tea", client_tools=[COLOUR]))
        report = await clean_report(assistant_stream)
        assert report["executed"] == [{"toolCallId": "call_1", "args": {"of": "tea"}}]
        picked = report["messages"][0]["parts"][0]["result"]
        answer = {"tool_call_id": "call_1", "result": picked}
        await assistant_stream.do("send", body=body(tool_results=[answer], client_tools=[COLOUR]))
        assert await stored(server) == [
            [call("pick_colour", {"of": "tea"}, {"colour": "green"}), text("Green tea.")]
        ]
        offered = [tool["function"] for tool in server.endpoint.requests[0]["tools"]]
        assert COLOUR in offered


WRITTEN_BESIDE = [
    {"tool_call_id": "call_of_another", "data": "lost"},
    "a word that belongs to no call",
]
"""What the tool writes to its stream that is not its progress."""


@pytest.mark.parametrize("tool", ["count", "tally"])
async def test_progress_of_a_tool_comes_as_data_with_the_id_of_its_call(
    tool: str, tmp_path: Path, assistant_stream: ClientProcess
) -> None:
    counting = call_reply((tool, '{"to":2}'), ids=("call_1",))
    async with scripted_server(tmp_path, counting, text_reply("Two.")) as server:
        await assistant_stream.do("open", url=server.url)
        await assistant_stream.do("send", body=body(message="Count"))
        (message,) = (await clean_report(assistant_stream))["messages"]
        data = message["metadata"]["unstable_data"]
        assert [item["data"] for item in data if item["name"] == "tool-progress"] == [
            {"tool_call_id": "call_1", "data": {"counted": number}} for number in (1, 2)
        ]
        written = [item["data"]["value"] for item in data if item["name"] == "custom"]
        assert written == (WRITTEN_BESIDE * 2 if tool == "tally" else [])
        said = [call(tool, {"to": 2}, {"total": 2}), text("Two.")]
        assert parts_of_assistant_message(message) == said
        assert await stored(server) == [said]
