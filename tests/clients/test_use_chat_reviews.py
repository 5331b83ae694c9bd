"""The AI SDK's `useChat` on an agent of LangChain's that asks before it sends: what the interrupts
ask, the chat shows as approvals, and answers as such."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import ClientOf
from tests.clients.driver import ClientProcess
from tests.support.samples import repeat
from tests.support.serving import Client, serving, settings

CHAT = "chat-1"
AGENT = """
from tests.graphs.zoo.approval import approved, mail_two
from tests.graphs.zoo.model import ReplyingModel


def make():
    return approved(ReplyingModel(replies=mail_two), "{mode}")
"""


@pytest.fixture(
    params=[pytest.param("use-chat-hook.mjs v7", id="v7"), repeat("use-chat-hook.mjs", "v6")]
)
def chat(request: pytest.FixtureRequest, client_of: ClientOf) -> ClientProcess:
    return client_of(request.param)


@pytest.fixture(params=["batched", "per_call"])
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Client]:
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT.format(mode=request.param))
    served = settings(tmp_path / "t.db", graph=f"{agent}:make", undeclared_results="show")
    async with serving(served) as client:
        await client.http.get("/health")
        yield client


async def stored(server: Client) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = (await server.thread(CHAT, protocol="ui-message-stream"))[
        "messages"
    ]
    return messages


def calls(messages: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Those of the answer, by the recipient."""
    parts = [part for part in messages[1]["parts"] if part["type"] == "tool-send_email"]
    return {part["input"]["to"]: part for part in parts}


@pytest.mark.parametrize("reloads", [False, True], ids=["at once", "after a reload"])
async def test_both_calls_are_decided_on_and_the_agent_goes_on(
    reloads: bool, server: Client, chat: ClientProcess
) -> None:
    await chat.do("open", url=server.url, id=CHAT, sends="approvals")
    await chat.do("send", text="Write.")
    asked = await chat.report()
    assert asked["errors"] == asked["warnings"] == []
    assert calls(asked["messages"]) == calls(await stored(server))
    assert {c["state"] for c in calls(asked["messages"]).values()} == {"approval-requested"}
    if reloads:
        kept = await stored(server)
        await chat.do("open", url=server.url, id=CHAT, messages=kept, sends="approvals")
    ids = {to: call["approval"]["id"] for to, call in calls(asked["messages"]).items()}
    await chat.do("decide", approvalId=ids["ann"], approved=True)
    await chat.do("decide", approvalId=ids["bob"], approved=False, reason="Not her.", wait=True)
    report = await chat.report()
    assert report["errors"] == report["warnings"] == []
    assert [r["status"] for r in report["requests"]] == [200] * (1 if reloads else 2)
    ended = calls(report["messages"])
    assert ended["ann"]["output"] == "Sent to ann."
    assert ended["bob"]["state"] == "output-error"
    assert report["messages"][1]["parts"][-1]["text"] == "Both are done."
    # The thread of a graph that is not ours keeps no decisions.
    left = {to: without_approval(call) for to, call in ended.items()}
    assert left == calls(await stored(server))


def without_approval(call: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in call.items() if key != "approval"}
