"""A server that is killed with kill -9 while calls run that a person has approved: it never runs
one again by itself."""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.counting_tools import CountingTools
from tests.support.endpoint import Body, Reply, StrictEndpoint, call_reply, text_reply
from tests.support.forked_server import ForkedServer, forked_server
from tests.support.samples import sample
from tests.support.serving import Client, endpoint_environment, serving, settings
from tests.support.users import named

KILLS = sample(40, 5)
POLICY = """
default_role = "user"

[roles.user]
approval = ["echo", "hold"]
"""
TOOLS = ("echo", "hold")

Json = dict[str, Any]


def calls_of(body: Body) -> Reply:
    """To `Turn <number>` calls of both tools, which pay for `<tool>-<number>`; then a short
    answer."""
    last = body["messages"][-1]
    if last["role"] != "user" or not last["content"].startswith("Turn"):
        return text_reply("Fine.")
    number = last["content"].split()[1]
    words = tuple(f"{tool}-{number}" for tool in TOOLS)
    calls = [(tool, f'{{"word": "{word}"}}') for tool, word in zip(TOOLS, words, strict=True)]
    return call_reply(*calls, ids=words)


@dataclass
class Payments:
    """Threads whose model calls `echo` and `hold` at once. Both tools are on a server that is not
    killed, and counts: `hold` takes until it is released."""

    tools: CountingTools
    database: Path
    environment: Mapping[str, str]

    @asynccontextmanager
    async def served(self) -> AsyncIterator[ForkedServer]:
        async with forked_server(self.database, **self.environment) as server:
            server.client.http.headers.update(named("ann"))
            yield server

    async def ask(self, client: Client, number: int) -> Json:
        """A turn that waits for both approvals: the body that gives them."""
        thread_id = f"t{number}"
        await client.turn({"thread_id": thread_id, "message": f"Turn {number}"})
        ids = [f"{tool}-{number}" for tool in TOOLS]
        given = [{"tool_call_id": id, "approved": True} for id in ids]
        return {"thread_id": thread_id, "approvals": given}

    async def kill_when_told(self, server: ForkedServer, body: Json, events: int) -> None:
        """Approve; kill the server when the client has heard so many events, all of a call that
        runs at once."""
        self.tools.release.set()
        async with server.client.chat(body) as stream:
            async for _ in stream:
                events -= 1
                if events <= 0:
                    break
            server.kill()

    async def kill_when_it_runs(self, server: ForkedServer, body: Json, number: int) -> None:
        self.tools.release.clear()
        async with server.client.chat(body):
            await self.tools.begun(f"hold-{number}")
            server.kill()
        self.tools.release.set()

    async def kill_before_the_answer(self, server: ForkedServer, body: Json, turns: int) -> None:
        """The client hears nothing: the decisions may be taken or not."""
        self.tools.release.set()
        posting = asyncio.create_task(server.client.http.post("/chat", json=body))
        for _ in range(turns):
            await asyncio.sleep(0)
        server.kill()
        with suppress(httpx.HTTPError):
            await posting

    async def check(self, client: Client, number: int, *, is_heard: bool) -> None:
        """Whatever has run has its result, or a person is asked whether it may run again.
        `is_heard`: the client knew that its decisions were taken."""
        before = dict(self.tools.calls)
        waiting = {}
        for word, call in (await shown(client, number)).items():
            if call["state"] == "result":
                assert before[word] == 1
                continue
            assert call["state"] == "pending"
            waiting[word] = call["approval"]
            is_asked_again = "mayHaveRun" in call["approval"]
            assert is_asked_again or not is_heard, "a decision is lost"
            assert before.get(word, 0) <= is_asked_again, "it has run, and nobody is told"
        listed = (await client.http.get("/approvals")).json()["approvals"]
        assert {one["tool_call_id"] for one in listed} == waiting.keys()
        if waiting:
            given = [
                {"tool_call_id": word, "approved": True, "approval_id": approval["id"]}
                for word, approval in waiting.items()
            ]
            await ends(client, {"thread_id": f"t{number}", "approvals": given})
        await ends(client, {"thread_id": f"t{number}", "message": "Thanks."})
        for word in (f"{tool}-{number}" for tool in TOOLS):
            assert self.tools.calls[word] == before.get(word, 0) + (word in waiting)
        states = {call["state"] for call in (await shown(client, number)).values()}
        assert states == {"result"}


async def shown(client: Client, number: int) -> dict[str, Json]:
    """The calls of the thread, by id."""
    messages = (await client.thread(f"t{number}"))["messages"]
    parts = (part for message in messages for part in message["parts"])
    return {part["toolCallId"]: part for part in parts if part["type"] == "tool-call"}


async def ends(client: Client, body: Json) -> None:
    """The run comes to its own end."""
    _, events = await client.turn(body)
    assert [e.data["finishReason"] for e in events if e.type == "message-finish"] == ["stop"]


@pytest.fixture
async def payments(tmp_path: Path) -> AsyncIterator[Payments]:
    tools = CountingTools()
    (tmp_path / "policy.toml").write_text(POLICY)
    async with (
        StrictEndpoint() as endpoint,
        serving(settings(tmp_path / "tools.db"), tools.catalogue) as elsewhere,
    ):
        endpoint.default = calls_of
        environment = endpoint_environment(endpoint) | {
            "AUTH": "header",
            "TRUSTED_PROXIES": "127.0.0.1",
            "POLICY": str(tmp_path / "policy.toml"),
            "REMOTE_TOOLS": elsewhere.url,
        }
        yield Payments(tools, tmp_path / "t.db", environment)
        assert endpoint.refused == []


@pytest.mark.long
async def test_a_server_that_was_killed_asks_again_before_it_runs_an_approved_call(
    payments: Payments,
) -> None:
    chance = random.Random(7)
    heard: bool | None = None
    for number in range(KILLS + 1):
        async with payments.served() as server:
            if heard is not None:
                await payments.check(server.client, number - 1, is_heard=heard)
            if number == KILLS:
                break
            body = await payments.ask(server.client, number)
            way = number % 3
            heard = way < 2
            if way == 0:
                await payments.kill_when_it_runs(server, body, number)
            elif way == 1:
                await payments.kill_when_told(server, body, chance.randrange(6))
            else:
                await payments.kill_before_the_answer(server, body, chance.randrange(60))
    asked_twice = sum(count == 2 for count in payments.tools.calls.values())
    assert asked_twice >= KILLS // 3, "the server died while a call ran"
