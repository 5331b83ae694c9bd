"""The tables of extensions: made, migrated, and emptied of the rows of a deleted thread."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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

from turnstream.server.storage import full_text
from turnstream.server.storage.engine_statements import statements_of
from turnstream.server.storage.interfaces import StorageError
from turnstream.server.storage.tables import TEXT, metadata
from turnstream.server.turns.header import ThreadKey

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
their names, those that refer to others first, separated by spaces."""


@dataclass(frozen=True, slots=True)
class ExtensionTables:
    """The tables of one extension. `migrate` gets a connection and the version that it finds."""

    name: str
    metadata: MetaData
    version: int
    migrate: Callable[[Connection, int], None]


def open_tables(
    connection: Connection, declared: Sequence[ExtensionTables], is_shared: bool
) -> None:
    """Make and migrate the tables of the extensions that are on, in one transaction.

    Raises StorageError for tables of a newer version, and if an extension of the database is off
    while other workers may have it on (`is_shared`).
    """
    statements_of(connection).await_tables(connection)
    known = {row.name: row for row in connection.execute(select(extensions))}
    for each in declared:
        _open(connection, each, known.get(each.name))
    off = sorted(known.keys() - {each.name for each in declared})
    if off and is_shared:
        raise StorageError(
            f"the database has tables of the extension {off[0]!r}, which is off here, and other "
            "workers may have it on. Switch it on, or once no worker has it, drop its tables with "
            f"`turnstream extensions drop {off[0]}`"
        )


def is_registered(connection: Connection, name: str) -> bool:
    """Check that an extension was on in this database."""
    return connection.scalar(select(extensions.c.name).where(extensions.c.name == name)) is not None


def are_there(connection: Connection, declared: Sequence[ExtensionTables]) -> bool:
    """Check that all tables of these extensions are there; those of users were the core's once."""
    inspected = inspect(connection)
    return all(inspected.has_table(name) for each in declared for name in each.metadata.tables)


def tables_of_threads(connection: Connection) -> list[TableClause]:
    """Return the tables of all extensions that have rows of threads, also of those that are off; a
    table comes ahead of the tables that it refers to."""
    found, inspected = list[TableClause](), inspect(connection)
    for names in connection.scalars(select(extensions.c.tables)):
        for name in names.split():
            # Somebody may have dropped it by hand.
            columns = inspected.get_columns(name) if inspected.has_table(name) else ()
            if {each["name"] for each in columns} >= OF_THREADS:
                found.append(table(name, column("owner"), column("thread_id")))
    return found


def remove_thread(connection: Connection, key: ThreadKey) -> None:
    for each in tables_of_threads(connection):
        is_owners, is_threads = each.c.owner == key.owner, each.c.thread_id == key.thread_id
        connection.execute(delete(each).where(is_owners, is_threads))


def drop(connection: Connection, name: str) -> bool:
    """Drop the tables of an extension. False: the database has none."""
    is_this = extensions.c.name == name
    names = connection.scalar(select(extensions.c.tables).where(is_this))
    if names is None:
        return False
    for each in names.split():
        if connection.dialect.name == "sqlite":
            full_text.drop_indexes(connection, each)
        connection.execute(text(f'DROP TABLE IF EXISTS "{each}"'))
    connection.execute(delete(extensions).where(is_this))
    return True


def _open(connection: Connection, tables: ExtensionTables, known: Any) -> None:
    """`known` is the row of the extension; None: it is new here."""
    if known and known.version > tables.version:
        raise StorageError(
            f"the database has version {known.version} of the tables of the extension "
            f"{tables.name!r}, and this server's extension has version {tables.version}: install a "
            "newer version of the extension"
        )
    tables.metadata.create_all(connection)
    if known and known.version < tables.version:
        tables.migrate(connection, known.version)
    names = [each.name for each in reversed(tables.metadata.sorted_tables)]
    earlier = [name for name in known.tables.split() if name not in names] if known else []
    row = {"version": tables.version, "tables": " ".join([*names, *earlier])}
    if known is None:
        connection.execute(insert(extensions).values(name=tables.name, **row))
    elif (known.version, known.tables) != (row["version"], row["tables"]):
        connection.execute(update(extensions).where(extensions.c.name == tables.name).values(row))
