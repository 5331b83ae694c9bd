"""Reasoning, on every client that shows it."""

from pathlib import Path
from typing import Any

from tests.clients.driver import ClientProcess
from tests.clients.message_parts import (
    parts_of_assistant_message,
    parts_of_thread_messages,
    parts_of_ui_message,
)
from tests.clients.scripted_turns import Part, call, text
from tests.support.scripted_model import ScriptedModel, finish, reasoning
from tests.support.scripted_model import call as calling
from tests.support.scripted_model import text as saying
from tests.support.scripted_server import server_with_model
from tests.support.serving import Client

THREAD = "thread-1"
SAID: list[Part] = [
    {"reasoning": "The moon pulls."},
    text("Let me add."),
    call("add", {"a": 1, "b": 2}, {"sum": 3}),
    {"reasoning": "Three."},
    text("It is three."),
]


def thinking_model() -> ScriptedModel:
    return ScriptedModel.of(
        [
            reasoning("The moon "),
            reasoning("pulls."),
            saying("Let me add."),
            calling('{"a":1,"b":2}', name="add", id="call_1"),
            finish("tool_calls"),
        ],
        [reasoning("Three."), saying("It is "), saying("three."), finish()],
    )


def url(http: Client) -> str:
    return str(http.http.base_url).rstrip("/")


async def answer(http: Client, protocol: str) -> dict[str, Any]:
    (entry,) = (await http.http.get("/threads")).json()["threads"]
    message: dict[str, Any] = (await http.thread(entry["id"], protocol=protocol))["messages"][1]
    return message


async def test_use_chat_shows_reasoning(tmp_path: Path, use_chat: ClientProcess) -> None:
    async with server_with_model(tmp_path, thinking_model()) as http:
        await use_chat.do("open", url=url(http), id=THREAD)
        await use_chat.do("send", text="Go on")
        report = await use_chat.report()
        assert report["errors"] == report["warnings"] == []
        stored = await answer(http, "ui-message-stream")
        assert report["messages"][1]["parts"] == stored["parts"]
        assert parts_of_ui_message(stored) == SAID


async def test_assistant_stream_accumulates_reasoning(
    tmp_path: Path, assistant_stream: ClientProcess
) -> None:
    async with server_with_model(tmp_path, thinking_model()) as http:
        await assistant_stream.do("open", url=url(http))
        await assistant_stream.do("send", body={"message": "Go on"})
        report = await assistant_stream.report()
        assert report["warnings"] == []
        stored = parts_of_assistant_message(await answer(http, "assistant-transport"))
        assert parts_of_assistant_message(report["messages"][0]) == stored == SAID


async def test_assistant_ui_shows_reasoning(tmp_path: Path, assistant_ui: ClientProcess) -> None:
    async with server_with_model(tmp_path, thinking_model()) as http:
        await assistant_ui.do("open", url=url(http))
        await assistant_ui.do("send", text="Go on")
        report = await assistant_ui.report()
        assert report["errors"] == report["warnings"] == []
        assert parts_of_thread_messages(report["messages"])[1] == SAID
