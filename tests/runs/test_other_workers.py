"""Several workers on one store: any of them reads, stops, deletes and continues what another runs,
and ends what another leaves behind."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk

from tests.support.backend import THREAD, chunks_of, chunks_until, key_of, message
from tests.support.scripted_model import ScriptedModel, call, finish, text
from tests.support.several_workers import FencedCheckpointer, Worker, several_workers
from tests.support.waiting import WAIT_SECONDS, HeldMethod, eventually, until
from turnstream.server.callers.principal import LOCAL
from turnstream.server.extensions.workers import other_workers
from turnstream.server.extensions.workers.redis.log import RedisLog
from turnstream.server.formats import DEFAULT
from turnstream.server.runs import kept_words, retries
from turnstream.server.runs.busy_threads import RunInProgress
from turnstream.server.runs.lives import StreamLost
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.storage.interfaces import ClaimResult, StorageUnavailable
from turnstream.server.turns.accumulate import accumulate
from turnstream.server.turns.chunks import (
    Chunk,
    Done,
    Error,
    MessageFinish,
    PartStart,
    Result,
    RunEnded,
    TextDelta,
)
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.messages import AssistantTurn, Text
from turnstream.server.turns.requests import IdempotencyKey, TurnRequest

CALL = call('{"expression": "6 * 7"}', name="calculator", id="call_1")


@pytest.fixture
def model() -> ScriptedModel:
    """What worker a runs."""
    return ScriptedModel.of([text("Hello "), text("there"), asyncio.Event()])


@pytest.fixture
async def workers(
    tmp_path: Path, redis_url: str, model: ScriptedModel
) -> AsyncIterator[list[Worker]]:
    models = {"a": model, "b": ScriptedModel.of(), "c": ScriptedModel.of()}
    async with asyncio.timeout(2 * WAIT_SECONDS):
        async with several_workers(tmp_path / "t.db", redis_url, models) as made:
            yield made


async def at(worker: Worker) -> LoggedRun:
    """The thread's live run, as another worker finds it."""
    found = await worker.reader.live(key_of())
    assert found
    return found


def has_text(chunks: Sequence[Chunk]) -> bool:
    return any(isinstance(chunk, PartStart) for chunk in chunks)


def ends(chunks: Sequence[Chunk]) -> list[type]:
    """The terminal chunks among them."""
    return [type(c) for c in chunks if isinstance(c, RunEnded | Error | MessageFinish | Done)]


async def is_as_the_thread(worker: Worker, run: LoggedRun, chunks: Sequence[Chunk]) -> None:
    last = (await worker.turns())[-1]
    steps = last.steps if isinstance(last, AssistantTurn) else ()
    assert accumulate(chunks, run.header.message_id).steps == steps


async def test_a_run_is_read_at_another_worker_as_at_its_own(workers: list[Worker]) -> None:
    a, b, _ = workers
    run = await a.start(message())
    found = await at(b)
    await chunks_until(found, has_text)
    await a.stop()
    assert found.header == run.header
    assert await chunks_of(found) == await chunks_of(run)


async def test_a_run_is_stopped_from_another_worker(workers: list[Worker]) -> None:
    a, b, _ = workers
    run = await a.start(message())
    await chunks_until(run, has_text)
    entry = await b.stop()
    assert entry
    assert entry.run_state == "stopped"
    chunks = await chunks_of(run)
    assert ends(chunks) == [RunEnded, MessageFinish, Done]
    await is_as_the_thread(b, run, chunks)


