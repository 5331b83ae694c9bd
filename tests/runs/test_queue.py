"""Requests that wait for their turn on a thread: kept, in order, begun once each."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from sqlalchemy import Connection, update

from tests.support.backend import (
    THREAD,
    Backend,
    after_crash,
    answers,
    backend,
    chunks_of,
    key_of,
    message,
)
from tests.support.gated_tools import GatedTools, approvals, decide
from tests.support.run_chunks import QUESTION, SELECTION
from tests.support.scripted_model import Piece, ScriptedModel, call, finish, text
from tests.support.waiting import HeldMethod, eventually, until
from turnstream.server.callers.principal import LOCAL, Principal
from turnstream.server.callers.rights import LimitExceeded, Rights
from turnstream.server.extensions.base import EXTENSION_API, Extension
from turnstream.server.formats import DEFAULT
from turnstream.server.runs import queue
from turnstream.server.runs.busy_threads import RunInProgress
from turnstream.server.runs.lives import StreamLost
from turnstream.server.runs.queue import QueuedRun, Withdrawn
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.runs.thread_version import UnknownThread
from turnstream.server.storage import queued_rows
from turnstream.server.storage.checkpointer import SqliteCheckpointer
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.storage.location import Location, PostgresUrl
from turnstream.server.storage.ownership import assign
from turnstream.server.storage.queued_requests import QueuedRequest, QueueFull
from turnstream.server.storage.store import SqliteStore
from turnstream.server.storage.tables import queued_requests
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import (
    AppContext,
    ApprovalAnswer,
    Branch,
    ClientTool,
    GraphValues,
    IdempotencyKey,
    ImageContent,
    InvalidRequest,
    OnBusy,
    Resume,
    RunOptions,
    RunRecord,
    StateUpdate,
    TextContent,
    ToolAnswer,
    TurnRequest,
    UserMessage,
    WrittenMessage,
)

KEY = IdempotencyKey("k1", "the body")
PAYMENTS = ((0, "_slowly"), (1, ""))


@pytest.fixture
def gate() -> asyncio.Event:
    """The first run stands still in its answer until this is set."""
    return asyncio.Event()


@pytest.fixture
def model(gate: asyncio.Event) -> ScriptedModel:
    return ScriptedModel.of([text("One"), gate, finish()])


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    if request.param == "sqlite":
        return tmp_path / "t.db"
    url: PostgresUrl = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def inside(location: Location, model: ScriptedModel) -> AsyncIterator[Backend]:
    async with backend(location, model, max_queued_requests=3) as inside:
        yield inside


@pytest.fixture
async def first(inside: Backend) -> LoggedRun:
    """A live run."""
    return await inside.start(message("A"))


async def said(inside: Backend) -> list[str]:
    """The words of the user in the thread."""
    return [m.text for m in await inside.messages() if isinstance(m, HumanMessage)]


async def waiting(inside: Backend) -> list[str]:
    """The words of the requests that wait, in order."""
    found = await inside.store.queue(key_of())
    return [one.request.message.text for one in found if one.request.message and not one.has_begun]


async def wake_nobody(_key: ThreadKey) -> None:
    """In place of `RunQueue._try_next`: the test begins the request itself."""


async def is_through(inside: Backend) -> None:
    """Wait until nothing waits and nothing is live."""

    async def is_free() -> bool:
        entry = await inside.entry()
        return not await inside.store.queue(key_of()) and bool(entry and entry.run_state != "live")

    await eventually(is_free)


async def test_queued_requests_begin_one_after_the_other_in_their_order(
    inside: Backend, gate: asyncio.Event, first: LoggedRun
) -> None:
    b, c = await inside.queue(message("B")), await inside.queue(message("C"))
    assert (b.place, c.place) == (1, 2)
    assert await waiting(inside) == ["B", "C"]
    gate.set()
    await chunks_of(first)
    begun = await inside.runs.queue.begun(b)
    assert begun.header.run_id == b.run_id
    assert begun.header.user_message_id == b.message_id
    await chunks_of(await inside.runs.queue.begun(c))
    await is_through(inside)
    assert await said(inside) == ["A", "B", "C"]


async def test_the_next_request_begins_when_the_run_is_stopped(
    inside: Backend, first: LoggedRun
) -> None:
    await inside.queue(message("B"))
    entry = await inside.stop()
    assert entry
    assert (entry.run_id, entry.run_state) == (first.header.run_id, "stopped")
    await is_through(inside)
    assert await said(inside) == ["A", "B"]


async def test_the_next_request_begins_when_the_run_fails(tmp_path: Path) -> None:
    gate = asyncio.Event()
    script: list[Piece] = [text("One"), gate, RuntimeError("No more.")]
    async with backend(tmp_path / "t.db", ScriptedModel.of(script)) as inside:
        await inside.start(message("A"))
        await inside.queue(message("B"))
        gate.set()
        await is_through(inside)
        assert await said(inside) == ["A", "B"]


async def test_a_free_thread_takes_the_request_at_once(inside: Backend) -> None:
    asked = replace(message("A"), thread_id=THREAD, on_busy="queue")
    run = await inside.runs.start_or_queue(LOCAL, asked, DEFAULT.name)
    assert isinstance(run, LoggedRun)


@pytest.mark.usefixtures("first")
async def test_a_request_that_is_sent_again_is_queued_once(
    inside: Backend, gate: asyncio.Event
) -> None:
    queued = await inside.queue(message("B"), key=KEY)
    again = await inside.queue(message("B"), key=KEY)
    assert again.run_id == queued.run_id
    assert await waiting(inside) == ["B"]
    with pytest.raises(InvalidRequest, match="another body"):
        await inside.queue(message("C"), key=IdempotencyKey("k1", "another"))
    gate.set()
    await chunks_of(await inside.runs.queue.begun(queued))
    await is_through(inside)
    asked = replace(message("B"), thread_id=THREAD, on_busy="queue")
    late = await inside.runs.start_or_queue(LOCAL, asked, DEFAULT.name, KEY)
    assert isinstance(late, LoggedRun)
    assert late.header.run_id == queued.run_id
    assert await said(inside) == ["A", "B"]


async def test_a_request_that_is_sent_again_finds_its_run_though_another_one_waits(
    inside: Backend, gate: asyncio.Event
) -> None:
    asked = replace(message("A"), thread_id=THREAD, on_busy="queue")
    runs = []
    for _ in range(2):
        runs.append(await inside.runs.start_or_queue(LOCAL, asked, DEFAULT.name, KEY))
        await inside.queue(message("B"))
    first, again = runs
    assert isinstance(first, LoggedRun)
    assert isinstance(again, LoggedRun)
    assert again.header.run_id == first.header.run_id
    gate.set()
    await is_through(inside)
    assert await said(inside) == ["A", "B", "B"]


@pytest.mark.usefixtures("first")
async def test_the_place_counts_the_requests_that_begin_ahead(inside: Backend) -> None:
    b, c = await inside.queue(message("B")), await inside.queue(message("C"))
    await inside.store.refuse_queued(key_of(), b.run_id, ("forbidden", "No."))
    d = await inside.queue(message("D"))
    assert d.place == 2
    found = [await inside.runs.queue.find(key_of(), one.run_id) for one in (c, d)]
    assert [one.place for one in found if one] == [1, 2]


@pytest.mark.usefixtures("first")
async def test_a_request_is_kept_as_it_was_posted(inside: Backend) -> None:
    asked = TurnRequest(
        thread_id=THREAD,
        message=UserMessage((TextContent("B"), ImageContent("https://x/y.png", "A cat")), "m1"),
        answers=(ToolAnswer("c1", {"value": ["red", 1.5, None]}, is_any_copy=True),),
        approvals=(ApprovalAnswer("c2", approved=True, args={"a": 1}),),
        client_tools=(ClientTool("draw", "Draws.", {"type": "object"}),),
        app_context=(AppContext("page", "home"),),
        values=GraphValues({"a": 1}, {"b": "2"}, {"c": [3]}),
        options=RunOptions("*", ("tools",), 7),
        record=RunRecord("chat", {"topic": "tides"}),
        allowed_tools=("calculator",),
        resume=Resume({"i1": True}),
        update=StateUpdate((WrittenMessage("user", (TextContent("C"),)),), only=frozenset({"m1"})),
        on_busy="queue",
    )
    await inside.runs.queue.add(LOCAL, key_of(), asked, DEFAULT.name, None)
    [kept] = await inside.store.queue(key_of())
    assert kept.request == asked


@pytest.mark.usefixtures("first")
async def test_the_state_of_a_client_is_not_kept_since_the_runs_ahead_change_it(
    inside: Backend,
) -> None:
    queued = message("B", posted_state={"todos": ["tea"]}, on_busy="queue")
    await inside.runs.queue.add(LOCAL, key_of(), replace(queued, thread_id=THREAD), "ag-ui", None)
    [kept] = await inside.store.queue(key_of())
    assert kept.request.posted_state is None


@pytest.mark.usefixtures("first")
async def test_what_goes_back_in_the_thread_does_not_wait_unless_its_message_is_new(
    inside: Backend, gate: asyncio.Event
) -> None:
    new = UserMessage((TextContent("B"),), "m1")
    at_it = TurnRequest(message=new, branch=Branch("regenerate", "m1"))
    await inside.queue(at_it)
    for late in (
        at_it,
        replace(at_it, branch=Branch("edit", "m1")),
        TurnRequest(branch=Branch("regenerate", None)),
        replace(message("B"), head="1ef"),
    ):
        asked = replace(late, thread_id=THREAD, on_busy="queue")
        with pytest.raises(RunInProgress):
            await inside.runs.start_or_queue(LOCAL, asked, DEFAULT.name)
    gate.set()
    await is_through(inside)
    assert await said(inside) == ["A", "B"]


@pytest.mark.usefixtures("first")
async def test_a_full_queue_takes_no_more(inside: Backend) -> None:
    for words in "BCD":
        await inside.queue(message(words))
    with pytest.raises(QueueFull):
        await inside.queue(message("E"))
    assert await waiting(inside) == ["B", "C", "D"]


@pytest.mark.usefixtures("first")
async def test_a_request_that_waits_can_be_edited_and_withdrawn(
    inside: Backend, gate: asyncio.Event
) -> None:
    b, c = await inside.queue(message("B")), await inside.queue(message("C"), key=KEY)
    assert await inside.runs.queue.edit(LOCAL, key_of(), b.run_id, message("Better"))
    assert await inside.runs.queue.withdraw(key_of(), c.run_id)
    assert not await inside.runs.queue.withdraw(key_of(), c.run_id)
    with pytest.raises(Withdrawn):
        await inside.runs.queue.begun(c)
    d = await inside.queue(message("D"), key=KEY)  # The key is free again.
    gate.set()
    await chunks_of(await inside.runs.queue.begun(d))
    await is_through(inside)
    assert await said(inside) == ["A", "Better", "D"]
    assert await inside.runs.queue.edit(LOCAL, key_of(), b.run_id, message("Late")) is None
    assert not await inside.runs.queue.withdraw(key_of(), b.run_id)


@pytest.mark.usefixtures("first")
async def test_the_last_withdrawn_runs_of_a_thread_are_listed_where_that_is_asked_for(
    inside: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queued_rows, "MAX_WITHDRAWN", 2)
    record = RunRecord("mine", {"topic": "tides"})
    ids = list[str]()
    for _ in range(4):
        queued = await inside.queue(replace(message("B"), record=record))
        assert await inside.runs.queue.withdraw(key_of(), queued.run_id, is_listed=True)
        ids.append(queued.run_id)
    queued = await inside.queue(message("C"))
    assert await inside.runs.queue.withdraw(key_of(), queued.run_id)
    listed = await inside.store.withdrawn(key_of())
    assert [run.run_id for run in listed] == ids[:1:-1]
    assert listed[0].record == record


@pytest.mark.usefixtures("first")
async def test_requests_that_wait_begin_in_the_order_that_they_are_given(
    inside: Backend, gate: asyncio.Event
) -> None:
    b, c, d = [await inside.queue(message(words)) for words in "BCD"]
    move = inside.runs.queue.move
    assert await move(key_of(), d.run_id, 1)
    assert await waiting(inside) == ["D", "B", "C"]
    assert await move(key_of(), d.run_id, 2)
    assert await move(key_of(), b.run_id, 10**30)
    assert await waiting(inside) == ["D", "C", "B"]
    assert await inside.runs.queue.withdraw(key_of(), c.run_id)
    assert await move(key_of(), c.run_id, 1) is None
    gate.set()
    await is_through(inside)
    assert await said(inside) == ["A", "D", "B"]


async def test_a_stop_of_one_run_leaves_the_run_behind_it_alone(
    inside: Backend, model: ScriptedModel, first: LoggedRun
) -> None:
    b, ends = await inside.queue(message("B")), asyncio.Event()
    model.script([text("Second."), ends, finish()])
    await inside.runs.stop(key_of(), b.run_id)
    assert (await first.log.status()).state == "live"
    await inside.runs.stop(key_of(), first.header.run_id)
    second = await inside.runs.queue.begun(b)
    entry = await inside.runs.stop(key_of(), first.header.run_id)
    assert entry
    assert (entry.run_id, entry.run_state) == (b.run_id, "live")
    ends.set()
    assert "Second." in str(await chunks_of(second))


@pytest.mark.parametrize("goes_past", [False, True])
async def test_a_request_waits_while_a_question_waits_and_who_answers_or_passes_it_goes_ahead(
    tmp_path: Path, gate: asyncio.Event, *, goes_past: bool
) -> None:
    asks = call(QUESTION, name=SELECTION, id="call_1")
    model = ScriptedModel.of([text("One"), gate, asks, finish("tool_calls")])
    async with backend(tmp_path / "t.db", model) as inside:
        first = await inside.start(message("A"))
        await inside.queue(message("B"))
        gate.set()
        await chunks_of(first)
        await inside.runs.queue.sweep()
        assert await waiting(inside) == ["B"]
        asked = message("C") if goes_past else answers(("call_1", {"value": "red"}))
        asked = replace(asked, thread_id=THREAD, on_busy="queue")
        run = await inside.runs.start_or_queue(LOCAL, asked, DEFAULT.name)
        assert isinstance(run, LoggedRun)
        await is_through(inside)
        assert await said(inside) == (["A", "C", "B"] if goes_past else ["A", "B"])
        assert [m.type for m in (await inside.messages())[:3]] == ["human", "ai", "tool"]


async def test_a_message_waits_for_the_answer_to_a_question_that_its_author_has_not_seen(
    tmp_path: Path,
) -> None:
    asks = call(QUESTION, name=SELECTION, id="call_1")
    async with backend(tmp_path / "t.db", ScriptedModel.of([asks, finish("tool_calls")])) as inside:
        await inside.turn(message("A"))
        request = replace(message("B"), thread_id=THREAD, on_interrupt="queue")
        with pytest.raises(InvalidRequest, match="waits for an answer"):
            await inside.start(request)
        queued = await inside.runs.start_or_queue(
            LOCAL, replace(request, on_busy="queue"), DEFAULT.name
        )
        assert isinstance(queued, QueuedRun)
        await inside.runs.queue.sweep()
        assert await waiting(inside) == ["B"]
        await inside.turn(answers(("call_1", {"value": "red"})))
        await is_through(inside)
        assert await said(inside) == ["A", "B"]
        assert [m.type for m in (await inside.messages())[:3]] == ["human", "ai", "tool"]


async def test_a_message_that_comes_with_the_answer_to_a_question_does_not_wait_for_it(
    tmp_path: Path,
) -> None:
    asks = call(QUESTION, name=SELECTION, id="call_1")
    async with backend(tmp_path / "t.db", ScriptedModel.of([asks, finish("tool_calls")])) as inside:
        await inside.turn(message("A"))
        given = answers(("call_1", {"value": "red"}))
        await inside.turn(replace(given, message=message("B").message, on_interrupt="queue"))
        assert await said(inside) == ["A", "B"]


async def test_a_request_waits_for_no_approval_that_has_expired(
    tmp_path: Path, gate: asyncio.Event
) -> None:
    pays = call('{"word": "rent"}', name="pay", id="c1")
    model = ScriptedModel.of([text("One"), gate, pays, finish("tool_calls")])
    tools = GatedTools()
    async with backend(
        tmp_path / "t.db", model, catalogue=tools.catalogue, approval_seconds=1e-9
    ) as inside:
        await inside.start(message("A"))
        await inside.queue(message("B"))
        gate.set()
        await is_through(inside)
        assert await said(inside) == ["A", "B"]
    assert not tools.calls


async def test_a_request_waits_for_an_approval_that_a_stopped_run_has_left_open(
    tmp_path: Path,
) -> None:
    pays = [call('{"word": "rent"}', name=f"pay{n}", id=f"c{i}", index=i) for i, n in PAYMENTS]
    model, tools = ScriptedModel.of([*pays, finish("tool_calls")]), GatedTools()
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await inside.turn(message("A"))
        run = await inside.start(approvals(("c0", True)))
        await tools.begun("rent")
        await inside.queue(message("B"))
        await inside.runs.stop(key_of(), run.header.run_id)
        await inside.runs.queue.sweep()
        assert await waiting(inside) == ["B"]
        await decide(inside, ("c0", False, None, None, "c0.2"), ("c1", False))
        await is_through(inside)
        assert await said(inside) == ["A", "B"]


async def test_a_message_waits_for_an_unseen_approval_that_a_stopped_run_has_left_open(
    tmp_path: Path,
) -> None:
    pays = [call('{"word": "rent"}', name=f"pay{n}", id=f"c{i}", index=i) for i, n in PAYMENTS]
    model, tools = ScriptedModel.of([*pays, finish("tool_calls")]), GatedTools()
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await inside.turn(message("A"))
        run = await inside.start(approvals(("c0", True)))
        await tools.begun("rent")
        await inside.runs.stop(key_of(), run.header.run_id)
        unseen = replace(message("B"), thread_id=THREAD, on_interrupt="queue", on_busy="queue")
        queued = await inside.runs.start_or_queue(LOCAL, unseen, DEFAULT.name)
        assert isinstance(queued, QueuedRun)
        assert await waiting(inside) == ["B"]
        await decide(inside, ("c0", False, None, None, "c0.2"), ("c1", False))
        await is_through(inside)
        assert await said(inside) == ["A", "B"]


async def test_a_request_waits_for_an_open_question_beside_an_approval_that_has_expired(
    tmp_path: Path, gate: asyncio.Event
) -> None:
    pays = call('{"word": "rent"}', name="pay", id="c1")
    asks = call(QUESTION, name=SELECTION, id="c2", index=1)
    model = ScriptedModel.of([text("One"), gate, pays, asks, finish("tool_calls")])
    tools = GatedTools()
    async with backend(
        tmp_path / "t.db", model, catalogue=tools.catalogue, approval_seconds=1e-9
    ) as inside:
        first = await inside.start(message("A"))
        await inside.queue(message("B"))
        gate.set()
        await chunks_of(first)
        await inside.runs.queue.sweep()
        assert await waiting(inside) == ["B"]
        await inside.turn(replace(answers(("c2", {"value": "red"})), thread_id=THREAD))
        await is_through(inside)
        assert await said(inside) == ["A", "B"]
    assert not tools.calls


async def test_a_request_that_is_held_back_as_its_thread_is_claimed_does_not_begin(
    postgres_url: PostgresUrl, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker stops the live run for a request of its own, at that very moment."""
    async with backend(postgres_url, model) as inside:
        monkeypatch.setattr(inside.runs.queue, "_try_next", wake_nobody)
        first = await inside.start(message("A"))
        b = await inside.queue(message("B"))
        await inside.runs.stop(key_of(), first.header.run_id)
        loop, find = asyncio.get_running_loop(), queued_rows._next

        def hold_then(*given: Any) -> str | None:
            found = find(*given)
            held = inside.store.hold_queue(key_of(), time.time() + 60)
            asyncio.run_coroutine_threadsafe(held, loop).result()
            return found

        with monkeypatch.context() as amid:
            amid.setattr(queued_rows, "_next", hold_then)
            assert await inside.store.claim_queued(key_of(), b.run_id) is None
        assert await inside.store.holder(key_of()) is None
        await inside.store.hold_queue(key_of(), None)
        assert await inside.store.claim_queued(key_of(), b.run_id)


