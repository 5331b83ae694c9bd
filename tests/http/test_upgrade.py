"""An installation of an earlier version after an upgrade: its configuration is accepted without a
word, its users and threads are as they were, and every thread goes on, as docs/upgrade.md says."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.earlier_installation import administer, caller, copied, installed, said
from tests.support.serving import PROJECT, Client, Process

Json = dict[str, Any]
RECORDED = sorted((PROJECT / "tests" / "data").glob("installation-*"))
EACH = pytest.mark.parametrize("recorded", RECORDED, ids=lambda folder: folder.name)


@dataclass(frozen=True)
class Upgraded:
    """A server of this version on an earlier installation."""

    server: Process
    folder: Path
    before: Json

    @property
    def client(self) -> Client:
        return self.server.client

    def become(self, person: str) -> None:
        self.client.http.headers.update(caller(self.before["keys"][person]))

    async def turn(self, thread_id: str, **body: Any) -> str:
        """Take a turn to its end, and return why it ended."""
        _, events = await self.client.turn({"thread_id": thread_id, **body})
        assert events[-1].data == "[DONE]"
        return str(events[-2].data["finishReason"])


@asynccontextmanager
async def upgraded(recorded: Path, tmp_path: Path) -> AsyncIterator[Upgraded]:
    folder = copied(recorded, tmp_path)
    before = json.loads((folder / "recorded.json").read_text(encoding="utf-8"))
    async with installed(folder) as server:
        one = Upgraded(server, folder, before)
        one.become("ann")
        yield one
        server.terminate()
        assert await server.exit_status() == 0


def kept(before: Any, now: Any) -> bool:
    """Return whether the answer has all that it had before. A later version may add keys."""
    if isinstance(before, dict):
        return isinstance(now, dict) and all(kept(before[key], now.get(key)) for key in before)
    if isinstance(before, list):
        same = isinstance(now, list) and len(before) == len(now)
        return same and all(kept(one, other) for one, other in zip(before, now, strict=True))
    return bool(before == now)


@EACH
async def test_the_configuration_is_accepted_and_the_start_warns_of_nothing(
    recorded: Path, tmp_path: Path
) -> None:
    async with upgraded(recorded, tmp_path) as one:
        health = await one.client.http.get("/health")
        assert health.json()["status"] == "ok"
    levels = [json.loads(line)["level"] for line in one.server.log]
    assert levels
    assert set(levels) == {"INFO"}


@EACH
async def test_each_user_finds_the_threads_as_they_were(recorded: Path, tmp_path: Path) -> None:
    async with upgraded(recorded, tmp_path) as one:
        for person in ("ann", "bob"):
            one.become(person)
            now = await said(one.client)
            for thread_id, thread in one.before[person]["threads"].items():
                assert kept(thread, now["threads"][thread_id]), (person, thread_id)
            assert kept(one.before[person]["list"], now["list"])
        listed = administer(one.folder, "keys", "list")
        assert "ann" in listed
        assert "bob" in listed


@pytest.mark.full
@EACH
async def test_every_thread_goes_on(recorded: Path, tmp_path: Path) -> None:
    async with upgraded(recorded, tmp_path) as one:
        answers = [{"tool_call_id": "call_1", "result": {"value": "red"}}]
        assert await one.turn("asked", tool_results=answers) == "stop"
        waiting = (await one.client.http.get("/approvals")).json()["approvals"]
        decision = {"tool_call_id": waiting[0]["tool_call_id"], "approved": True}
        assert await one.turn("waiting", approvals=[decision]) == "stop"
        for thread_id in one.before["ann"]["threads"]:
            assert await one.turn(thread_id, message="What is 6 * 8?") in ("stop", "tool-calls")


@pytest.mark.full
@EACH
async def test_a_run_that_a_crash_ended_is_continued(recorded: Path, tmp_path: Path) -> None:
    async with upgraded(recorded, tmp_path) as one:
        assert await one.turn("crashed", **{"continue": True}) == "stop"
        thread = await one.client.thread("crashed")
        assert thread["run_state"] == "finished"


@pytest.mark.full
@EACH
async def test_the_search_and_the_audit_trail_have_what_was_before(
    recorded: Path, tmp_path: Path
) -> None:
    async with upgraded(recorded, tmp_path) as one:
        found = (await one.client.http.get("/threads", params={"q": "Tokyo"})).json()
        assert [each["id"] for each in found["threads"]] == ["talked"]
        feedback = (await one.client.http.get("/threads/talked/feedback")).json()
        assert "It is right." in json.dumps(feedback)
        trail = administer(one.folder, "audit", "--json", "--principal", "bob")
        assert any("talked" in json.loads(line).values() for line in trail.splitlines())
