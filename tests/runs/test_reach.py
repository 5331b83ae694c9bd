"""Rules of an extension on the threads that a caller reaches, beside their ownership."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.backend import THREAD, backend, message
from tests.support.scripted_model import ScriptedModel, finish, text
from turnstream.server.callers.principal import Principal
from turnstream.server.callers.reach import EVERYTHING, MetadataFilter, Resource
from turnstream.server.extensions.base import EXTENSION_API, Extension, Refusal
from turnstream.server.runs.hooks import GuardFailed
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.runs.thread_version import UnknownThread
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import IdempotencyKey, RunRecord

ANN = Principal("ann", ("user",), "Ann", "key")
KEY = ThreadKey("ann", THREAD)


class Ruling(Extension):
    """Gives new threads the team `blue`, and lets the team of `sees` alone see threads."""

    name, api = "ruling", EXTENSION_API
    has_rules_on: tuple[Resource, ...] = ("threads",)

    def __init__(self) -> None:
        self.sees = "blue"
        self.given: Any = {"team": "blue"}
        self.asked = list[str]()

    async def filter(
        self, principal: Principal, resource: Resource, action: str, value: dict[str, Any]
    ) -> MetadataFilter:
        assert (principal, resource) == (ANN, "threads")
        self.asked.append(action)
        if action == "create":
            value["metadata"] = self.given
            return EVERYTHING
        return MetadataFilter({"team": self.sees})


class Undoing(Extension):
    name, api = "undoing", EXTENSION_API
    restorable_seconds = 60.0


def saying(*answers: str) -> ScriptedModel:
    return ScriptedModel.of(*([text(one), finish()] for one in answers))


async def test_a_run_begins_a_thread_with_the_metadata_that_a_rule_gives(tmp_path: Path) -> None:
    rules = Ruling()
    async with backend(tmp_path / "t.db", saying("A", "B"), extensions=[rules]) as inside:
        start = inside.runs.start_or_queue
        await start(ANN, message("Hi", thread_id=THREAD), "native")
        assert await inside.store.metadata("ann", [THREAD]) == {THREAD: {"team": "blue"}}
        assert rules.asked == ["create_run", "create"]
        await inside.runs.stop(KEY)
        rules.sees = "red"
        with pytest.raises(UnknownThread):
            await start(ANN, message("Again", thread_id=THREAD), "native")
        everything = await inside.runs.reach.search(ANN)
        assert not (await inside.runs.reach.page("ann", everything, 10)).entries


async def test_a_page_has_as_many_matching_threads_as_it_has_room_for(tmp_path: Path) -> None:
    async with backend(tmp_path / "t.db", saying(), extensions=[Ruling()]) as inside:
        ids = [f"t{number}" for number in range(9)]
        for number, id in enumerate(ids):
            await inside.store.create(ThreadKey("ann", id))
            team = "blue" if number % 3 == 0 else "red"
            await inside.store.merge_metadata(ThreadKey("ann", id), {"team": team})
        reach, seen, cursor = inside.runs.reach, list[list[str]](), None
        filter = await reach.search(ANN)
        while True:
            page = await reach.page("ann", filter, 2, cursor)
            seen.append([entry.id for entry in page.entries])
            cursor = page.cursor
            if cursor is None:
                break
        assert seen == [["t6", "t3"], ["t0"]]


async def test_a_thread_whose_request_is_not_kept_keeps_no_metadata(tmp_path: Path) -> None:
    async with backend(tmp_path / "t.db", saying(), extensions=[Ruling()]) as inside:
        claim = await inside.store.claim(KEY, "r1")
        await inside.store.begin_run(KEY, "r1", "Hi", metadata={"team": "blue"})
        await inside.store.refuse_run(KEY, "r1", getattr(claim, "thread", None))
        assert not await inside.store.metadata("ann", [THREAD])


@pytest.mark.parametrize(
    "given", [["a list"], {"when": object()}, {"text": "x" * 17_000}, {"a": "\ud800"}]
)
async def test_metadata_that_no_thread_can_have_refuses_the_request(
    given: Any, tmp_path: Path
) -> None:
    rules = Ruling()
    rules.given = given
    async with backend(tmp_path / "t.db", saying(), extensions=[rules]) as inside:
        with pytest.raises(GuardFailed):
            await inside.runs.start_or_queue(ANN, message("Hi", thread_id=THREAD), "native")
        assert await inside.store.get(KEY) is None


async def test_a_rule_that_fails_refuses_and_one_that_refuses_says_why(tmp_path: Path) -> None:
    class Failing(Ruling):
        async def filter(self, *_given: Any) -> MetadataFilter:
            raise self.error

        error: Exception = KeyError("owner")

    rules = Failing()
    async with backend(tmp_path / "t.db", saying(), extensions=[rules]) as inside:
        with pytest.raises(GuardFailed):
            await inside.runs.reach.check(ANN, KEY, "read")
        rules.error = Refusal("no_team", "Join a team.")
        with pytest.raises(Refusal, match=r"Join a team\."):
            await inside.runs.reach.check(ANN, KEY, "read")


async def test_a_thread_that_another_request_begins_meanwhile_is_asked_for_again(
    tmp_path: Path,
) -> None:
    rules, asks = Ruling(), Ruling.filter

    async def meanwhile(*given: Any) -> MetadataFilter:
        """Another team makes the thread while the rules are asked."""
        if given[2] == "create":
            await inside.store.create(KEY, metadata={"team": "red"})
        return await asks(rules, *given)

    rules.filter = meanwhile  # type: ignore[method-assign, assignment]
    async with backend(tmp_path / "t.db", saying(), extensions=[rules]) as inside:
        for busy in ("reject", "queue"):
            begins = message("Hi", thread_id=THREAD, on_busy=busy)
            with pytest.raises(UnknownThread):
                await inside.runs.start_or_queue(ANN, begins, "native")
            await inside.runs.delete(KEY, at_once=True)
        later = message("Hi", thread_id=THREAD, on_busy="queue", after_seconds=60)
        with pytest.raises(UnknownThread):
            await inside.runs.start_or_queue(ANN, later, "native")
        assert await inside.store.metadata("ann", [THREAD]) == {THREAD: {"team": "red"}}


async def test_a_run_that_another_request_begins_meanwhile_is_not_stopped(tmp_path: Path) -> None:
    rules, asks = Ruling(), Ruling.filter

    async def meanwhile(*given: Any) -> MetadataFilter:
        if given[2] == "create":
            await inside.store.claim(KEY, "r1")
            await inside.store.begin_run(KEY, "r1", "Hi", metadata={"team": "red"})
        return await asks(rules, *given)

    rules.filter = meanwhile  # type: ignore[assignment, method-assign]
    async with backend(tmp_path / "t.db", saying(), extensions=[rules]) as inside:
        stopping = message("Hi", thread_id=THREAD, on_busy="stop")
        with pytest.raises(UnknownThread):
            await inside.runs.start_or_queue(ANN, stopping, "native")
        assert await inside.store.holder(KEY) == "r1"


async def test_a_request_that_waits_sets_no_metadata_anew_when_it_begins(tmp_path: Path) -> None:
    async with backend(tmp_path / "t.db", saying("A"), extensions=[Ruling()]) as inside:
        later = message("Hi", thread_id=THREAD, on_busy="queue", after_seconds=60)
        await inside.runs.start_or_queue(ANN, later, "native")
        assert await inside.store.metadata("ann", [THREAD]) == {THREAD: {"team": "blue"}}
        [queued] = await inside.store.queue(KEY)
        assert queued.request.thread_metadata is None


async def test_rules_leave_what_the_stream_of_a_run_tells(tmp_path: Path) -> None:
    class Noting(Ruling):
        async def filter(self, *given: Any) -> MetadataFilter:
            given[-1]["metadata"]["by"] = "ann"
            return EVERYTHING

    async with backend(tmp_path / "t.db", saying(), extensions=[Noting()]) as inside:
        asked = message("Hi", thread_id=THREAD, record=RunRecord("chat", {}, ("updates",)))
        started = await inside.runs.reach.start(ANN, asked)
        assert started.record == RunRecord("chat", {"by": "ann"}, ("updates",))


async def test_a_deleted_thread_that_does_not_match_is_not_replaced(tmp_path: Path) -> None:
    async with backend(tmp_path / "t.db", saying(), extensions=[Ruling(), Undoing(None)]) as inside:
        await inside.store.create(KEY, metadata={"team": "red"})
        await inside.runs.delete(KEY, at_once=False)
        with pytest.raises(UnknownThread):
            await inside.runs.start_or_queue(ANN, message("Hi", thread_id=THREAD), "native")
        assert await inside.runs.deletions.restore(KEY)


async def test_an_idempotency_key_leads_to_no_thread_that_does_not_match(tmp_path: Path) -> None:
    rules, key = Ruling(), IdempotencyKey("k1", "digest")
    async with backend(tmp_path / "t.db", saying("A"), extensions=[rules]) as inside:
        start = partial(inside.runs.start_or_queue, ANN, message("Hi"), "native", key)
        run = await start()
        again = await start()
        assert isinstance(run, LoggedRun)
        assert isinstance(again, LoggedRun)
        assert again.header.run_id == run.header.run_id
        rules.sees = "red"
        with pytest.raises(UnknownThread):
            await start()
