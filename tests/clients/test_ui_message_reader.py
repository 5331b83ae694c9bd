"""The AI SDK's transport and `readUIMessageStream`, for apps without its Chat."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.clients.driver import ClientProcess
from tests.clients.message_parts import parts_of_ui_message
from tests.clients.scripted_turns import (
    ASKED,
    QUESTION,
    TURNS,
    Turn,
    call,
    text,
)
from tests.support.backend import key_of
from tests.support.endpoint import Pause, Say, call_reply, reply, text_reply
from tests.support.scripted_server import ScriptedServer, scripted_server
from tests.support.serving import serving, settings
from tests.support.waiting import eventually

AGENT = """
from tests.graphs.zoo.model import ReplyingModel
from tests.graphs.zoo.subagents import agents_as_tools, edit


def graph():
    return agents_as_tools(ReplyingModel(replies=edit))
"""
CHAT = "chat-1"
USER = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Go on"}]}


def without_complaints(report: dict[str, Any]) -> dict[str, Any]:
    assert report["warnings"] == []
    assert report["errors"] == []
    return report


async def has_readers(server: ScriptedServer, count: int) -> None:
    """Wait until the live run is read by so many."""
    assert server.http.state is not None
    live = await server.http.state["reader"].live(key_of(CHAT))
    assert live is not None

    async def has() -> bool:
        return (await live.log.status()).readers == count

    await eventually(has)


async def test_what_a_subagent_does_is_read_until_the_tools_output_takes_its_place(
    tmp_path: Path, ui_message_reader: ClientProcess
) -> None:
    (tmp_path / "editor.py").write_text(AGENT)
    served = settings(tmp_path / "t.db", graph=f"{tmp_path / 'editor.py'}:graph")
    async with serving(served) as client:
        await ui_message_reader.do("open", url=client.url, id=CHAT)
        said = {"type": "text", "text": "moss"}
        await ui_message_reader.do("send", messages=[{**USER, "parts": [said]}])
        report = without_complaints(await ui_message_reader.report())
        calls = [
            part
            for snapshot in report["snapshots"]
            for part in snapshot["parts"]
            if part.get("state") == "output-available"
        ]
        assert calls[-1]["output"] == "I found facts of moss."
        interim = [part["output"] for part in calls if part.get("preliminary")]
        assert parts_of_ui_message(interim[-1]) == [
            text("Looking."),
            call("look_up", {"topic": "moss"}, "facts of moss"),
            text("I found facts of moss."),
        ]


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
async def test_the_last_snapshot_is_what_hydrate_shows(
    turn: Turn, tmp_path: Path, ui_message_reader: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, *turn.replies, tool_timeout_seconds=turn.tool_timeout_seconds
    ) as server:
        await ui_message_reader.do("open", url=server.url, id=CHAT)
        message = await ui_message_reader.do("send", messages=[USER])
        report = await ui_message_reader.report()
        assert parts_of_ui_message(message) == turn.parts
        assert report["warnings"] == []
        assert [error.partition(" (")[0] for error in report["errors"]] == turn.errors
        assert report["chunks"][-1]["finishReason"] == turn.finish
        stored = (await server.messages(CHAT, "ui-message-stream"))[1]
        assert (message["id"], message["parts"]) == (stored["id"], stored["parts"])


async def test_an_answer_goes_on_with_the_message_that_asked(
    tmp_path: Path, ui_message_reader: ClientProcess
) -> None:
    ask = call_reply(("request_user_selection", QUESTION), ids=("call_1",))
    async with scripted_server(tmp_path, ask, text_reply("Saturday it is.")) as server:
        await ui_message_reader.do("open", url=server.url, id=CHAT)
        asked = await ui_message_reader.do("send", messages=[USER])
        asked["parts"][-1] |= {"state": "output-available", "output": {"value": "sat"}}
        message = await ui_message_reader.do(
            "send", messages=[USER, asked], messageId=asked["id"], continued=asked
        )
        without_complaints(await ui_message_reader.report())
        assert parts_of_ui_message(message) == [
            call("request_user_selection", ASKED, {"value": "sat"}),
            text("Saturday it is."),
        ]
        assert message == (await server.messages(CHAT, "ui-message-stream"))[1]


async def test_a_stopped_turn_is_told_with_abort_and_finish(
    tmp_path: Path, ui_message_reader: ClientProcess
) -> None:
    async with scripted_server(tmp_path, reply(Say("The tide "), Pause(asyncio.Event()))) as server:
        await ui_message_reader.do("open", url=server.url, id=CHAT)
        sending = asyncio.create_task(ui_message_reader.do("send", messages=[USER]))
        exchange = await server.endpoint.arrived(1)
        assert exchange.open
        await server.http.http.post(f"/chat/{CHAT}/stop")
        message = await sending
        report = without_complaints(await ui_message_reader.report())
        assert [chunk["type"] for chunk in report["chunks"][-2:]] == ["abort", "finish"]
        assert message["metadata"]["ended"] == {"reason": "stopped"}
        assert message == (await server.messages(CHAT, "ui-message-stream"))[1]


async def test_a_reader_without_a_past_gets_the_whole_message_and_nothing_when_idle(
    tmp_path: Path, ui_message_reader: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    async with scripted_server(tmp_path, reply(Say("The tide "), pause, Say("is high."))) as server:
        async with server.http.chat({"id": CHAT, "messages": [USER], "trigger": "submit-message"}):
            await asyncio.wait_for(pause.reached.wait(), 5)
        await has_readers(server, 0)
        await ui_message_reader.do("open", url=server.url, id=CHAT)
        resuming = asyncio.create_task(ui_message_reader.do("resume"))
        await has_readers(server, 1)
        pause.event.set()
        assert parts_of_ui_message(await resuming) == [text("The tide is high.")]
        assert await ui_message_reader.do("resume") is None
        report = without_complaints(await ui_message_reader.report())
        assert [request["status"] for request in report["requests"]] == [200, 204]
