"""Connections to the database: how long each waits, and what is sent over it."""

from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb, JsonbDumper
from psycopg.types.string import StrDumperUnknown
from sqlalchemy import Engine, create_engine

from turnstream.server.extensions.workers.postgres.statements import PostgresStatements
from turnstream.server.storage.engine_statements import OPTION
from turnstream.server.storage.location import PostgresUrl

DEFAULTS = {
    "connect_timeout": 5,
    "client_encoding": "utf8",
    # Who is gone without a word is missed after these seconds, not after two hours.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""Parameters of libpq; those of the URL come first."""
BACKSLASH = rb"\\"
"""In the text of a JSON document; what is between two has escapes of other characters alone."""


class TextDumper(StrDumperUnknown):
    """Postgres keeps no NUL in a text: U+FFFD stands for it."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\ufffd") if "\0" in obj else obj)


class DocumentDumper(JsonbDumper):
    """Nor in a jsonb."""

    def dump(self, obj: Any) -> Any:
        data = super().dump(obj)
        if data is None or rb"\u0000" not in bytes(data):
            return data
        parts = bytes(data).split(BACKSLASH)
        return BACKSLASH.join(part.replace(rb"\u0000", rb"\ufffd") for part in parts)


def connector(
    url: PostgresUrl, busy_seconds: float, lease_seconds: float, worker: str = ""
) -> Callable[[], psycopg.Connection[Any]]:
    """Makes connections, which the database lists by worker. A transaction that has been
    idle for half a lease is undone: a worker that is paused in one would keep others from its
    claim."""
    named = {"application_name": f"turnstream {worker}".strip()}
    parameters: dict[str, Any] = {**DEFAULTS, **named, **conninfo_to_dict(url.secret)}
    waits = {
        "lock_timeout": busy_seconds,
        "statement_timeout": max(busy_seconds * 2, 30),
        "idle_in_transaction_session_timeout": lease_seconds / 2,
    }
    configure = "SELECT " + ", ".join("set_config(%s, %s, false)" for _ in range(len(waits) + 1))
    values = [text for name, wait in waits.items() for text in (name, f"{round(wait * 1000)}ms")]
    values += ["default_transaction_isolation", "read committed"]

    def connect() -> psycopg.Connection[Any]:
        connection = psycopg.connect(**parameters, autocommit=True)
        connection.adapters.register_dumper(str, TextDumper)
        connection.adapters.register_dumper(Jsonb, DocumentDumper)
        connection.execute(configure, values)
        connection.autocommit = False
        return connection

    return connect


def engine(
    connect: Callable[[], psycopg.Connection[Any]], size: int, wait_seconds: float
) -> Engine:
    """At most `size` connections; who wants one more waits."""
    return create_engine(
        "postgresql+psycopg://",
        creator=connect,
        pool_size=size,
        max_overflow=0,
        pool_timeout=wait_seconds,
        pool_use_lifo=True,
        use_native_hstore=False,
        hide_parameters=True,
        execution_options={OPTION: PostgresStatements()},
    )
