"""A Postgres database: its schema, its faults, and what it cannot keep as it is."""

import asyncio
import socket
from asyncio import run_coroutine_threadsafe
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from sqlalchemy import Connection

from tests.support.contracts.search import Searched
from tests.support.contracts.threads import SECOND, THREAD, begin, ids, run_through
from tests.support.contracts.versions import Versioned
from tests.support.databases import open_storage
from tests.support.pgbouncer import pgbouncer
from tests.support.postgres_workers import nobody_let_in, query, workers
from turnstream.server.commands import run
from turnstream.server.extensions.search.words import owner_word
from turnstream.server.extensions.workers.postgres.checkpointer import PostgresCheckpointer
from turnstream.server.extensions.workers.postgres.faults import fault
from turnstream.server.extensions.workers.postgres.opened import (
    PostgresStorage,
    migrate,
    open_postgres_store,
)
from turnstream.server.storage import queued_rows
from turnstream.server.storage.interfaces import StorageError, StorageUnavailable
from turnstream.server.storage.location import PostgresUrl, location
from turnstream.server.storage.queued_requests import QueuedRequest
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import TextContent, TurnRequest, UserMessage

NEWER = (
    "removed_messages, thread_metadata, assistants, run_records, substeps, queued_requests, "
    "withdrawn_runs"
)
NEWER_COLUMN = "ALTER TABLE approvals DROP COLUMN is_alone"
CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
PLACE: Any = {"configurable": {"thread_id": THREAD.checkpoint_key, "checkpoint_ns": ""}}


@pytest.fixture
async def worker(postgres_url: PostgresUrl) -> AsyncIterator[PostgresStorage]:
    async with workers(postgres_url, 1, busy_seconds=0.5) as [opened]:
        yield opened


async def test_an_empty_database_is_migrated_by_one_of_several_workers(
    empty_postgres_url: PostgresUrl,
) -> None:
    assert await migrate(empty_postgres_url, checks=True)
    done = await asyncio.gather(*(migrate(empty_postgres_url) for _ in range(3)))
    assert sorted(done) == [False, False, True]
    assert not await migrate(empty_postgres_url, checks=True)


async def test_a_pooler_that_shares_sessions_is_found_out_and_refused_with_the_remedy(
    postgres_url: PostgresUrl,
) -> None:
    async with pgbouncer(postgres_url, "transaction") as shared:
        with pytest.raises(StorageError, match="pool_mode = session"):
            await migrate(shared)
    async with pgbouncer(postgres_url, "session") as url, workers(url, 1) as [opened]:
        await run_through(opened.store, THREAD, "r1")