async def test_a_stop_arrives_though_its_message_is_lost(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = workers
    run = await a.start(message())

    async def lost(*_: object) -> None: ...

    monkeypatch.setattr(
        "turnstream.server.extensions.workers.redis.inbox.RedisInbox.ask_to_stop", lost
    )
    entry = await b.stop()
    assert entry
    assert entry.run_state == "stopped"
    assert RunEnded("stopped") in await chunks_of(run)


async def test_a_stop_that_waits_for_nothing_reaches_another_worker(
    workers: list[Worker],
) -> None:
    a, b, _ = workers
    run = await a.start(message())
    b.runs.ask_to_stop(key_of(), run.header.run_id)
    assert RunEnded("stopped") in await chunks_of(run)


async def test_a_thread_is_deleted_at_another_worker_than_the_one_that_runs_it(
    workers: list[Worker],
) -> None:
    a, b, _ = workers
    await a.start(message())
    await b.runs.delete(key_of())
    assert await a.entry() is None
    assert await a.reader.live(key_of()) is None
    assert (await a.state()).messages == []


async def test_a_second_request_at_another_worker_is_told_of_the_live_run(
    workers: list[Worker],
) -> None:
    a, b, _ = workers
    run = await a.start(message())
    with pytest.raises(RunInProgress) as busy:
        await b.start(message("Again"))
    assert (busy.value.key, busy.value.run_id) == (key_of(), run.header.run_id)


async def test_a_request_at_another_worker_may_stop_the_live_run(workers: list[Worker]) -> None:
    a, b, _ = workers
    run = await a.start(message())
    chunks = await b.turn(message("Again", on_busy="stop"))
    assert RunEnded("stopped") in await chunks_of(run)
    assert ends(chunks) == [MessageFinish, Done]


async def test_a_run_whose_log_is_lost_is_live_for_all_workers(
    workers: list[Worker],
) -> None:
    a, b, _ = workers
    run = await a.start(message())
    await a.runs._claims._logs.discard(run.header.run_id)
    for worker in (a, b):
        with pytest.raises(RunInProgress):
            await worker.start(message("Again"))
    entry = await b.stop()
    assert entry
    assert entry.run_state == "stopped"


# A worker that is lost


async def test_a_lost_run_ends_once_for_the_readers_of_all_workers(workers: list[Worker]) -> None:
    a, b, c = workers
    run = await a.start(message())
    readers = [asyncio.create_task(chunks_of(await at(worker))) for worker in workers]
    await chunks_until(await at(b), has_text)
    a.lapse()
    await b.sweep()
    first, *others = await asyncio.gather(*readers)
    assert ends(first) == [Error, MessageFinish, Done]
    assert all(chunks == first for chunks in others)
    entry = await c.entry()
    assert entry
    assert entry.run_state == "interrupted"
    await is_as_the_thread(c, run, first)


async def test_a_lost_run_writes_nothing_more_and_is_continued_by_another(
    workers: list[Worker], model: ScriptedModel
) -> None:
    a, b, _ = workers
    goes_on = asyncio.Event()
    model.script_anew([text("Old "), goes_on, text("words"), finish()])
    run = await a.start(message())
    await chunks_until(run, has_text)
    a.lapse()
    await b.sweep()
    goes_on.set()
    await until(lambda: not a.runs.unsaved)
    assert ends(await chunks_of(run)) == [Error, MessageFinish, Done]
    await b.turn(TurnRequest(continue_=True))
    turns = await b.turns()
    said = turns[-1]
    assert isinstance(said, AssistantTurn)
    assert [step.parts for step in said.steps] == [(Text("Done."),)]


async def test_a_run_that_is_told_of_its_lost_lease_ends_itself(workers: list[Worker]) -> None:
    a, b, _ = workers
    run = await a.start(message())
    await chunks_until(run, has_text)
    a.lapse()
    for tell in a.leases.lost:
        tell(run.header.run_id)
    await until(lambda: not a.runs.unsaved)
    # It found that nobody had taken its claim over, and did that itself.
    assert ends(await chunks_of(await b.reader.find(key_of(), run.header.run_id) or run)) == [
        Error,
        MessageFinish,
        Done,
    ]


async def test_a_lease_is_counted_as_lost_once_by_its_worker_and_as_taken_over_once_by_another(
    workers: list[Worker],
) -> None:
    a, b, _ = workers
    async with asyncio.timeout(WAIT_SECONDS):
        await a.start(message("Hello"))
        a.lapse()
        await b.sweep()
        await until(lambda: not a.runs.live)
    assert (a.runs.leases_lost, b.runs.leases_lost) == (1, 0)
    assert a.runs.others
    assert b.runs.others
    assert (a.runs.others.takeovers, b.runs.others.takeovers) == (0, 1)


async def test_a_request_that_is_saved_as_its_lease_ends_is_accepted(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = workers
    opening = HeldMethod(monkeypatch, RedisLog, "open", once=True)
    starting = asyncio.create_task(a.start(message()))
    await opening.reached.wait()
    a.lapse()
    await b.sweep()
    opening.through.set()
    with pytest.raises(StreamLost):
        await starting
    assert [m.text for m in await b.messages() if m.type == "human"] == ["Hello"]


async def test_a_request_that_another_run_has_followed_by_then_is_accepted(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = workers
    opening = HeldMethod(monkeypatch, RedisLog, "open", once=True)
    starting = asyncio.create_task(a.start(message()))
    await opening.reached.wait()
    a.lapse()
    await b.turn(message("Again"))
    opening.through.set()
    with pytest.raises(StreamLost):
        await starting
    assert [m.text for m in await b.messages() if m.type == "human"] == ["Hello", "Again"]


async def test_a_request_under_a_key_that_is_lost_before_it_is_saved_is_begun_once_more(
    workers: list[Worker], model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = workers
    model.script_anew([text("Hello")])
    saving = HeldMethod(monkeypatch, FencedCheckpointer, "aput", once=True)
    request = replace(message(), thread_id=THREAD)
    key = IdempotencyKey("k", "digest")
    starting = asyncio.create_task(a.runs.start(LOCAL, request, DEFAULT.name, key))
    await saving.reached.wait()
    a.lapse()
    await b.sweep()
    saving.through.set()
    run = await starting
    assert await b.runs.start(LOCAL, request, DEFAULT.name, key)
    assert Done() in await chunks_of(run)
    assert [m.text for m in await b.messages() if m.type == "human"] == ["Hello"]


async def test_a_request_whose_run_is_stopped_as_its_stream_begins_is_accepted(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = workers
    opening = HeldMethod(monkeypatch, RedisLog, "open", once=True)
    starting = asyncio.create_task(a.start(message()))
    await opening.reached.wait()
    saving = HeldMethod(monkeypatch, a.checkpoints, "abandon_pending", once=True)
    stopping = asyncio.create_task(b.stop())
    await saving.reached.wait()  # The graph is cancelled, and the log is being opened.
    opening.through.set()
    saving.through.set()
    run = await starting
    assert ends(await chunks_of(run)) == [RunEnded, MessageFinish, Done]
    await is_as_the_thread(b, run, await chunks_of(run))
    await stopping


async def test_a_request_that_is_not_saved_before_its_lease_ends_is_refused(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = workers
    saving = HeldMethod(monkeypatch, FencedCheckpointer, "aput", once=True)
    starting = asyncio.create_task(a.start(message()))
    await saving.reached.wait()
    a.lapse()
    await b.sweep()
    saving.through.set()
    with pytest.raises(StorageUnavailable):
        await starting
    assert await b.entry() is None


async def test_readers_get_the_end_of_a_run_whose_claim_is_lost_again_while_it_is_being_ended(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = workers
    monkeypatch.setattr(retries, "RETRY_SECONDS", 0.01)
    await a.start(message())
    found = await at(c)
    await chunks_until(found, has_text)
    a.lapse()
    with monkeypatch.context() as broken:
        broken.setattr(c.store, "end_run", unreachable)
        await c.sweep()
        c.lapse()
        await b.sweep()
    assert ends(await chunks_of(found)) == [Error, MessageFinish, Done]


async def test_a_message_waits_for_a_run_that_has_ended_and_whose_claim_cannot_be_released(
    workers: list[Worker], model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = workers
    monkeypatch.setattr(retries, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(other_workers, "POLL_SECONDS", 0.01)
    model.script_anew([text("Hello")])
    with monkeypatch.context() as broken:
        broken.setattr(a.store, "end_run", unreachable)
        assert Done() in await a.turn(message())
        assert await b.reader.live(key_of()) is None
        held = HeldMethod(broken, b.leases, "holder")
        starting = asyncio.create_task(b.start(message("Again")))
        await held.reached.wait()
        held.through.set()
    assert (await starting).header.key == key_of()


async def unreachable(*_: object) -> None:
    raise StorageUnavailable("storage_unreachable")


async def test_a_run_whose_lease_was_over_for_a_moment_does_not_keep_its_thread(
    workers: list[Worker],
) -> None:
    a, b, _ = workers
    run = await a.start(message())
    await chunks_until(run, has_text)
    row = a.leases.table.rows[key_of()]
    for tell in a.leases.lost:
        tell(run.header.run_id)  # a sweep found it over; it was renewed since
    await until(lambda: not a.runs.unsaved)
    await until(lambda: not row.is_renewed)
    a.lapse()
    await b.sweep()
    assert await b.leases.holder(key_of()) is None


@pytest.mark.parametrize("told", [0, 1, 2])
async def test_the_log_of_a_lost_run_is_completed_with_what_its_thread_has(
    workers: list[Worker], model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, told: int
) -> None:
    """The worker dies when its tool's result is on disk, and so many of its appends are not in the
    log."""
    a, b, _ = workers
    model.script_anew([text("Let me see. "), CALL, finish()], [asyncio.Event()])
    run = await a.start(message())
    appended: list[Sequence[Chunk]] = []
    append = RedisLog.append

    async def lost(log: RedisLog, chunks: Sequence[Chunk]) -> None:
        if log._shared.worker == "a":
            appended.append(chunks)
            if len(appended) > told:
                return
        await append(log, chunks)

    monkeypatch.setattr(RedisLog, "append", lost)
    await until(lambda: len(model.prompts) == 2)
    a.lapse()
    await b.sweep()
    monkeypatch.undo()
    found = await b.reader.find(key_of(), run.header.run_id)
    assert found
    chunks = await chunks_of(found)
    assert ends(chunks) == [Error, MessageFinish, Done]
    assert sum(isinstance(chunk, Result) for chunk in chunks) == 1
    await is_as_the_thread(b, run, chunks)


@pytest.mark.parametrize(
    ("said", "more"),
    [
        (text("Hello "), text("there")),
        (call('{"expression": "6', name="calculator", id="call_1"), call(" * 7")),
    ],
    ids=["text", "arguments"],
)
async def test_what_a_lost_run_said_after_its_words_were_kept_is_withdrawn(
    workers: list[Worker],
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    said: AIMessageChunk,
    more: AIMessageChunk,
) -> None:
    a, b, _ = workers
    monkeypatch.setattr(kept_words, "KEEP_SECONDS", 0)
    goes_on = asyncio.Event()
    model.script_anew([said, goes_on, more, asyncio.Event()])
    run = await a.start(message())
    await eventually(lambda: a.store.words(key_of(), run.header.run_id))
    monkeypatch.setattr(kept_words, "KEEP_SECONDS", 2 * WAIT_SECONDS)
    goes_on.set()
    await chunks_until(run, lambda chunks: sum(isinstance(c, TextDelta) for c in chunks) == 2)
    a.lapse()
    await b.sweep()
    found = await b.reader.find(key_of(), run.header.run_id)
    assert found
    chunks = await chunks_of(found)
    assert ends(chunks) == [RunEnded, MessageFinish, Done]
    await is_as_the_thread(b, run, chunks)


async def test_who_needs_the_thread_of_a_lost_run_does_not_wait_for_a_sweep(
    workers: list[Worker],
) -> None:
    a, b, _ = workers
    run = await a.start(message())
    a.lapse()
    chunks = await b.turn(message("Again"))
    assert ends(chunks) == [MessageFinish, Done]
    assert ends(await chunks_of(run)) == [Error, MessageFinish, Done]


async def test_a_run_that_ended_without_saying_so_is_ended_by_a_reader_of_another_worker(
    workers: list[Worker], model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = workers
    model.script_anew([text("Whole."), finish()])
    append = RedisLog.append

    async def dies(log: RedisLog, chunks: Sequence[Chunk]) -> None:
        if log._shared.worker == "a" and isinstance(chunks[-1], Done):
            await asyncio.Event().wait()
        await append(log, chunks)

    monkeypatch.setattr(RedisLog, "append", dies)
    run = await a.start(message())
    found = await b.reader.find(key_of(), run.header.run_id)
    assert found
    chunks = await chunks_of(found)
    assert ends(chunks) == [MessageFinish, Done]
    await is_as_the_thread(b, run, chunks)
    entry = await b.entry()
    assert entry
    assert entry.run_state == "finished"


async def test_a_request_whose_worker_died_before_its_run_began_is_forgotten(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = workers
    with monkeypatch.context() as patch:
        held = HeldMethod(patch, a.store, "begin_run")
        lost = asyncio.create_task(a.start(message()))
        await held.reached.wait()
        reader = asyncio.create_task(b.reader.live(key_of()))
        a.lapse()
        await b.sweep()
        assert await reader is None
        assert await b.store.holder(key_of()) is None
        assert await b.entry() is None
        held.through.set()
    # Its worker was only slow: it tries again.
    assert (await lost).header.key == key_of()


async def test_a_deletion_that_broke_off_is_completed_by_another_worker(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = workers
    await b.turn(message())
    with monkeypatch.context() as patch:
        held = HeldMethod(patch, a.store, "delete")
        deletion = asyncio.create_task(a.runs.delete(key_of()))
        await held.reached.wait()
        a.lapse()
        await b.sweep()
        assert await b.entry() is None
        assert await b.store.holder(key_of()) is None
        held.through.set()
    await deletion


async def test_a_deletion_that_broke_off_before_it_hid_the_thread_can_be_undone(
    tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = {"a": ScriptedModel.of(), "b": ScriptedModel.of()}
    async with several_workers(tmp_path / "t.db", redis_url, models, undo_seconds=3600) as (a, b):
        await b.turn(message())
        before = await b.messages()
        held = HeldMethod(monkeypatch, a.store, "hide")
        deletion = asyncio.create_task(a.runs.deletions.delete(key_of(), at_once=False))
        await held.reached.wait()
        a.lapse()
        await b.sweep()
        held.through.set()
        await deletion
        assert await b.entry() is None
        assert b.runs.deletions.hidden.is_set(), "it is forgotten in time"
        assert await b.runs.deletions.restore(key_of())
        assert await b.messages() == before


async def test_a_deletion_at_once_that_broke_off_is_completed_though_others_can_be_undone(
    tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = {"a": ScriptedModel.of(), "b": ScriptedModel.of()}
    async with several_workers(tmp_path / "t.db", redis_url, models, undo_seconds=3600) as (a, b):
        await b.turn(message())
        held = HeldMethod(monkeypatch, a.store, "delete")
        deletion = asyncio.create_task(a.runs.deletions.delete(key_of(), at_once=True))
        await held.reached.wait()
        a.lapse()
        await b.sweep()
        held.through.set()
        await deletion
        assert await b.runs.deletions.restore(key_of()) is None


async def test_a_deletion_waits_for_that_of_another_worker(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = workers
    await b.turn(message())
    deleting = HeldMethod(monkeypatch, a.store, "delete")
    waiting = HeldMethod(monkeypatch, b.runs.others, "end")
    first = asyncio.create_task(a.runs.delete(key_of()))
    await deleting.reached.wait()
    second = asyncio.create_task(b.runs.delete(key_of()))
    await waiting.reached.wait()
    waiting.through.set()
    deleting.through.set()
    await asyncio.gather(first, second)
    assert await a.entry() is None
    assert await a.store.holder(key_of()) is None


async def test_two_workers_that_sweep_end_a_lost_run_once(workers: list[Worker]) -> None:
    a, b, c = workers
    run = await a.start(message())
    a.lapse()
    await asyncio.gather(b.sweep(), c.sweep(), b.sweep())
    assert ends(await chunks_of(run)) == [Error, MessageFinish, Done]


async def test_a_worker_that_ends_leaves_what_it_could_not_save_to_others(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = workers
    monkeypatch.setattr("turnstream.server.runs.shutdown.SAVE_SECONDS", 0.1)
    await a.start(message())
    found = await at(b)
    with monkeypatch.context() as patch:
        HeldMethod(patch, a.store, "end_run")
        await a.runs.drain(0)
        a.lapse()
        await b.sweep()
    assert Done() in await chunks_of(found)
    entry = await b.entry()
    assert entry
    assert entry.run_state in ("interrupted", "stopped")


async def test_a_worker_that_ends_first_settles_what_it_has_taken_over(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = workers
    run = await a.start(message())
    a.lapse()
    with monkeypatch.context() as patch:
        held = HeldMethod(patch, b.store, "end_run")
        sweep = asyncio.create_task(b.sweep())
        await held.reached.wait()
        sweep.cancel()
        closing = asyncio.create_task(b.runs.close())
        await asyncio.wait({closing}, timeout=0.1)
        assert not closing.done()
        held.through.set()
        await closing
    entry = await c.entry()
    assert entry
    assert entry.run_state == "interrupted"
    assert ends(await chunks_of(run)) == [Error, MessageFinish, Done]


async def test_what_a_worker_that_ends_cannot_settle_in_time_is_left_to_another(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = workers
    run = await a.start(message())
    a.lapse()
    monkeypatch.setattr(other_workers, "SETTLE_SECONDS", 0.1)
    held = HeldMethod(monkeypatch, b.store, "end_run")
    sweep = asyncio.create_task(b.sweep())
    await held.reached.wait()
    sweep.cancel()
    await b.runs.close()
    assert not b.runs._retries._tasks
    held.through.set()
    b.lapse()
    await c.sweep()
    assert ends(await chunks_of(run)) == [Error, MessageFinish, Done]


async def test_a_callers_live_runs_are_counted_at_all_workers(workers: list[Worker]) -> None:
    a, b, _ = workers
    await a.start(message(), "t1")
    await b.start(message(), "t2")
    others = b.runs.others
    assert others
    await eventually(lambda: _count_is(b, 1))


async def _count_is(worker: Worker, count: int) -> bool:
    assert worker.runs.others
    return await worker.runs.others.live_runs("local") == count


# requests that wait for their turn


async def is_through(worker: Worker) -> None:
    async def is_free() -> bool:
        entry = await worker.entry()
        return not await worker.store.queue(key_of()) and bool(entry and entry.run_state != "live")

    await eventually(is_free)


async def said(worker: Worker) -> list[str]:
    return [m.text for m in await worker.messages() if m.type == "human"]


async def test_a_request_that_is_queued_at_another_worker_begins_once(
    workers: list[Worker],
) -> None:
    a, b, c = workers
    run = await a.start(message("A"))
    queued = await b.queue(message("B"))
    waits = asyncio.create_task(c.runs.queue.begun(queued))
    assert await a.stop()
    assert await chunks_of(run)
    await asyncio.gather(*(worker.runs.queue.sweep() for worker in workers))
    read = await chunks_of(await waits)
    await is_as_the_thread(c, await waits, read)
    await is_through(c)
    assert await said(c) == ["A", "B"]


async def test_requests_that_wait_for_a_worker_that_is_gone_begin_in_their_order(
    workers: list[Worker],
) -> None:
    a, b, c = workers
    await a.start(message("A"))
    await b.queue(message("B"))
    last = await a.queue(message("C"))
    a.lapse()
    await b.sweep()
    await asyncio.gather(b.runs.queue.sweep(), c.runs.queue.sweep())
    assert await chunks_of(await c.runs.queue.begun(last))
    await is_through(c)
    assert await said(c) == ["A", "B", "C"]


async def test_a_worker_that_is_gone_as_a_queued_run_begins_leaves_it_to_another(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = workers
    await a.start(message("A"))
    queued = await a.queue(message("B"))
    plans = HeldMethod(monkeypatch, a.checkpoints, "load", once=True)
    stopping = asyncio.create_task(a.stop())
    await plans.reached.wait()
    a.lapse()
    await b.sweep()
    await b.runs.queue.sweep()
    assert await chunks_of(await c.runs.queue.begun(queued))
    plans.through.set()
    assert await stopping
    await is_through(c)
    assert await said(c) == ["A", "B"]


async def test_a_request_that_comes_while_its_queue_is_held_goes_ahead_of_none(
    workers: list[Worker],
) -> None:
    a, b, _ = workers
    run = await a.start(message("A"))
    await a.queue(message("B"))
    async with b.runs.queue.holding(key_of()):
        await a.queue(message("C"))
        assert await a.store.next_queued(key_of()) is None
    assert await a.stop()
    await chunks_of(run)
    await is_through(a)
    assert await said(a) == ["A", "B", "C"]


async def test_no_worker_begins_a_request_of_a_thread_that_another_deletes(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = workers
    claim, begun = a.store.claim_queued, list[str]()

    async def noted(key: ThreadKey, run_id: str) -> Any:
        if claimed := await claim(key, run_id):
            begun.append(run_id)
        return claimed

    claim_to_delete = b.store.claim_for_deletion

    async def late(key: ThreadKey, deletion_id: str) -> ClaimResult:
        if await a.store.holder(key) is None:
            await a.runs.queue.sweep()
        return await claim_to_delete(key, deletion_id)

    monkeypatch.setattr(a.store, "claim_queued", noted)
    monkeypatch.setattr(b.store, "claim_for_deletion", late)
    run = await a.start(message("A"))
    await a.queue(message("B"))
    await b.runs.delete(key_of(), at_once=True)
    await chunks_of(run)
    assert begun == []
    assert await b.store.queue(key_of()) == []
