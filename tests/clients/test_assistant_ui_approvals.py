"""assistant-ui asks for approvals: on the AI SDK's wire by its own means; on its own wire, which
has none, by what an app makes of the state."""

from pathlib import Path
from typing import Any

import pytest

from tests.clients.driver import ClientProcess
from tests.clients.scripted_turns import Part, call, text
from tests.clients.test_assistant_ui import clean_report, commands, shown
from tests.support.endpoint import call_reply, text_reply
from tests.support.scripted_server import scripted_server

ERASE = call_reply(("erase", '{"name":"old"}'), ids=("call_1",))
ARGS = {"name": "old"}
RAN = call("erase", ARGS, {"erased": "old"})


def told(approved: bool) -> str:
    return "Erased." if approved else "As you like."


@pytest.mark.parametrize("approved", [True, False], ids=["approve", "decline"])
async def test_use_chat_runtime_asks_and_answers(
    approved: bool, tmp_path: Path, assistant_ui_chat: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, ERASE, text_reply(told(approved)), text_reply("Gladly.")
    ) as server:
        await assistant_ui_chat.do("open", url=server.url)
        await assistant_ui_chat.do("send", text="Tidy up")
        asked = (await assistant_ui_chat.report())["messages"][1]
        assert asked["status"] == {"type": "requires-action", "reason": "interrupt"}
        assert asked["content"][0]["approval"] == {"id": "call_1"}
        await assistant_ui_chat.do(
            "decide",
            messageId=asked["id"],
            toolCallId="call_1",
            approved=approved,
            reason="So be it.",
        )
        await assistant_ui_chat.do("send", text="Thanks")
        report = await assistant_ui_chat.report()
        assert report["errors"] == report["warnings"] == []
        assert [r["status"] for r in report["requests"]] == [200] * 3
        decided, said = report["messages"][1]["content"]
        assert decided["approval"] == {"id": "call_1", "approved": approved, "reason": "So be it."}
        assert decided["result"] == ({"erased": "old"} if approved else {"error": "So be it."})
        assert decided["isError"] is not approved
        assert said["text"] == told(approved)


def declined(reason: str) -> Part:
    error = {"code": "declined", "message": f"The user declined this call: {reason}"}
    return call("erase", ARGS, {"error": error["message"]})


async def decide(page: ClientProcess, way: str, message_id: str, approved: bool) -> None:
    decision: dict[str, Any] = {"approved": approved, "reason": "So be it."}
    if way == "command":
        about = {"type": "tool-approval", "toolCallId": "call_1", "approvalId": "call_1"}
        await page.do("command", command={**about, **decision})
    else:
        await page.do("answer", messageId=message_id, toolCallId="call_1", result=decision)


@pytest.mark.parametrize("way", ["command", "result"])
@pytest.mark.parametrize("approved", [True, False], ids=["approve", "decline"])
async def test_an_app_on_assistant_transport_asks_by_the_state_and_answers(
    approved: bool, way: str, tmp_path: Path, assistant_ui: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, ERASE, text_reply(told(approved)), text_reply("Gladly.")
    ) as server:
        await assistant_ui.do("open", url=server.url)
        await assistant_ui.do("send", text="Tidy up")
        asked = await clean_report(assistant_ui, server)
        assert asked["state"]["approvals"] == {"call_1": {"id": "call_1"}}
        assert asked["messages"][1]["status"]["type"] == "requires-action"
        await decide(assistant_ui, way, asked["messages"][1]["id"], approved)
        report = await clean_report(assistant_ui, server)
        decision = {"id": "call_1", "approved": approved, "reason": "So be it."}
        assert report["state"]["approvals"] == {"call_1": decision}
        decided, said = shown(report)[1]
        assert decided == (RAN if approved else declined("So be it."))
        assert said == text(told(approved))
        await assistant_ui.do("send", text="Thanks")
        kind = "tool-approval" if way == "command" else "add-tool-result"
        report = await clean_report(assistant_ui, server)
        assert commands(report) == [["add-message"], [kind], ["add-message"]]


async def test_a_page_that_comes_back_finds_the_question_in_its_state(
    tmp_path: Path, assistant_ui: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ERASE, text_reply("Erased.")) as server:
        await assistant_ui.do("open", url=server.url)
        await assistant_ui.do("send", text="Tidy up")
        thread_id = (await assistant_ui.report())["state"]["thread_id"]
        new = {"messages": [], "thread_id": thread_id}
        await assistant_ui.do("open", url=server.url, state=new)
        await assistant_ui.do("resume")
        report = await clean_report(assistant_ui, server)
        assert report["state"]["approvals"] == {"call_1": {"id": "call_1"}}
        await decide(assistant_ui, "command", report["messages"][1]["id"], approved=True)
        assert shown(await clean_report(assistant_ui, server))[1] == [RAN, text("Erased.")]


async def test_typing_past_a_call_cancels_it_on_the_screen_too(
    tmp_path: Path, assistant_ui: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ERASE, text_reply("As you like.")) as server:
        await assistant_ui.do("open", url=server.url)
        await assistant_ui.do("send", text="Tidy up")
        await assistant_ui.do("send", text="Never mind")
        report = await clean_report(assistant_ui, server)
        (cancelled,) = shown(report)[1]
        assert "did not answer" in cancelled["result"]["error"]
        assert report["state"]["approvals"] == {"call_1": {"id": "call_1"}}
