"""The AI SDK's `onToolCall`: an app hears of the calls that are its own, and of no other.

What an app does there, it does for a user: with a call that the server has turned down it must not
begin.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import ClientOf
from tests.clients.driver import ClientProcess
from tests.clients.message_parts import parts_of_ui_message
from tests.clients.scripted_turns import ASKED, MALFORMED, PENDING, QUESTION, call, text
from tests.support.endpoint import call_reply, text_reply
from tests.support.scripted_server import ScriptedServer, scripted_server

CHAT = "chat-1"
SELECTION = "request_user_selection"
PLACE = {
    "description": "The place.",
    "parameters": {"type": "object", "properties": {"of": {"type": "string"}}},
}
TOOLS = {"where_am_i": PLACE}
"""What the app brings."""


@pytest.fixture(params=["use-chat.mjs", "use-chat-hook.mjs"], ids=["Chat", "useChat"])
def chat(request: pytest.FixtureRequest, client_of: ClientOf) -> ClientProcess:
    """The class behind the hook, and the hook in a page."""
    return client_of(request.param)


async def report_of_turn(chat: ClientProcess, server: ScriptedServer) -> dict[str, Any]:
    """One turn: the client complained of nothing, posted once, and holds what the server holds."""
    await chat.do("open", url=server.url, id=CHAT, tools=TOOLS)
    await chat.do("send", text="Go on")
    report = await chat.report()
    assert report["warnings"] == report["errors"] == []
    assert report["status"] == "ready"
    assert [(r["method"], r["path"], r["status"]) for r in report["requests"]] == [
        ("POST", "/chat", 200)
    ]
    stored = await server.messages(CHAT, "ui-message-stream")
    assert report["messages"][1]["parts"] == stored[1]["parts"]
    return report


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("book_flight", "book_flight"),
        ("where_am_I", "where_am_I"),
        ("book a flight!", "book_a_flight_"),
    ],
)
async def test_a_tool_that_the_model_made_up_is_never_the_apps(
    name: str, shown: str, tmp_path: Path, chat: ClientProcess
) -> None:
    made_up = call_reply((name, '{"to":"Oslo"}'), ids=("call_1",))
    async with scripted_server(tmp_path, made_up, text_reply("I cannot.")) as server:
        report = await report_of_turn(chat, server)
        assert report["toolCalls"] == []
        refused, said = parts_of_ui_message(report["messages"][1])
        assert (refused["tool"], refused["args"]) == (shown, {"to": "Oslo"})
        assert refused["result"]["error"].startswith("There is no tool of this name.")
        assert said == text("I cannot.")


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        (SELECTION, '{"kind":"single","prompt":"Which day?"}', "options"),
        (SELECTION, '{"kind":"single","prompt":"Which day?","options":[]}', "options"),
        (SELECTION, '{"kind":"single","prompt":', MALFORMED),
        ("where_am_i", '{"of":7}', "$.of"),
    ],
    ids=["without options", "no option", "cut off", "of a tool that the app brought"],
)
async def test_a_question_with_faulty_arguments_is_never_the_apps(
    name: str, args: str, told: str, tmp_path: Path, chat: ClientProcess
) -> None:
    faulty = call_reply((name, args), ids=("call_1",))
    async with scripted_server(tmp_path, faulty, text_reply("I cannot ask.")) as server:
        report = await report_of_turn(chat, server)
        assert report["toolCalls"] == []
        refused, said = parts_of_ui_message(report["messages"][1])
        assert refused["tool"] == name
        assert told in refused["result"]["error"]
        assert said == text("I cannot ask.")


async def test_a_question_beside_refused_calls_is_the_apps(
    tmp_path: Path, chat: ClientProcess
) -> None:
    calls = (("book_flight", "{}"), (SELECTION, '{"kind":"single"}'), (SELECTION, QUESTION))
    asked = call_reply(*calls, ids=("call_1", "call_2", "call_3"))
    async with scripted_server(tmp_path, asked) as server:
        report = await report_of_turn(chat, server)
        assert report["toolCalls"] == ["call_3"]
        *refused, question = parts_of_ui_message(report["messages"][1])
        assert ["error" in part["result"] for part in refused] == [True, True]
        assert question == call(SELECTION, ASKED, PENDING)