class Telling(Extension):
    """Notes whose rights are asked for."""

    name, api = "telling", EXTENSION_API

    def __init__(self) -> None:
        self.asked: list[Principal] = []

    def rights(self, principal: Principal) -> Rights:
        self.asked.append(principal)
        return Rights(principal)


async def test_edits_and_withdrawals_are_recorded(tmp_path: Path, model: ScriptedModel) -> None:
    async with backend(tmp_path / "t.db", model, audits=True) as inside:
        await inside.start(message("A"))
        b, c = await inside.queue(message("B")), await inside.queue(message("C"))
        await inside.runs.queue.edit(LOCAL, key_of(), b.run_id, message("Better"))
        for run_id in (c.run_id, c.run_id):
            await inside.runs.queue.withdraw(key_of(), run_id)
        records = [one for one in await inside.recorded() if one.event.startswith("request_")]
        assert [(one.event, one.run_id) for one in records] == [
            ("request_edited", b.run_id),
            ("request_withdrawn", c.run_id),
        ]


async def test_a_request_that_was_edited_begins_with_the_rights_of_who_edited_it(
    tmp_path: Path, model: ScriptedModel, gate: asyncio.Event
) -> None:
    chief = Principal("ann", ("chief",), method="key")
    ann = replace(chief, roles=(), credential="another")
    telling = Telling()
    async with backend(tmp_path / "t.db", model, extensions=[telling]) as inside:
        first = await inside.start(message("A"), principal=chief)
        queued, key = await inside.queue(message("B"), principal=chief), ThreadKey("ann", THREAD)
        assert await inside.runs.queue.edit(ann, key, queued.run_id, message("Better"))
        [row] = await inside.store.queue(key)
        assert row.roles == ()
        telling.asked.clear()
        gate.set()
        await chunks_of(first)
        await chunks_of(await inside.runs.queue.begun(queued))
        assert {one.credential for one in telling.asked} == {"another"}


