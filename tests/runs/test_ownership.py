"""Every table that has an owner's rows: threads that are assigned or deleted leave none behind."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Connection, Table, func, insert, select

from tests.support.databases import open_storage
from turnstream.server.extensions.loading import tables_of
from turnstream.server.extensions.users import UsersExtension
from turnstream.server.extensions.users.tables import metadata as of_users
from turnstream.server.storage.ownership import (
    LEFT_BEHIND,
    MOVED,
    NEVER_MOVED,
    OF_NO_THREAD,
    assign,
)
from turnstream.server.storage.sql_store import SqlTransactions
from turnstream.server.storage.tables import metadata
from turnstream.server.turns.header import ThreadKey

KEY = ThreadKey("ann", "t1")
OWNED = [table for table in metadata.sorted_tables if "owner" in table.c]


def value(column: Column[Any]) -> Any:
    """Something for a column that has to have a value."""
    known = {"owner": KEY.owner, "thread_id": KEY.thread_id, "id": KEY.thread_id}
    if column.name in known:
        return known[column.name]
    kind = column.type.python_type
    if kind is datetime:
        return datetime.now(UTC)
    return {int: 1, float: 1.0, bool: False, bytes: b""}.get(kind, "[]")


def fill(connection: Connection, table: Table) -> None:
    needed = [column for column in table.c if not column.nullable]
    connection.execute(insert(table).values({column.name: value(column) for column in needed}))


def owners(connection: Connection) -> dict[str, list[str]]:
    found = {table.name: connection.scalars(select(table.c.owner)).all() for table in OWNED}
    return {name: [*rows] for name, rows in found.items() if rows}


def test_it_is_said_of_every_table_what_becomes_of_its_rows() -> None:
    assert {*MOVED, *LEFT_BEHIND, *NEVER_MOVED, *OF_NO_THREAD} == {*OWNED}
    others = {"cursor_secret", "extensions"}
    assert {*metadata.tables} == {table.name for table in OWNED} | others


async def filled(store: SqlTransactions, *but: Table) -> None:
    for table in OWNED:
        if table not in but:
            await store.write(fill, table)


async def test_a_thread_that_is_assigned_takes_its_rows_along(tmp_path: Path) -> None:
    async with open_storage(tmp_path / "t.db") as storage:
        await filled(storage.store, *NEVER_MOVED)
        assert (await assign(storage.store, "ann", "ben")).count == 1
        rows = await storage.store.read(owners)
        assert rows == {table.name: ["ben"] for table in (*MOVED, *OF_NO_THREAD)}


async def test_a_thread_that_is_deleted_leaves_no_row_but_its_claim(tmp_path: Path) -> None:
    async with open_storage(tmp_path / "t.db") as storage:
        await filled(storage.store)
        await storage.store.delete(KEY)
        kept = {table.name for table in (*NEVER_MOVED, *OF_NO_THREAD)}
        assert {*await storage.store.read(owners)} <= kept


@pytest.mark.parametrize("name", ["api_keys", "browser_sessions"])
async def test_what_is_a_callers_own_is_named_by_the_caller(name: str, tmp_path: Path) -> None:
    """Keys and logins stay with their caller, whoever gets the threads."""
    async with open_storage(tmp_path / "t.db") as storage:
        await storage.store.open_extensions(tables_of([UsersExtension]), is_shared=False)
        await storage.store.write(fill, of_users.tables[name])
        await assign(storage.store, "ann", "ben")
        count = select(func.count()).select_from(of_users.tables[name])
        assert await storage.store.read(lambda connection: connection.scalar(count)) == 1
