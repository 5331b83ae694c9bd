"""The AI SDK's Chat, as `useChat` has it, with auto-send on."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.clients.driver import ClientProcess
from tests.clients.message_parts import parts_of_ui_message
from tests.clients.scripted_turns import (
    ASKED,
    PENDING,
    QUESTION,
    TURNS,
    Turn,
    call,
    failure,
    text,
)
from tests.support.endpoint import Fail, Pause, Say, call_reply, reply, text_reply
from tests.support.scripted_server import ScriptedServer, scripted_server
from tests.support.waiting import eventually

CHAT = "chat-1"
PROTOCOL = "ui-message-stream"
ASK = call_reply(("request_user_selection", QUESTION), ids=("call_1",))


POST = ("POST", "/chat", 200)
ATTACH = ("GET", f"/chat/{CHAT}/stream", 200)
PIXEL = "data:image/png;base64,iVBORw0KGgo="
GO_ON = [{"type": "text", "text": "Go on"}]
SELECTION = {"tool": "request_user_selection", "toolCallId": "call_1"}


async def held(server: ScriptedServer) -> list[dict[str, Any]]:
    return await server.messages(CHAT, PROTOCOL)


def posts(report: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [(r["method"], r["path"], r["status"]) for r in report["requests"]]


async def has_attached(chat: ClientProcess) -> bool:
    return any("status" in request for request in (await chat.report())["requests"])


def shown(messages: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(message["id"], message["role"], message["parts"]) for message in messages]


async def clean_report(chat: ClientProcess, server: ScriptedServer) -> dict[str, Any]:
    """The report of a chat that holds what the server holds, and complained of nothing."""
    report = await chat.report()
    assert report["warnings"] == []
    assert report["errors"] == []
    assert report["status"] == "ready"
    assert shown(report["messages"]) == shown(await held(server))
    return report


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
async def test_a_turn_is_one_request_and_reads_like_the_thread(
    turn: Turn, tmp_path: Path, use_chat: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, *turn.replies, tool_timeout_seconds=turn.tool_timeout_seconds
    ) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="Go on")
        report = await use_chat.report()
        question, answer = report["messages"]
        assert question["parts"] == [{"type": "text", "text": "Go on"}]
        assert parts_of_ui_message(answer) == turn.parts
        assert posts(report) == [POST]
        assert report["warnings"] == []
        assert [error.partition(" (")[0] for error in report["errors"]] == turn.errors
        assert report["toolCalls"] == [
            part["toolCallId"] for part in answer["parts"] if part.get("state") == "input-available"
        ]
        stored = await held(server)
        assert shown(report["messages"]) == shown(stored)
        assert turn.errors or answer["metadata"] == stored[1]["metadata"]


async def test_an_answer_is_sent_by_itself_and_the_message_goes_on(
    tmp_path: Path, use_chat: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ASK, text_reply("Saturday it is.")) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="Book a trip")
        await use_chat.do("answer", **SELECTION, output={"value": "sat"})
        report = await clean_report(use_chat, server)
        assert posts(report) == [POST, POST]
        assert parts_of_ui_message(report["messages"][1]) == [
            call("request_user_selection", ASKED, {"value": "sat"}),
            text("Saturday it is."),
        ]


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ({"output": {"cancelled": True}}, {"cancelled": True}),
        ({"errorText": "No calendar here."}, failure("No calendar here.")),
    ],
    ids=["skipped", "failed"],
)
async def test_a_question_that_is_not_answered_lets_the_model_go_on(
    given: dict[str, Any], result: Any, tmp_path: Path, use_chat: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ASK, text_reply("Then not.")) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="Book a trip")
        await use_chat.do("answer", **SELECTION, **given)
        report = await use_chat.report()
        assert posts(report) == [POST, POST]
        assert report["errors"] == report["warnings"] == []
        said = [call("request_user_selection", ASKED, result), text("Then not.")]
        assert parts_of_ui_message(report["messages"][1]) == said
        assert parts_of_ui_message((await held(server))[1]) == said


async def test_questions_asked_together_are_answered_in_one_request(
    tmp_path: Path, use_chat: ClientProcess
) -> None:
    both = call_reply(
        ("request_user_selection", QUESTION),
        ("request_user_selection", QUESTION),
        ids=("call_1", "call_2"),
    )
    async with scripted_server(tmp_path, both, text_reply("Both days.")) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="Book two trips")
        for id, day in (("call_2", "sat"), ("call_1", "fri")):
            await use_chat.do("answer", **SELECTION | {"toolCallId": id}, output={"value": day})
        report = await clean_report(use_chat, server)
        assert posts(report) == [POST, POST]
        assert parts_of_ui_message(report["messages"][1]) == [
            call("request_user_selection", ASKED, {"value": "fri"}),
            call("request_user_selection", ASKED, {"value": "sat"}),
            text("Both days."),
        ]


async def test_typing_past_a_question_begins_a_turn_and_closes_the_question(
    tmp_path: Path, use_chat: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ASK, text_reply("As you like.")) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="Book a trip")
        await use_chat.do("send", text="Never mind")
        report = await use_chat.report()
        assert posts(report) == [POST, POST]
        assert report["errors"] == report["warnings"] == []
        assert [parts_of_ui_message(m) for m in report["messages"][1::2]] == [
            # A stream cannot reach the call of another message: it stays open on the screen.
            [call("request_user_selection", ASKED, PENDING)],
            [text("As you like.")],
        ]
        (closed,) = parts_of_ui_message((await held(server))[1])
        assert "error" in closed["result"]


async def test_a_stop_on_the_server_ends_the_stream_and_keeps_the_text(
    tmp_path: Path, use_chat: ClientProcess
) -> None:
    never = Pause(asyncio.Event())
    async with scripted_server(tmp_path, reply(Say("The tide "), never)) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="Go on", wait=False)
        await use_chat.do("saying", text="The tide ")
        await server.http.http.post(f"/chat/{CHAT}/stop")
        await use_chat.do("settled")
        report = await clean_report(use_chat, server)
        answer = report["messages"][1]
        assert parts_of_ui_message(answer) == [text("The tide ")]
        assert answer["metadata"]["ended"] == {"reason": "stopped"}
        assert posts(report) == [POST]


@pytest.mark.parametrize("on_busy", ["queue", "stop"])
async def test_a_message_at_once_behind_a_stop_has_its_turn(
    tmp_path: Path, use_chat: ClientProcess, on_busy: str
) -> None:
    pause = Pause(asyncio.Event())
    first = reply(Say("The tide "), pause, Say("is high."))
    async with scripted_server(tmp_path, first, text_reply("The moon.")) as server:
        await use_chat.do("open", url=server.url, id=CHAT, query=f"?on_busy={on_busy}")
        await use_chat.do("send", text="What is the tide?", wait=False)
        await use_chat.do("saying", text="The tide ")
        await use_chat.do("stop")
        await use_chat.do("send", text="And why?", wait=False)
        await eventually(partial(has_posted_twice, use_chat))
        pause.event.set()
        await use_chat.do("saying", text="The moon.")
        await use_chat.do("settled")
        report = await use_chat.report()
        assert (report["status"], report["errors"]) == ("ready", [])
        assert [status for _, _, status in posts(report)] == [200, 200]
        thread = await held(server)
        said = ["".join(p.get("text", "") for p in m["parts"]) for m in thread]
        kept = {"queue": "The tide is high.", "stop": "The tide "}[on_busy]
        assert said == ["What is the tide?", kept, "And why?", "The moon."]
        assert shown(report["messages"])[2:] == shown(thread)[2:]


async def has_posted_twice(chat: ClientProcess) -> bool:
    answered = [request for request in (await chat.report())["requests"] if "status" in request]
    return len(answered) == 2


async def test_leaving_does_not_stop_the_run_and_coming_back_shows_it_whole(
    tmp_path: Path, use_chat: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    adding = call_reply(("add", '{"a":1,"b":2}'), ids=("call_1",))
    async with scripted_server(
        tmp_path, adding, reply(Say("The sum "), pause, Say("is 3."))
    ) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="Add", wait=False)
        await use_chat.do("saying", text="The sum ")
        await use_chat.do("open", url=server.url, id=CHAT, messages=await held(server))
        await use_chat.do("resume", wait=False)
        await use_chat.do("saying", text="The sum ")
        pause.event.set()
        await use_chat.do("settled")
        report = await clean_report(use_chat, server)
        assert posts(report) == [ATTACH]
        assert parts_of_ui_message(report["messages"][1]) == [
            call("add", {"a": 1, "b": 2}, {"sum": 3}),
            text("The sum is 3."),
        ]
        await use_chat.do("resume")
        again = await clean_report(use_chat, server)
        assert posts(again) == [ATTACH, ("GET", ATTACH[1], 204)]


async def test_a_resumed_continuation_is_replayed_from_the_first_part_of_its_message(
    tmp_path: Path, use_chat: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    async with scripted_server(
        tmp_path,
        call_reply(("add", '{"a":1,"b":2}'), ids=("call_0",)),
        reply(Say("Three. "), *ASK.steps),
        reply(Say("Saturday "), pause, Say("it is.")),
    ) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="Book a trip")
        await use_chat.do("answer", **SELECTION, output={"value": "sat"}, wait=False)
        await use_chat.do("saying", text="Saturday ")
        await use_chat.do("open", url=server.url, id=CHAT, messages=await held(server))
        await use_chat.do("resume", wait=False)
        # It has said that much from the beginning; so this waits for the stream to be open.
        await eventually(partial(has_attached, use_chat))
        await use_chat.do("saying", text="Saturday ")
        pause.event.set()
        await use_chat.do("settled")
        report = await clean_report(use_chat, server)
        assert posts(report) == [ATTACH]
        assert report["toolCalls"] == []
        assert parts_of_ui_message(report["messages"][1]) == [
            call("add", {"a": 1, "b": 2}, {"sum": 3}),
            text("Three. "),
            call("request_user_selection", ASKED, {"value": "sat"}),
            text("Saturday it is."),
        ]


@pytest.mark.parametrize("named", [False, True], ids=["the last", "named"])
async def test_an_answer_made_anew_takes_the_place_of_the_old_one(
    named: bool, tmp_path: Path, use_chat: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, text_reply("First."), text_reply("Second."), text_reply("Third.")
    ) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="One")
        await use_chat.do("send", text="Two")
        before = await clean_report(use_chat, server)
        message = {"messageId": before["messages"][3]["id"]} if named else {}
        await use_chat.do("regenerate", **message)
        report = await clean_report(use_chat, server)
        assert [m["parts"][-1]["text"] for m in report["messages"]] == [
            "One",
            "First.",
            "Two",
            "Third.",
        ]
        assert posts(report) == [POST] * 3
        asked = [m["content"] for m in server.endpoint.requests[2]["messages"][1:]]
        assert asked == ["One", "First.", "Two"]


async def test_an_edit_begins_a_new_branch_and_hydrate_shows_it(
    tmp_path: Path, use_chat: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, text_reply("First."), text_reply("Second."), text_reply("Anew.")
    ) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="One")
        await use_chat.do("send", text="Two")
        before = await clean_report(use_chat, server)
        await use_chat.do("send", text="Uno", messageId=before["messages"][0]["id"])
        report = await clean_report(use_chat, server)
        assert [m["parts"][-1]["text"] for m in report["messages"]] == ["Uno", "Anew."]
        assert posts(report) == [POST] * 3


async def test_a_version_that_is_loaded_is_shown_and_the_chat_goes_on_from_there(
    tmp_path: Path, use_chat: ClientProcess
) -> None:
    replies = [text_reply(words) for words in ("First.", "Anew.", "Last.")]
    async with scripted_server(tmp_path, *replies) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="One")
        await use_chat.do("regenerate")
        [_, answer] = await held(server)
        first, now = answer["metadata"]["versions"]
        assert answer["metadata"]["version"] == now
        left = await server.http.thread(CHAT, protocol=PROTOCOL, version=first)
        await use_chat.do("show", messages=left["messages"])
        await use_chat.do("send", text="Two", body={"version": first})
        report = await clean_report(use_chat, server)
        said = [message["parts"][-1]["text"] for message in report["messages"]]
        assert said == ["One", "First.", "Two", "Last."]


async def test_the_next_message_works_after_a_model_error(
    tmp_path: Path, use_chat: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, Fail(400, "Bad."), text_reply("Fine."), text_reply("Again.")
    ) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="Go on")
        assert (await use_chat.report())["status"] == "error"
        await use_chat.do("regenerate")
        await use_chat.do("send", text="And on")
        report = await use_chat.report()
        assert report["status"] == "ready"
        assert shown(report["messages"]) == shown(await held(server))
        assert [m["parts"][-1]["text"] for m in report["messages"]] == [
            "Go on",
            "Fine.",
            "And on",
            "Again.",
        ]


async def test_trying_again_after_a_refused_post_asks_the_question_that_was_not_taken(
    tmp_path: Path, use_chat: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    async with scripted_server(
        tmp_path, reply(Say("First "), pause), text_reply("Second.")
    ) as server:
        elsewhere = {"thread_id": CHAT, "message": {"id": "u0", "parts": GO_ON}}
        async with server.http.chat(elsewhere) as other:
            await use_chat.do("open", url=server.url, id=CHAT)
            await use_chat.do("send", text="Mine")
            (error,) = (await use_chat.report())["errors"]
            assert '"run_in_progress"' in error
            pause.event.set()
            await other.rest()
        await use_chat.do("regenerate")
        report = await use_chat.report()
        assert report["status"] == "ready"
        assert shown(report["messages"]) == shown(await held(server))[2:]
        assert parts_of_ui_message(report["messages"][1]) == [text("Second.")]


async def test_an_image_goes_to_the_model_and_comes_back_with_the_thread(
    tmp_path: Path, use_chat: ClientProcess
) -> None:
    image = {"type": "file", "mediaType": "image/png", "filename": "leaf.png", "url": PIXEL}
    async with scripted_server(tmp_path, text_reply("A pixel.")) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="What is it?", files=[image])
        report = await clean_report(use_chat, server)
        assert report["messages"][0]["parts"][0] == image
        asked = server.endpoint.requests[0]["messages"][-1]["content"]
        assert asked[:2] == [
            {"type": "text", "text": "[Image: leaf.png]"},
            {"type": "image_url", "image_url": {"url": PIXEL}},
        ]


async def test_a_second_post_of_the_same_is_refused_and_asks_no_model(
    tmp_path: Path, use_chat: ClientProcess
) -> None:
    async with scripted_server(tmp_path, text_reply("Done.")) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="Go on")
        await use_chat.do("resend")
        report = await use_chat.report()
        assert posts(report) == [POST, ("POST", "/chat", 409)]
        assert '"nothing_to_do"' in report["errors"][0]


async def test_a_tool_that_the_app_brings_runs_there_and_its_output_is_sent_once(
    tmp_path: Path, use_chat: ClientProcess
) -> None:
    where = {"where_am_i": {"description": "The place.", "parameters": {"type": "object"}}}
    asked = call_reply(("where_am_i", "{}"), ("add", '{"a":1,"b":2}'), ids=("call_1", "call_2"))
    async with scripted_server(tmp_path, asked, text_reply("In Oslo.")) as server:
        outputs = {"where_am_i": {"city": "Oslo"}}
        await use_chat.do("open", url=server.url, id=CHAT, tools=where, outputs=outputs)
        await use_chat.do("send", text="Where am I?")
        report = await clean_report(use_chat, server)
        assert report["toolCalls"] == ["call_1"]
        assert posts(report) == [POST, POST]
        assert parts_of_ui_message(report["messages"][1]) == [
            call("where_am_i", {}, {"city": "Oslo"}),
            call("add", {"a": 1, "b": 2}, {"sum": 3}),
            text("In Oslo."),
        ]


@pytest.mark.parametrize("tool", ["count", "tally"])
async def test_progress_of_a_tool_is_shown_until_its_result_is_there(
    tool: str, tmp_path: Path, use_chat: ClientProcess
) -> None:
    """What one of them writes beside it is no part of the message."""
    counting = call_reply((tool, '{"to":2}'), ids=("call_1",))
    async with scripted_server(tmp_path, counting, text_reply("Two.")) as server:
        await use_chat.do("open", url=server.url, id=CHAT)
        await use_chat.do("send", text="Count")
        report = await clean_report(use_chat, server)
        assert report["preliminary"] == [{"counted": 1}, {"counted": 2}]
        assert parts_of_ui_message(report["messages"][1]) == [
            call(tool, {"to": 2}, {"total": 2}),
            text("Two."),
        ]