async def test_a_request_that_comes_as_its_thread_is_found_to_be_empty_is_refused_or_kept(
    postgres_url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_thread, loop, coming = queued_rows.of_thread, asyncio.get_running_loop(), list[Any]()
    asked = TurnRequest("t1", UserMessage((TextContent("B"),)))
    async with workers(postgres_url) as [a, b]:
        await begin(a.store, THREAD, "r1")

        def looked(connection: Connection, key: ThreadKey) -> Any:
            found = of_thread(connection, key)
            queued = QueuedRequest(key, "r2", "native", asked, 0.0)
            coming.append(run_coroutine_threadsafe(b.store.enqueue(queued, 3), loop))
            locked = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            while not coming[0].done() and query(postgres_url, locked) == [(0,)]:
                pass
            return found

        monkeypatch.setattr(queued_rows, "of_thread", looked)
        assert await a.store.delete(THREAD, unless_queued=True)
        assert await asyncio.wrap_future(coming[0]) is None


async def test_texts_of_before_are_found_and_workers_of_before_go_on_with_them(
    own_postgres_url: PostgresUrl,
) -> None:
    async with workers(own_postgres_url, 1) as [opened]:
        await run_through(opened.store, THREAD, "r1")
        await run_through(opened.store, SECOND, "r2")
    for statement in (
        "CREATE TABLE thread_texts (number BIGSERIAL PRIMARY KEY, owner VARCHAR NOT NULL, "
        "thread_id VARCHAR NOT NULL, message_id VARCHAR NOT NULL, shown_id VARCHAR NOT NULL, "
        "text TEXT NOT NULL, words TSVECTOR NOT NULL)",
        "CREATE INDEX thread_texts_by_thread ON thread_texts (owner, thread_id, message_id)",
        "CREATE INDEX thread_texts_words ON thread_texts USING gin (words)",
        "ALTER TABLE threads ADD COLUMN indexed_run VARCHAR",
        "UPDATE threads SET indexed_run = run_id WHERE id = 't1'",
        f"DROP TABLE {NEWER}",
        NEWER_COLUMN,
        "UPDATE turnstream_schema SET version = 7",
    ):
        query(own_postgres_url, statement)
    add = "INSERT INTO {} (owner, thread_id, message_id, shown_id, text, words) VALUES ({})"
    words = f"'ann', 't1', 'm1', 'm1', 'Apples', '{owner_word('ann')} apples'"
    query(own_postgres_url, add.format("thread_texts", words))
    assert await migrate(own_postgres_url)
    async with workers(own_postgres_url, 1) as [opened]:
        searched = await Searched.open(opened.store)
        assert await searched.found("apples") == ["t1"]
        assert [each.key for each in await searched.index.behind(10)] == [SECOND]
        query(own_postgres_url, add.format("thread_texts", words.replace("pples", "lmonds")))
        assert await searched.found("apples almonds") == ["t1"]
        query(own_postgres_url, "DELETE FROM thread_texts WHERE thread_id = 't1'")
        assert await searched.found("apples") == []


async def test_versions_of_before_are_kept_and_workers_of_before_go_on_with_them(
    own_postgres_url: PostgresUrl,
) -> None:
    version = "'{}', 't1', '{}', 1, NULL, 'v1', 'm1', true, 'c1'"
    add = f"INSERT INTO turn_versions VALUES ({version})"
    async with workers(own_postgres_url, 1) as [opened]:
        await Versioned.open(opened.store)
    query(own_postgres_url, "DELETE FROM extensions WHERE name = 'versions'")
    query(own_postgres_url, add.format("ann", "v1"))
    query(own_postgres_url, f"DROP TABLE {NEWER}")
    query(own_postgres_url, NEWER_COLUMN)
    query(own_postgres_url, "UPDATE turnstream_schema SET version = 8")
    assert await migrate(own_postgres_url)
    async with workers(own_postgres_url, 1) as [opened]:
        with pytest.raises(StorageError, match="extensions drop versions"):
            await opened.store.open_extensions([], is_shared=True)
        versioned = await Versioned.open(opened.store)
        query(own_postgres_url, add.format("ann", "v2"))
        assert [each.id for each in await versioned.of()] == ["v1", "v2"]


async def test_a_database_of_the_first_version_gets_what_it_lacks(
    own_postgres_url: PostgresUrl,
) -> None:
    query(own_postgres_url, f"DROP TABLE cursor_secret, extensions, {NEWER}")
    query(own_postgres_url, NEWER_COLUMN)
    query(own_postgres_url, "DROP INDEX threads_by_title")
    for column in ("pinned", "archived", "forget_at", "run_base"):
        query(own_postgres_url, f"ALTER TABLE threads DROP COLUMN {column}")
    query(own_postgres_url, "UPDATE turnstream_schema SET version = 1")
    assert await migrate(own_postgres_url, checks=True)
    assert await migrate(own_postgres_url)
    assert not await migrate(own_postgres_url, checks=True)
    index = "SELECT count(*) FROM pg_indexes WHERE indexname = 'threads_by_title'"
    assert query(own_postgres_url, index) == [(1,)]
    async with workers(own_postgres_url, 1) as [opened]:
        await run_through(opened.store, THREAD, "r1")
        await run_through(opened.store, SECOND, "r2")
        first = await opened.store.page(THREAD.owner, 1)
        assert ids(await opened.store.page(THREAD.owner, 1, first.cursor)) == [THREAD.thread_id]
        assert await opened.store.arrange(THREAD, pinned=True)


async def test_a_write_whose_connection_is_cut_in_its_middle_is_done_again(
    worker: PostgresStorage,
) -> None:
    tries: list[psycopg.Connection[Any]] = []

    def write(own: psycopg.Connection[Any]) -> int:
        tries.append(own)
        if len(tries) == 1:
            own.execute("BEGIN")  # The connection is not known to be closed, and takes no setting.
            raise psycopg.errors.AdminShutdown
        own.execute("SELECT 1")
        return len(tries)

    assert isinstance(worker.checkpointer, PostgresCheckpointer)
    send = worker.checkpointer._transactions.send_here
    assert await asyncio.to_thread(send, write) == 2
    assert await asyncio.to_thread(send, write) == 3
    assert tries[1] is tries[2]


async def test_a_newer_schema_is_refused(own_postgres_url: PostgresUrl) -> None:
    query(own_postgres_url, "UPDATE turnstream_schema SET version = 99")
    with pytest.raises(StorageError, match=r"schema 99.* newer turnstream"):
        async with open_storage(own_postgres_url):
            pass


async def test_who_owns_the_database_needs_no_other_rights(
    empty_postgres_url: PostgresUrl, postgres_server: tuple[str, str]
) -> None:
    name = empty_postgres_url.secret.rpartition("/")[2]
    owner = f"owner_of_{name}"
    query(PostgresUrl(postgres_server[0]), f"CREATE ROLE {owner} LOGIN")
    query(empty_postgres_url, f"ALTER DATABASE {name} OWNER TO {owner}")
    parts = urlsplit(empty_postgres_url.secret)
    place = parts.netloc.rpartition("@")[2]
    url = PostgresUrl(parts._replace(netloc=f"{owner}@{place}").geturl())
    try:
        async with workers(url, 1) as [worker]:
            await run_through(worker.store, THREAD, "r1")
    finally:
        query(empty_postgres_url, f"REASSIGN OWNED BY {owner} TO CURRENT_USER")
        query(empty_postgres_url, f"DROP OWNED BY {owner}")
        query(empty_postgres_url, f"DROP ROLE {owner}")


async def test_a_command_changes_no_schema(empty_postgres_url: PostgresUrl) -> None:
    with pytest.raises(StorageError, match="turnstream migrate"):
        async with open_postgres_store(empty_postgres_url, 5):
            pass
    tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
    assert query(empty_postgres_url, tables) == [(0,)]


def test_the_command_migrates_and_says_whether_it_is_due(
    empty_postgres_url: PostgresUrl,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TURNSTREAM_DATABASE", empty_postgres_url.secret)
    monkeypatch.setenv("TURNSTREAM_REDIS", "redis://localhost")
    assert run(["migrate", "--check"]) == 2
    assert "is to be migrated" in capsys.readouterr().err
    assert run(["migrate"]) == 0
    assert run(["migrate", "--check"]) == 0
    assert run(["keys", "add", "ann"]) == 0
    assert run(["keys", "list"]) == 0
    assert "ann" in capsys.readouterr().out


def test_an_address_is_shown_without_its_secrets() -> None:
    url = location("postgresql://ann:pass%20word@db:5433/chat?sslpassword=hidden")
    assert isinstance(url, PostgresUrl)
    assert str(url) == "postgresql://ann@db:5433/chat"
    assert "pass" not in repr(url)
    with pytest.raises(ValueError, match="names no database") as raised:
        location("postgres://ann:password@db")
    assert "password" not in str(raised.value)
    with pytest.raises(ValueError, match="not mysql://"):
        location("mysql://ann:password@db/chat")


async def test_a_server_that_is_not_there_is_said_in_a_line_without_the_password() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = PostgresUrl(f"postgresql://ann:password@127.0.0.1:{nobody.getsockname()[1]}/chat")
        with pytest.raises(StorageError, match="cannot be used as a database") as raised:
            async with open_storage(url):
                pass
    assert "password" not in str(raised.value)
    assert "\n" not in str(raised.value)


async def test_connections_that_were_cut_while_idle_are_made_anew(
    worker: PostgresStorage, postgres_url: PostgresUrl
) -> None:
    await begin(worker.store, THREAD, "r1")
    for _ in range(2):
        query(postgres_url, CUT)
        assert await worker.store.holder(THREAD) == "r1"
        query(postgres_url, CUT)
        await worker.checkpointer.aput(PLACE, empty_checkpoint(), {}, {})
        query(postgres_url, CUT)
        await worker.leases.renew()
        assert await worker.checkpointer.heads(THREAD.checkpoint_key, 5)
    query(postgres_url, CUT)
    await worker.store.end_run(THREAD, "r1", "finished")


async def test_a_write_waits_for_a_lock_no_longer_than_it_may(
    worker: PostgresStorage, postgres_url: PostgresUrl
) -> None:
    await run_through(worker.store, THREAD, "r1")
    with psycopg.connect(postgres_url.secret) as other:
        other.execute("LOCK TABLE threads IN EXCLUSIVE MODE")
        with pytest.raises(StorageUnavailable) as raised:
            await worker.store.rename(THREAD, "Other")
        assert raised.value.code == "storage_busy"
        assert await worker.store.get(THREAD), "reading does not wait"
    assert await worker.store.rename(THREAD, "Other")


async def test_a_database_that_lets_nobody_in_is_unreachable_and_then_used_again(
    worker: PostgresStorage, postgres_url: PostgresUrl, postgres_server: tuple[str, str]
) -> None:
    with nobody_let_in(postgres_server[0], postgres_url):
        for call in (worker.store.get(THREAD), worker.store.claim(THREAD, "r1")):
            with pytest.raises(StorageUnavailable) as raised:
                await call
            assert raised.value.code == "storage_unreachable"
    assert await worker.store.claim(THREAD, "r1")


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("53100", "storage_full"),
        ("53300", "storage_busy"),
        ("55P03", "storage_busy"),
        ("57014", "storage_busy"),
        ("40P01", "storage_busy"),
        ("25006", "storage_failed"),
        ("XX001", "storage_failed"),
        ("57P01", "storage_unreachable"),
        ("23505", None),
        ("22P02", None),
    ],
)
def test_what_postgres_says_is_a_fault_or_a_mistake(state: str, code: str | None) -> None:
    assert fault(psycopg.errors.lookup(state)()) == code


