"""The AI SDK's `useChat` asks for approvals, of versions 6 and 7: version 5 has none."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import ClientOf
from tests.clients.driver import ClientProcess
from tests.clients.scripted_turns import QUESTION
from tests.support.endpoint import Pause, Say, call_reply, reply, text_reply
from tests.support.endpoint.script import Scripted
from tests.support.samples import repeat
from tests.support.scripted_server import ScriptedServer, scripted_server
from tests.support.waiting import eventually

CHAT = "chat-1"
PROTOCOL = "ui-message-stream"
POST = ("POST", "/chat", 200)
WAITING, DECIDED = "approval-requested", "approval-responded"


@pytest.fixture(
    params=[pytest.param("use-chat-hook.mjs v7", id="v7"), repeat("use-chat-hook.mjs", "v6")]
)
def chat(request: pytest.FixtureRequest, client_of: ClientOf) -> ClientProcess:
    return client_of(request.param)


def erase(*names: str) -> Scripted:
    calls = [("erase", f'{{"name":"{name}"}}') for name in names]
    return call_reply(*calls, ids=tuple(f"call_{n}" for n, _ in enumerate(names, start=1)))


def part(name: str, state: str, n: int = 1, **fields: Any) -> dict[str, Any]:
    """A part of a call of `erase`, as the client holds it."""
    return {
        "type": "tool-erase",
        "toolCallId": f"call_{n}",
        "state": state,
        "input": {"name": name},
        "providerExecuted": True,
        **fields,
    }


def approval(id: str = "call_1", **decision: Any) -> dict[str, Any]:
    return {"id": id, **decision}


async def ask(chat: ClientProcess, server: ScriptedServer, sends: str = "approvals") -> None:
    await chat.do("open", url=server.url, id=CHAT, sends=sends)
    await chat.do("send", text="Tidy up")


def parts(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [p for p in report["messages"][1]["parts"] if p["type"] != "step-start"]


async def clean_report(chat: ClientProcess, server: ScriptedServer, posts: int) -> dict[str, Any]:
    """The chat holds what hydrate shows, complained of nothing, called no tool, and posted so often
    and no more, also when a turn has ended."""
    report = await chat.report()
    assert report["warnings"] == report["errors"] == report["toolCalls"] == []
    assert report["status"] == "ready"
    requests = [(r["method"], r["path"], r["status"]) for r in report["requests"]]
    assert requests == [POST] * posts
    stored = await server.messages(CHAT, PROTOCOL)
    assert [m["parts"] for m in report["messages"]] == [m["parts"] for m in stored]
    return report


def model_reads(server: ScriptedServer) -> list[str]:
    """The results of tools in the last request to the model."""
    messages = server.endpoint.requests[-1]["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


async def has_answers(chat: ClientProcess, count: int) -> bool:
    """Whether the server has begun to answer so many requests."""
    requests = (await chat.report())["requests"]
    return len(requests) == count and "status" in requests[-1]


async def test_an_approved_call_runs_and_the_turn_goes_on(
    tmp_path: Path, chat: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, erase("old"), text_reply("Erased."), text_reply("Gladly.")
    ) as server:
        await ask(chat, server)
        report = await clean_report(chat, server, posts=1)
        assert parts(report) == [part("old", WAITING, approval=approval())]
        assert len(server.endpoint.requests) == 1
        await chat.do("decide", approvalId="call_1", approved=True, wait=True)
        report = await clean_report(chat, server, posts=2)
        erased, said = parts(report)
        assert erased == part(
            "old", "output-available", output={"erased": "old"}, approval=approval(approved=True)
        )
        assert said["text"] == "Erased."
        await chat.do("send", text="Thanks")
        await clean_report(chat, server, posts=3)


@pytest.mark.parametrize("reason", [None, "Too risky."])
async def test_a_declined_call_does_not_run_and_the_model_reads_why(
    reason: str | None, tmp_path: Path, chat: ClientProcess
) -> None:
    async with scripted_server(tmp_path, erase("old"), text_reply("As you like.")) as server:
        await ask(chat, server)
        why = {"reason": reason} if reason else {}
        await chat.do("decide", approvalId="call_1", approved=False, **why, wait=True)
        report = await clean_report(chat, server, posts=2)
        refused = approval(approved=False, **why)
        assert parts(report)[0] == part("old", "output-denied", approval=refused)
        assert parts(report)[1]["text"] == "As you like."
        (read,) = model_reads(server)
        assert "declined" in read
        assert (reason or "") in read


async def test_of_two_calls_one_is_declined_and_both_decisions_go_together(
    tmp_path: Path, chat: ClientProcess
) -> None:
    async with scripted_server(tmp_path, erase("old", "new"), text_reply("One.")) as server:
        await ask(chat, server)
        await chat.do("decide", approvalId="call_2", approved=False)
        await chat.do("decide", approvalId="call_1", approved=True, wait=True)
        report = await clean_report(chat, server, posts=2)
        assert [p["state"] for p in parts(report)[:2]] == ["output-available", "output-denied"]


async def test_a_call_that_waits_can_be_approved_after_a_reload(
    tmp_path: Path, chat: ClientProcess
) -> None:
    async with scripted_server(tmp_path, erase("old"), text_reply("Erased.")) as server:
        await ask(chat, server)
        kept = await server.messages(CHAT, PROTOCOL)
        await chat.do("open", url=server.url, id=CHAT, messages=kept, sends="approvals")
        assert parts(await chat.report()) == [part("old", WAITING, approval=approval())]
        await chat.do("decide", approvalId="call_1", approved=True, wait=True)
        report = await clean_report(chat, server, posts=1)
        assert parts(report)[0]["state"] == "output-available"


async def test_a_reload_after_the_decision_shows_the_turn_to_its_end(
    tmp_path: Path, chat: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    replies = (erase("old", "new"), reply(Say("One is "), pause, Say("gone.")))
    async with scripted_server(tmp_path, *replies) as server:
        await ask(chat, server)
        await chat.do("decide", approvalId="call_2", approved=False)
        await chat.do("decide", approvalId="call_1", approved=True)
        await chat.do("saying", text="One is ")
        kept = await server.messages(CHAT, PROTOCOL)
        await chat.do("open", url=server.url, id=CHAT, messages=kept, sends="approvals")
        await chat.do("resume", wait=False)
        await eventually(partial(has_answers, chat, 1))
        pause.event.set()
        await chat.do("saying", text="One is gone.")
        await chat.do("settled", turns=1)
        report = await chat.report()
        assert report["errors"] == report["warnings"] == []
        assert [r["method"] for r in report["requests"]] == ["GET"]
        erased, refused, said = parts(report)
        # The stream has no chunk for a decision: a loaded thread has `approved` too.
        assert erased == part("old", "output-available", output={"erased": "old"})
        assert refused == part("new", "output-denied", 2, approval=approval("call_2"))
        assert said["text"] == "One is gone."


async def test_typing_past_a_call_cancels_it(tmp_path: Path, chat: ClientProcess) -> None:
    async with scripted_server(tmp_path, erase("old"), text_reply("As you like.")) as server:
        await ask(chat, server)
        await chat.do("send", text="Never mind")
        # No stream can reach the call of an earlier message; a late click sends nothing.
        await chat.do("decide", approvalId="call_1", approved=True)
        report = await chat.report()
        assert len(report["requests"]) == 2
        assert report["errors"] == report["warnings"] == []
        _, cancelled = (await server.messages(CHAT, PROTOCOL))[1]["parts"]
        assert cancelled["state"] == "output-error"
        assert "approval" not in cancelled
        assert "did not answer" in model_reads(server)[0]


async def test_a_call_whose_run_was_stopped_is_asked_about_again(
    tmp_path: Path, chat: ClientProcess
) -> None:
    async with scripted_server(tmp_path, erase("forever"), text_reply("As you like.")) as server:
        await ask(chat, server)
        await chat.do("decide", approvalId="call_1", approved=True)
        await chat.do("holding", state=DECIDED)
        await eventually(partial(has_answers, chat, 2))
        held = await server.messages(CHAT, PROTOCOL)
        assert held[1]["parts"][1] == part("forever", DECIDED, approval=approval(approved=True))
        await server.http.http.post(f"/chat/{CHAT}/stop")
        await chat.do("settled", turns=2)
        report = await clean_report(chat, server, posts=2)
        assert parts(report) == [part("forever", WAITING, approval=approval("call_1.2"))]
        again = {"tool_call_id": "call_1", "approval": {"id": "call_1.2", "mayHaveRun": True}}
        assert report["data"][-1] == {"type": "data-tool-approval", "data": again}
        await chat.do("decide", approvalId="call_1.2", approved=False, wait=True)
        await clean_report(chat, server, posts=3)


@pytest.mark.parametrize("first", ["the answer", "the decision"])
async def test_a_question_beside_a_call_that_waits_goes_with_the_decision(
    first: str, tmp_path: Path, chat: ClientProcess
) -> None:
    calls = call_reply(
        ("erase", '{"name":"old"}'),
        ("request_user_selection", QUESTION),
        ids=("call_1", "call_2"),
    )
    async with scripted_server(tmp_path, calls, text_reply("Saturday.")) as server:
        await ask(chat, server, sends="both")
        selection = {"tool": "request_user_selection", "toolCallId": "call_2"}
        acts: list[tuple[str, dict[str, Any]]] = [
            ("answer", {**selection, "output": {"value": "sat"}}),
            ("decide", {"approvalId": "call_1", "approved": True}),
        ]
        for number, (act, fields) in enumerate(acts if first == "the answer" else acts[::-1]):
            await chat.do(act, **fields, wait=number == 1)
        report = await chat.report()
        assert [r["status"] for r in report["requests"]] == [200, 200]
        assert report["errors"] == report["warnings"] == []
        assert [p.get("state") for p in parts(report)] == ["output-available"] * 2 + ["done"]