async def test_a_run_whose_callers_token_has_expired_since_does_without_it(
    tmp_path: Path, model: ScriptedModel, gate: asyncio.Event
) -> None:
    ann = Principal("ann", method="token", token="secret", expires_at=time.time() - 1)
    telling = Telling()
    async with backend(tmp_path / "t.db", model, extensions=[telling]) as inside:
        first = await inside.start(message("A"), principal=ann)
        queued = await inside.queue(message("B"), principal=ann)
        telling.asked.clear()
        gate.set()
        await chunks_of(first)
        await chunks_of(await inside.runs.queue.begun(queued))
        assert {(one.method, one.token) for one in telling.asked} == {("queue", None)}


async def test_a_request_whose_thread_gets_another_owner_begins_as_theirs(
    tmp_path: Path, gate: asyncio.Event
) -> None:
    ann, ben = Principal("ann", ("chief",), method="key"), Principal("ben", method="key")
    asks = call(QUESTION, name=SELECTION, id="call_1")
    model, telling = ScriptedModel.of([text("One"), gate, asks, finish("tool_calls")]), Telling()
    async with backend(tmp_path / "t.db", model, extensions=[telling]) as inside:
        first = await inside.start(message("A"), principal=ann)
        await inside.queue(message("B"), principal=ann)
        gate.set()
        await chunks_of(first)
        assert (await assign(inside.store, "ann", "ben")).count == 1
        telling.asked.clear()
        await inside.turn(answers(("call_1", {"value": "red"})), principal=ben)
        key = ThreadKey("ben", THREAD)

        async def is_empty() -> bool:
            return not await inside.store.queue(key)

        await eventually(is_empty)
        assert {one.method for one in telling.asked} == {"key", "queue"}
        assert {(one.id, one.roles) for one in telling.asked} == {("ben", ())}


