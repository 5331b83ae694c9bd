"""An installation of an earlier version after an upgrade: its configuration is accepted without a
word, its users and threads are as they were, and every thread goes on, as docs/upgrade.md says."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.earlier_installation import (
    DUMP,
    PEOPLE,
    administer,
    at_rest,
    caller,
    copied,
    installed,
    restore,
)
from tests.support.serving import PROJECT, Client, Process
from turnstream.server.storage.location import PostgresUrl

Json = dict[str, Any]
RECORDED = sorted((PROJECT / "tests" / "data").glob("installation-*"))


def each(recorded: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("recorded", recorded, ids=lambda folder: folder.name)


EACH = each([folder for folder in RECORDED if not (folder / DUMP).exists()])
EACH_ON_POSTGRES = each([folder for folder in RECORDED if (folder / DUMP).exists()])


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

    async def check_threads(self) -> None:
        """Each user finds the threads as they were."""
        for person in PEOPLE:
            self.become(person)
            now = await at_rest(self.client)
            for thread_id, thread in self.before[person]["threads"].items():
                assert kept(thread, now["threads"][thread_id]), (person, thread_id)
            assert kept(self.before[person]["list"], now["list"])

    async def check_turns(self) -> None:
        """The question, the call that waits and each thread go on."""
        self.become("ann")
        answers = [{"tool_call_id": "call_1", "result": {"value": "red"}}]
        assert await self.turn("asked", tool_results=answers) == "stop"
        waiting = (await self.client.http.get("/approvals")).json()["approvals"]
        decision = {"tool_call_id": waiting[0]["tool_call_id"], "approved": True}
        assert await self.turn("waiting", approvals=[decision]) == "stop"
        for thread_id in self.before["ann"]["threads"]:
            assert await self.turn(thread_id, message="What is 6 * 8?") in ("stop", "tool-calls")


@asynccontextmanager
async def upgraded(recorded: Path, tmp_path: Path, **engines: str) -> AsyncIterator[Upgraded]:
    folder = copied(recorded, tmp_path)
    before = json.loads((folder / "recorded.json").read_text(encoding="utf-8"))
    async with installed(folder, **engines) as server:
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
        await one.check_threads()
        listed = administer(one.folder, "keys", "list")
        assert all(person in listed for person in PEOPLE)


@pytest.mark.full
@EACH
async def test_every_thread_goes_on(recorded: Path, tmp_path: Path) -> None:
    async with upgraded(recorded, tmp_path) as one:
        await one.check_turns()


@pytest.mark.full
@EACH_ON_POSTGRES
async def test_threads_in_postgres_are_as_they_were_and_go_on(
    recorded: Path, tmp_path: Path, empty_postgres_url: PostgresUrl, redis_url: str
) -> None:
    engines = {"DATABASE": empty_postgres_url.secret, "REDIS": redis_url}
    restore(recorded, engines["DATABASE"])
    administer(recorded, "migrate", **engines)
    async with upgraded(recorded, tmp_path, **engines) as one:
        await one.check_threads()
        one.become("ann")
        assert await one.turn("crashed", **{"continue": True}) == "stop"
        await one.check_turns()
    warned = [line for line in map(json.loads, one.server.log) if line["level"] != "INFO"]
    assert ["has lost its worker" in line["message"] for line in warned] == [True]


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
