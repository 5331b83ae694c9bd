"""Turns on a Postgres database: what they cost it, and a beginning that is written with the first
step."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from tests.runs.test_postgres_leases import held_inserts, waits_for_a_lock
from tests.support.backend import THREAD, Backend, backend, chunks_of, key_of, message
from tests.support.contracts.threads import begin
from tests.support.postgres_workers import query, workers
from tests.support.statement_count import counted
from tests.support.waiting import eventually, until
from turnstream.graphs.offline import OfflineChatModel
from turnstream.server.callers.principal import LOCAL
from turnstream.server.extensions.search import SearchExtension, SearchSettings
from turnstream.server.extensions.workers.postgres.transactions import PostgresTransactions
from turnstream.server.runs import retries
from turnstream.server.runs.lives import StreamLost
from turnstream.server.storage.checkpointer import SqliteCheckpointer
from turnstream.server.storage.extension_writes import tolerated
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.storage.location import PostgresUrl
from turnstream.server.storage.queued_requests import QueuedRequest
from turnstream.server.storage.store import Transactions
from turnstream.server.turns.requests import TurnRequest

MODEL = OfflineChatModel(word_seconds=0)
WORDS, TOOL = "Tell me something.", "What time is it in Tokyo?"
TABLES = ("threads", "thread_activities", "checkpoints", "claims", "requests")


@pytest.fixture
async def inside(
    postgres_url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Backend]:
    monkeypatch.setattr(retries, "RETRY_SECONDS", 0.01)
    search = SearchExtension(SearchSettings.model_validate({}))
    async with backend(postgres_url, MODEL, extensions=[search]) as inside:
        yield inside


def rows(url: PostgresUrl) -> dict[str, int]:
    return {name: query(url, f"SELECT count(*) FROM {name}")[0][0] for name in TABLES}


# statements and transactions


@pytest.mark.parametrize(
    ("words", "new", "later"),
    [(WORDS, (14, 4), (17, 8)), (TOOL, (16, 6), (19, 10))],
    ids=["without a tool", "with a tool"],
)
async def test_a_turn_takes_few_statements_and_transactions(
    inside: Backend, words: str, new: tuple[int, int], later: tuple[int, int]
) -> None:
    """A later turn reads its thread, and the index of the search."""
    await inside.turn(message(words))
    for thread, most in ((None, new), (THREAD, later)):
        turns = []
        for number in range(3):  # The least of three: something else may be at work beside one.
            with counted() as sent:
                await inside.turn(message(f"{number}: {words}"), thread)
                await until(lambda: not inside.runs.unsaved)
            turns.append(sent)
        assert min(len(sent.statements) for sent in turns) == most[0], turns[-1].statements
        assert min(sent.transactions for sent in turns) == most[1], turns[-1].statements


async def test_a_turn_on_a_file_takes_as_many_transactions_as_it_has_steps_and_three_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with backend(tmp_path / "t.db", MODEL) as inside:
        await inside.turn(message(TOOL))
        writes, steps = 0, 0
        do, submit = Transactions.do, SqliteCheckpointer.submit

        async def counted_do(transactions: Any, work: Any, *arguments: Any) -> Any:
            nonlocal writes
            writes += transactions is inside.store._writes  # type: ignore[attr-defined]
            return await do(transactions, work, *arguments)

        def counted_submit(saver: Any, work: Any, *arguments: Any) -> Any:
            nonlocal steps
            steps += 1
            return submit(saver, work, *arguments)

        monkeypatch.setattr(Transactions, "do", counted_do)
        monkeypatch.setattr(SqliteCheckpointer, "submit", counted_submit)
        await inside.turn(message(TOOL))
    assert (writes, steps) == (3, 9)


# the beginning of a run, with its first step


async def test_a_thread_and_its_first_message_are_on_disk_at_once(
    inside: Backend, postgres_url: PostgresUrl
) -> None:
    with held_inserts(postgres_url, "checkpoints"):
        starting = asyncio.create_task(inside.start(message("Hello")))
        await eventually(lambda: waits_for_a_lock(postgres_url, "INSERT INTO checkpoints"))
        assert rows(postgres_url) | {"claims": 1} == dict.fromkeys(TABLES, 0) | {"claims": 1}
        assert not starting.done()
    await chunks_of(await starting)
    entry = await inside.entry()
    assert entry
    assert (entry.title, entry.run_state) == ("Hello", "finished")


@pytest.mark.parametrize("table", ["threads", "thread_activities", "checkpoints"])
async def test_a_beginning_that_cannot_be_written_is_refused_and_leaves_nothing(
    inside: Backend, postgres_url: PostgresUrl, table: str
) -> None:
    query(postgres_url, f"ALTER TABLE {table} ADD CONSTRAINT no CHECK (false) NOT VALID")
    try:
        with pytest.raises(Exception, match="violates check constraint"):
            await inside.start(message("Hello"))
        await until(lambda: not inside.runs.live)
    finally:
        query(postgres_url, f"ALTER TABLE {table} DROP CONSTRAINT no")
    assert set(rows(postgres_url).values()) == {0}
    await inside.turn(message("Again"))
    assert [each.text for each in await inside.messages() if each.type == "human"] == ["Again"]


@pytest.mark.parametrize("is_committed", [False, True])
async def test_a_beginning_whose_answer_was_lost_is_kept_once_or_not_at_all(
    inside: Backend, postgres_url: PostgresUrl, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    whole, broken = PostgresTransactions._whole, 0

    def breaking(transactions: Any, engine: Any, work: Any, *arguments: Any) -> Any:
        nonlocal broken
        if work.__name__ != "with_beginning" or broken:
            return whole(transactions, engine, work, *arguments)
        broken += 1
        if is_committed:
            whole(transactions, engine, work, *arguments)
        raise OperationalError("COMMIT", {}, psycopg.OperationalError("the answer is lost"))

    monkeypatch.setattr(PostgresTransactions, "_whole", breaking)
    with pytest.raises(StreamLost if is_committed else StorageUnavailable):
        await inside.start(message("Hello"))
    await until(lambda: not inside.runs.live)
    assert broken == 1
    found = rows(postgres_url)
    assert (found["threads"], found["thread_activities"], found["claims"]) == (
        (1, 1, 0) if is_committed else (0, 0, 0)
    )
    asked = [each.text for each in await inside.messages() if each.type == "human"]
    assert asked == ["Hello"] * is_committed


async def test_a_beginning_is_written_once_by_writes_that_come_together(
    postgres_url: PostgresUrl,
) -> None:
    begun = list[str | None]()
    async with workers(postgres_url, 1) as [worker]:
        key = key_of()
        await worker.store.claim(key, "r1")
        await worker.store.begin_run(key, "r1", "Hello", begun=begun.append, joins_next=True)
        assert await worker.store.get(key) is None
        await asyncio.gather(
            *(worker.store.keep_dispositions(key, {f"c{n}": "client"}) for n in range(4))
        )
        entry = await worker.store.get(key)
        assert entry
        assert entry.title == "Hello"
    assert rows(postgres_url)["thread_activities"] == 1
    assert {*begun} == {"Hello"}


async def test_a_stop_before_the_first_step_keeps_the_request(
    inside: Backend, postgres_url: PostgresUrl
) -> None:
    with held_inserts(postgres_url, "checkpoints"):
        starting = asyncio.create_task(inside.start(message("Hello")))
        await eventually(lambda: waits_for_a_lock(postgres_url, "INSERT INTO checkpoints"))
        stopping = asyncio.create_task(inside.stop())
        await asyncio.sleep(0)
    with suppress(StreamLost):
        await starting
    await stopping
    asked = [each.text for each in await inside.messages() if each.type == "human"]
    assert asked == ["Hello"]
    assert rows(postgres_url)["threads"] == 1


# the end of a run, and what is queued behind it


async def test_a_trigger_that_refuses_at_the_end_leaves_out_the_writes_of_its_extension(
    postgres_url: PostgresUrl,
) -> None:
    for statement in (
        "CREATE TABLE toys (id int)",
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN RAISE EXCEPTION 'no'; END $$",
        "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON toys DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION refuse()",
    ):
        query(postgres_url, statement)
    also = tolerated("toy", [text("INSERT INTO toys VALUES (1)")])
    try:
        async with workers(postgres_url, 1) as [worker]:
            await begin(worker.store, key_of(), "r1")
            await worker.store.end_run(key_of(), "r1", "finished", also)
            entry = await worker.store.get(key_of())
        assert entry
        assert entry.run_state == "finished"
        assert query(postgres_url, "SELECT count(*) FROM toys") == [(0,)]
    finally:
        query(postgres_url, "DROP TABLE toys")
        query(postgres_url, "DROP FUNCTION refuse")


async def test_a_request_that_is_queued_as_a_run_ends_finds_its_thread_free(
    postgres_url: PostgresUrl,
) -> None:
    """The end has looked at the queue, and is not committed yet."""
    has_looked, goes_on = threading.Event(), threading.Event()

    def wait(connection: Connection) -> None:
        connection.execute(text("SELECT 1"))
        has_looked.set()
        goes_on.wait(10)

    async with workers(postgres_url) as (first, second):
        key = key_of()
        await begin(first.store, key, "r1")
        ending = asyncio.create_task(first.store.end_run(key, "r1", "finished", [wait]))
        await asyncio.to_thread(has_looked.wait, 10)
        request = TurnRequest(THREAD, message=message("Next").message)
        queued = QueuedRequest(key, "r2", "native", request, 0.0, LOCAL.roles, "")
        queueing = asyncio.create_task(second.store.enqueue(queued, 5))
        await eventually(lambda: waits_for_a_lock(postgres_url, "SELECT threads.id"))
        goes_on.set()
        assert await ending is False, "nothing was queued when it looked"
        assert await queueing == 1
        assert await second.store.claim_queued(key, "r2"), "who has queued it begins it"


async def test_a_run_behind_which_a_request_is_queued_says_so(postgres_url: PostgresUrl) -> None:
    async with workers(postgres_url, 1) as [worker]:
        key = key_of()
        await begin(worker.store, key, "r1")
        request = TurnRequest(THREAD, message=message("Next").message)
        queued = QueuedRequest(key, "r2", "native", request, 0.0, LOCAL.roles, "")
        await worker.store.enqueue(queued, 5)
        assert await worker.store.end_run(key, "r1", "finished") is True
        assert await worker.store.claim_queued(key, "r2")
        await worker.store.begin_run(key, "r2", "Next")
        assert await worker.store.end_run(key, "r2", "finished") is False
        assert await worker.store.queue(key) == []