@pytest.mark.usefixtures("first")
async def test_a_request_that_its_thread_cannot_take_keeps_its_reason_and_holds_up_nobody(
    inside: Backend, gate: asyncio.Event
) -> None:
    wrong = await inside.queue(TurnRequest(continue_=True))
    c = await inside.queue(message("C"))
    gate.set()
    with pytest.raises(InvalidRequest) as refused:
        await inside.runs.queue.begun(wrong)
    assert refused.value.code == "nothing_to_continue"
    await chunks_of(await inside.runs.queue.begun(c))
    [left] = await inside.store.queue(key_of())
    assert left.problem == ("nothing_to_continue", refused.value.message)
    assert await inside.runs.queue.edit(LOCAL, key_of(), wrong.run_id, message("B"))
    await is_through(inside)
    assert await said(inside) == ["A", "C", "B"]


@pytest.mark.usefixtures("first")
async def test_a_request_that_cannot_be_read_holds_up_nobody_and_can_be_withdrawn(
    inside: Backend, gate: asyncio.Event
) -> None:
    b, c = await inside.queue(message("B")), await inside.queue(message("C"))

    def spoil(connection: Connection) -> None:
        of_b = queued_requests.c.run_id == b.run_id
        connection.execute(update(queued_requests).where(of_b).values(request='{"message": 1}'))

    await inside.store.write(spoil)
    await inside.queue(message("D"))
    gate.set()
    with pytest.raises(InvalidRequest, match="cannot be read"):
        await inside.runs.queue.begun(b)
    await chunks_of(await inside.runs.queue.begun(c))
    assert await inside.runs.queue.withdraw(key_of(), b.run_id)
    await is_through(inside)
    assert await said(inside) == ["A", "C", "D"]


