"""The tables of extensions: made, migrated, and emptied of the rows of a deleted thread."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    Table,
    TableClause,
    column,
    delete,
    insert,
    inspect,
    select,
    table,
    text,
    update,
)

from turnstream.server.storage.interfaces import StorageError
from turnstream.server.storage.tables import TEXT, metadata
from turnstream.server.turns.header import ThreadKey

LOCK = 0x7475_726E_6578
"""Of Postgres: held by the worker that makes or migrates tables."""
OF_THREADS = {"owner", "thread_id"}
"""The columns of a table that has rows of threads."""

extensions = Table(
    "extensions",
    metadata,
    Column("name", TEXT, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("tables", TEXT, nullable=False),
)
"""The extensions that have tables in this database. `version` is that of the tables; `tables` are
their names, separated by spaces."""


@dataclass(frozen=True, slots=True)
class ExtensionTables:
    """The tables of one extension. `migrate` gets a connection and the version that it finds."""

    name: str
    metadata: MetaData
    version: int
    migrate: Callable[[Connection, int], None]


def open_tables(
    connection: Connection, declared: Sequence[ExtensionTables], is_shared: bool
) -> list[TableClause]:
    """Make and migrate the tables of the extensions that are on. Returns all tables that have rows
    of threads, those of extensions that are off too.

    Raises StorageError for tables of a newer version, and if an extension of the database is off
    while other workers may have it on (`is_shared`).
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    known = {row.name: row for row in connection.execute(select(extensions))}
    for each in declared:
        _open(connection, each, known[each.name].version if each.name in known else None)
    off = sorted(known.keys() - {each.name for each in declared})
    if off and is_shared:
        raise StorageError(
            f"the database has tables of the extension {off[0]!r}, which is off here, and other "
            "workers may have it on. Switch it on, or once no worker has it, drop its tables with "
            f"`turnstream extensions drop {off[0]}`"
        )
    return tables_of_threads(connection)


def tables_of_threads(connection: Connection) -> list[TableClause]:
    """Return the tables of extensions that have rows of threads."""
    found, columns = list[TableClause](), inspect(connection).get_columns
    for names in connection.scalars(select(extensions.c.tables)):
        for name in names.split():
            if {one["name"] for one in columns(name)} >= OF_THREADS:
                found.append(table(name, column("owner"), column("thread_id")))
    return found


def remove_thread(connection: Connection, tables: Sequence[TableClause], key: ThreadKey) -> None:
    for each in tables:
        is_owners, is_threads = each.c.owner == key.owner, each.c.thread_id == key.thread_id
        connection.execute(delete(each).where(is_owners, is_threads))


def drop(connection: Connection, name: str) -> bool:
    """Drop the tables of an extension. False: the database has none."""
    is_this = extensions.c.name == name
    names = connection.scalar(select(extensions.c.tables).where(is_this))
    if names is None:
        return False
    for each in names.split():
        connection.execute(text(f'DROP TABLE IF EXISTS "{each}"'))
    connection.execute(delete(extensions).where(is_this))
    return True


def _open(connection: Connection, tables: ExtensionTables, found: int | None) -> None:
    if found is not None and found > tables.version:
        raise StorageError(
            f"the tables of the extension {tables.name!r} have the version {found}, and the one "
            f"here knows {tables.version}: install a newer version of the extension"
        )
    tables.metadata.create_all(connection)
    if found is not None and found < tables.version:
        tables.migrate(connection, found)
    row = {"version": tables.version, "tables": " ".join(sorted(tables.metadata.tables))}
    if found is None:
        connection.execute(insert(extensions).values(name=tables.name, **row))
    elif found < tables.version:
        connection.execute(update(extensions).where(extensions.c.name == tables.name).values(row))