async def test_no_text_is_refused_for_what_postgres_cannot_keep(worker: PostgresStorage) -> None:
    store, saver = worker.store, worker.checkpointer
    assert (await begin(store, THREAD, "r1", "a\0b")).title == "ab"
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"nul": "a\0b", "text": r"a\u0000b", "both": "\\\0"}
    checkpoint["channel_versions"] = {"nul": "1", "text": "1", "both": "1"}
    metadata: Any = {"writes": {"a\0": "\0"}}
    await saver.aput(PLACE, checkpoint, metadata, {"nul": "1", "text": "1", "both": "1"})
    saved = await saver.aget_tuple(PLACE)
    assert saved
    assert saved.checkpoint["channel_values"] == {
        "nul": "a\ufffdb",
        "text": r"a\u0000b",
        "both": "\\\ufffd",
    }


@pytest.mark.parametrize("reads", [True, False])
async def test_a_failing_transaction_leaves_nothing_and_its_connection_is_used_again(
    worker: PostgresStorage, reads: bool
) -> None:
    def fails(connection: Any) -> None:
        connection.exec_driver_sql("SELECT 1/0")

    do: Callable[..., Any] = worker.store.read if reads else worker.store.write
    for _ in range(10):
        with pytest.raises(Exception, match="division by zero"):
            await do(fails)
    await run_through(worker.store, THREAD, "r1")