async def make_due(inside: Backend) -> None:
    """Have requests of the thread be due, as if their time had come."""

    def change(connection: Connection) -> None:
        late = queued_requests.c.due_at.is_not(None)
        connection.execute(update(queued_requests).where(late).values(due_at=time.time() - 1))

    await inside.store.write(change)


async def test_a_request_for_later_holds_up_nobody_and_begins_when_it_is_due(
    inside: Backend, gate: asyncio.Event
) -> None:
    later = await inside.queue(message("Later", after_seconds=3_600))
    first = await inside.start(message("A"))
    await inside.queue(message("B"))
    gate.set()
    await chunks_of(first)

    async def has_b() -> bool:
        return await said(inside) == ["A", "B"] and await waiting(inside) == ["Later"]

    await eventually(has_b)
    await inside.runs.queue.sweep()
    assert await inside.store.due_queues(9) == []
    await make_due(inside)
    await inside.runs.queue.sweep()
    await chunks_of(await inside.runs.queue.begun(later))
    await is_through(inside)
    assert await said(inside) == ["A", "B", "Later"]


async def test_a_database_of_an_earlier_version_takes_requests_for_later(
    tmp_path: Path, model: ScriptedModel
) -> None:
    async with backend(tmp_path / "t.db", model):
        pass
    with closing(sqlite3.connect(tmp_path / "t.db")) as database:
        database.execute("ALTER TABLE queued_requests DROP COLUMN due_at")
    async with backend(tmp_path / "t.db", model) as inside:
        await inside.queue(message("Later", after_seconds=3_600))
        [queued] = await inside.store.queue(key_of())
        assert queued.due_at is not None
        assert queued.due_at - queued.queued_at == 3_600


@pytest.mark.parametrize("on_busy", ["stop", "rollback"])
async def test_a_request_for_later_that_waits_for_nobody_takes_the_place_of_the_one_before(
    inside: Backend, first: LoggedRun, on_busy: OnBusy
) -> None:
    one = await inside.queue(message("One", after_seconds=3_600))
    two = replace(message("Two", after_seconds=3_600), thread_id=THREAD, on_busy=on_busy)
    queued = await inside.runs.start_or_queue(LOCAL, two, DEFAULT.name)
    assert isinstance(queued, QueuedRun)
    await chunks_of(first)
    assert await waiting(inside) == ["Two"]
    assert await said(inside) == (["A"] if on_busy == "stop" else [])
    with pytest.raises(Withdrawn):
        await inside.runs.queue.begun(one)


async def later(inside: Backend, words: str, on_busy: OnBusy = "queue") -> QueuedRun:
    asked = replace(message(words, after_seconds=3_600), thread_id=THREAD, on_busy=on_busy)
    queued = await inside.runs.start_or_queue(LOCAL, asked, DEFAULT.name)
    assert isinstance(queued, QueuedRun)
    return queued


async def test_of_requests_for_later_that_replace_each_other_at_once_one_waits(
    inside: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    await later(inside, "One")
    enqueue, both = inside.store.enqueue, asyncio.Barrier(2)

    async def together(*args: Any) -> int | None:
        place = await enqueue(*args)
        await both.wait()
        return place

    monkeypatch.setattr(inside.store, "enqueue", together)
    await asyncio.gather(*(later(inside, words, "stop") for words in ("Two", "Three")))
    left = await waiting(inside)
    assert left
    assert "One" not in left


async def test_a_request_for_later_that_a_full_queue_refuses_stops_no_run(
    inside: Backend, first: LoggedRun, gate: asyncio.Event
) -> None:
    for words in ("B", "C", "D"):
        await inside.queue(message(words))
    for on_busy in ("stop", "rollback"):
        with pytest.raises(QueueFull):
            await later(inside, "Later", on_busy)
    entry = await inside.entry()
    assert entry
    assert (entry.run_id, entry.run_state) == (first.header.run_id, "live")
    gate.set()
    await chunks_of(first)
    await is_through(inside)
    assert await said(inside) == ["A", "B", "C", "D"]


async def test_a_full_queue_takes_a_request_in_the_place_of_those_that_are_due_later(
    inside: Backend,
) -> None:
    for words in ("One", "Two", "Three"):
        await later(inside, words)
    with pytest.raises(QueueFull):
        await later(inside, "Four")
    await later(inside, "Five", "stop")
    assert await waiting(inside) == ["Five"]


@pytest.mark.usefixtures("first")
async def test_a_request_for_later_is_ahead_of_none_that_begins_before_it(inside: Backend) -> None:
    one = await later(inside, "One")
    b, c = await inside.queue(message("B")), await inside.queue(message("C"))
    assert [one.place, b.place, c.place] == [1, 1, 2]
    found = [await inside.runs.queue.find(key_of(), run.run_id) for run in (b, c)]
    assert [run.place for run in found if run] == [1, 2]


async def test_a_request_for_later_that_goes_on_in_no_thread_makes_none(inside: Backend) -> None:
    asked = TurnRequest(THREAD, continue_=True, after_seconds=3_600)
    with pytest.raises(UnknownThread):
        await inside.runs.start_or_queue(LOCAL, asked, DEFAULT.name)
    assert await inside.entry() is None


@pytest.mark.usefixtures("first")
async def test_a_request_that_stops_the_run_goes_ahead_of_those_that_wait(inside: Backend) -> None:
    await inside.queue(message("B"))
    await inside.queue(message("C"))
    await inside.turn(replace(message("Now"), on_busy="stop"))
    await is_through(inside)
    assert await said(inside) == ["A", "Now", "B", "C"]


@pytest.mark.usefixtures("first")
async def test_a_request_that_cannot_be_saved_waits_on(
    inside: Backend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = await inside.queue(message("B"), key=KEY)

    async def waits() -> bool:
        """Nobody is trying to begin it."""
        return await _is_free(inside) and await waiting(inside) == ["B"]

    with monkeypatch.context() as patch:
        tried = asyncio.Event()

        async def fail(*_given: object, **_named: object) -> None:
            tried.set()
            raise StorageUnavailable("storage_full")

        patch.setattr(inside.store, "begin_run", fail)
        gate.set()
        await tried.wait()
        await eventually(waits)
    assert (await inside.queue(message("B"), key=KEY)).run_id == queued.run_id
    await inside.runs.queue.sweep()
    await is_through(inside)
    assert await said(inside) == ["A", "B"]


async def test_a_request_that_cannot_be_saved_is_not_tried_again_at_once(
    tmp_path: Path, model: ScriptedModel, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_given: object) -> None:
        raise StorageUnavailable("storage_full")

    tried = list[ThreadKey]()

    async def noted(key: ThreadKey) -> None:
        tried.append(key)

    async with backend(tmp_path / "t.db", model) as inside:
        await inside.start(message("A"))
        await inside.queue(message("B"))
        begins = HeldMethod(monkeypatch, inside.store, "begin_run", once=True)
        gate.set()
        await begins.reached.wait()
        monkeypatch.setattr(inside.runs.queue, "_try_next", noted)
        with monkeypatch.context() as patch:
            patch.setattr(SqliteCheckpointer, "aput", fail)
            begins.through.set()
            await eventually(lambda: _waits_for_nobody(inside))
            await until(lambda: not inside.runs.unsaved)
        assert tried == []


@pytest.mark.usefixtures("first")
async def test_who_waits_for_a_run_waits_on_while_the_database_cannot_be_read(
    inside: Backend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued, failed = await inside.queue(message("B")), asyncio.Event()
    look = inside.store.queued_state

    async def fail_once(key: ThreadKey, run_id: str) -> Any:
        if failed.is_set():
            return await look(key, run_id)
        failed.set()
        raise StorageUnavailable("storage_busy")

    monkeypatch.setattr(inside.store, "queued_state", fail_once)
    waits = asyncio.create_task(inside.runs.queue.begun(queued))
    await failed.wait()
    gate.set()
    assert await chunks_of(await waits)
    await is_through(inside)


@pytest.mark.usefixtures("first")
async def test_of_a_run_whose_log_is_gone_nobody_says_that_it_was_withdrawn(
    inside: Backend, gate: asyncio.Event
) -> None:
    queued = await inside.queue(message("B"))
    gate.set()
    await chunks_of(await inside.runs.queue.begun(queued))
    await is_through(inside)
    await inside.turn(message("C"))
    await inside.runs._lives._logs.discard(queued.run_id)
    with pytest.raises(StreamLost):
        await inside.runs.queue.begun(queued)


@pytest.mark.usefixtures("first")
async def test_a_thread_whose_owner_has_used_up_a_limit_is_not_tried_at_every_sweep(
    inside: Backend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued, tries = await inside.queue(message("B")), list[str]()

    async def limited(_key: ThreadKey, run_id: str, _by: Principal | None) -> bool:
        tries.append(run_id)
        raise LimitExceeded("tokens_per_day", 1, 3600)

    async def swept(_key: ThreadKey) -> None:
        raise AssertionError("a sweep has tried it")

    with monkeypatch.context() as patch:
        patch.setattr(inside.runs.queue, "_begin", limited)
        gate.set()
        await until(lambda: not inside.runs.unsaved)
        await inside.runs.queue._try_next(key_of())
        assert {*tries} == {queued.run_id}
        patch.setattr(inside.runs.queue, "_try_next", swept)
        await inside.runs.queue.sweep()
    assert await inside.runs.queue.edit(LOCAL, key_of(), queued.run_id, message("Better"))
    await is_through(inside)
    assert await said(inside) == ["A", "Better"]


async def _is_free(inside: Backend) -> bool:
    return await inside.store.holder(key_of()) is None


@pytest.mark.usefixtures("first")
async def test_a_thread_that_is_deleted_takes_its_queue_along(
    inside: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "SWEEP_SECONDS", 0.01)
    queued = await inside.queue(message("B"))
    waits = asyncio.create_task(inside.runs.queue.begun(queued))
    await inside.runs.delete(key_of(), at_once=True)
    with pytest.raises(Withdrawn):
        await waits
    assert await inside.store.queue(key_of()) == []
    assert await inside.entry() is None


@pytest.mark.usefixtures("first")
async def test_edits_and_withdrawals_that_come_as_the_run_begins_are_refused_not_lost(
    inside: Backend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = await inside.queue(message("B"))
    plans = HeldMethod(monkeypatch, inside.checkpoints, "load", once=True)
    gate.set()
    await plans.reached.wait()
    assert await inside.runs.queue.edit(LOCAL, key_of(), queued.run_id, message("Late")) is None
    assert not await inside.runs.queue.withdraw(key_of(), queued.run_id)
    plans.through.set()
    await is_through(inside)
    assert await said(inside) == ["A", "B"]


@pytest.mark.usefixtures("first")
async def test_a_thread_is_claimed_for_its_next_request_alone(
    inside: Backend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = inside.store.claim_queued
    with monkeypatch.context() as patch:
        patch.setattr(inside.runs.queue, "_try_next", wake_nobody)
        b, c = await inside.queue(message("B")), await inside.queue(message("C"))
        gate.set()
        await eventually(lambda: _is_free(inside))
        assert await claim(key_of(), c.run_id) is None
        assert await inside.store.withdraw(key_of(), b.run_id)
        assert await claim(key_of(), b.run_id) is None
        assert await _is_free(inside)
    await inside.runs.queue.sweep()
    await is_through(inside)
    assert await said(inside) == ["A", "C"]


@pytest.mark.usefixtures("first")
async def test_a_claim_whose_beginning_is_cancelled_while_it_is_committed_is_released(
    inside: Backend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, through = queued_rows.claim, Event()
    loop, committing = asyncio.get_running_loop(), asyncio.Event()

    def held(connection: Connection, *given: Any) -> Any:
        loop.call_soon_threadsafe(committing.set)
        through.wait()
        return claim(connection, *given)

    with monkeypatch.context() as patch:
        patch.setattr(inside.runs.queue, "_try_next", wake_nobody)
        queued = await inside.queue(message("B"))
        gate.set()
        await eventually(lambda: _is_free(inside))
        patch.setattr(queued_rows, "claim", held)
        beginning = asyncio.create_task(inside.runs.queue.begin_next(key_of()))
        await committing.wait()
        beginning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await beginning
        through.set()

    async def has_begun() -> bool:
        await inside.runs.queue.sweep()
        return not await inside.store.queue(key_of())

    await eventually(has_begun)
    await chunks_of(await inside.runs.queue.begun(queued))
    await is_through(inside)
    assert await said(inside) == ["A", "B"]


async def _waits_for_nobody(inside: Backend) -> bool:
    """Its request waits, and nothing has claimed the thread."""
    [row] = await inside.store.queue(key_of())
    return not row.has_begun and await _is_free(inside)


async def test_the_queue_goes_on_after_a_crash(tmp_path: Path, model: ScriptedModel) -> None:
    path = tmp_path / "t.db"
    async with backend(path, model) as before:
        await before.start(message("A"))
        queued = await before.queue(message("B"), key=KEY)
        await before.queue(message("C"))
        async with after_crash(path, ScriptedModel.of()) as after:
            assert (await after.queue(message("B"), key=KEY)).run_id == queued.run_id
            await after.runs.queue.sweep()
            await is_through(after)
            assert await said(after) == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("owner", "method"),
    [("checkpoints", "load"), ("store", "begin_run"), ("store", "forget_queued")],
)
async def test_a_crash_as_a_queued_run_begins_neither_loses_nor_doubles_its_request(
    owner: str, method: str, tmp_path: Path, model: ScriptedModel, gate: asyncio.Event
) -> None:
    path = tmp_path / "t.db"
    async with backend(path, model) as before:
        await before.start(message("A"))
        await before.queue(message("B"), key=KEY)
        await before.queue(message("C"))
        with pytest.MonkeyPatch.context() as patch:
            at = HeldMethod(patch, getattr(before, owner), method, once=True)
            gate.set()
            await at.reached.wait()
            async with after_crash(path, ScriptedModel.of()) as after:
                await after.runs.queue.sweep()
                await is_through(after)
                assert await said(after) == ["A", "B", "C"]
            at.through.set()
        await is_through(before)
        assert await said(before) == ["A", "B", "C"]


async def test_a_request_whose_run_is_lost_twice_as_it_begins_is_kept(
    tmp_path: Path, model: ScriptedModel, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    async with backend(path, model) as before:
        await before.start(message("A"))
        await before.queue(message("B"), key=KEY)
        begun = HeldMethod(monkeypatch, before.store, "begin_run", once=True, done=True)
        gate.set()
        await begun.reached.wait()
        async with after_crash(path, ScriptedModel.of()) as once:
            plans = HeldMethod(monkeypatch, once.checkpoints, "load", once=True)
            sweeping = asyncio.create_task(once.runs.queue.sweep())
            await plans.reached.wait()
            async with after_crash(tmp_path / "after-t.db", ScriptedModel.of()) as twice:
                assert await waiting(twice) == ["B"]
                await twice.runs.queue.sweep()
                await is_through(twice)
                assert await said(twice) == ["A", "B"]
            plans.through.set()
            await sweeping
            await is_through(once)
        begun.through.set()
        await is_through(before)


@pytest.mark.usefixtures("first")
async def test_a_request_that_has_begun_is_neither_marked_nor_put_back_by_another_worker(
    inside: Backend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = await inside.queue(message("B"))
    plans = HeldMethod(monkeypatch, inside.checkpoints, "load", once=True)
    gate.set()
    await plans.reached.wait()
    await inside.store.refuse_queued(key_of(), queued.run_id, ("forbidden", "No."))
    await inside.store.settle_queues()
    [row] = await inside.store.queue(key_of())
    assert row.has_begun
    assert row.problem is None
    plans.through.set()
    await is_through(inside)
    assert await said(inside) == ["A", "B"]


@pytest.mark.usefixtures("first")
async def test_a_request_that_its_thread_has_does_not_begin_again_whoever_came_behind_it(
    inside: Backend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = await inside.queue(message("B"))
    forgets = HeldMethod(monkeypatch, inside.store, "forget_queued", once=True)
    gate.set()
    await chunks_of(await inside.runs.queue.begun(queued))
    await forgets.reached.wait()
    await inside.turn(message("C"))
    await inside.store.settle_queues()
    assert await inside.store.queue(key_of()) == []
    forgets.through.set()
    await is_through(inside)
    assert await said(inside) == ["A", "B", "C"]


async def test_a_request_behind_a_first_message_that_a_crash_has_lost_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    async with backend(path, ScriptedModel.of()) as before:
        save = HeldMethod(monkeypatch, SqliteCheckpointer, "aput", once=True)
        starting = asyncio.create_task(before.start(message("A")))
        await save.reached.wait()
        b = replace(message("B"), thread_id=THREAD)
        await before.runs.queue.add(LOCAL, key_of(), b, DEFAULT.name, None)
        async with after_crash(path, ScriptedModel.of()) as after:
            await after.runs.queue.sweep()
            await is_through(after)
            assert await said(after) == ["B"]
        save.through.set()
        await starting
        await is_through(before)


async def test_a_request_that_comes_as_a_lost_first_message_is_forgotten_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delete = SqliteStore.delete

    async def late(store: SqliteStore, key: ThreadKey, *given: Any, **named: Any) -> bool:
        asked = replace(message("B"), thread_id=THREAD)
        assert await store.enqueue(QueuedRequest(key, "run-b", DEFAULT.name, asked, 0.0), 3)
        return await delete(store, key, *given, **named)

    path = tmp_path / "t.db"
    async with backend(path, ScriptedModel.of()) as before:
        save = HeldMethod(monkeypatch, SqliteCheckpointer, "aput", once=True)
        starting = asyncio.create_task(before.start(message("A")))
        await save.reached.wait()
        monkeypatch.setattr(SqliteStore, "delete", late)
        async with after_crash(path, ScriptedModel.of()) as after:
            await after.runs.queue.sweep()
            await is_through(after)
            assert await said(after) == ["B"]
        save.through.set()
        await starting
        await is_through(before)


def asking_twice(gate: asyncio.Event) -> Any:
    """Builds a graph that asks, works until the gate is open, and asks again."""

    async def ask(_state: Any) -> dict[str, Any]:
        first = interrupt("First?")
        await gate.wait()
        return {"messages": [("ai", first + interrupt("Second?"))]}

    def build(_model: Any, _catalogue: Any, *, checkpointer: Any, **_: Any) -> Any:
        builder: Any = StateGraph(MessagesState)
        builder.add_node("ask", ask)
        builder.add_edge(START, "ask")
        return builder.compile(checkpointer=checkpointer)

    return build


async def test_what_names_no_question_does_not_wait_for_one_that_nobody_has_seen(
    tmp_path: Path, gate: asyncio.Event
) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel(), build=asking_twice(gate)) as inside:
        await inside.turn(message())
        yes = TurnRequest(thread_id=THREAD, resume=Resume("yes"), on_busy="queue")
        run = await inside.runs.start_or_queue(LOCAL, yes, DEFAULT.name)
        assert isinstance(run, LoggedRun)
        for late in (yes, replace(yes, resume=None, update=StateUpdate(ends=True))):
            with pytest.raises(RunInProgress):
                await inside.runs.start_or_queue(LOCAL, late, DEFAULT.name)
        await inside.queue(TurnRequest(resume=Resume({"f" * 32: "yes"})))
        gate.set()
        await chunks_of(run)
        [question] = (await inside.state()).interrupts
        assert question.value == "Second?"
