"""The words of answers that are being written, in case their process dies: a row each live run."""

from sqlalchemy import Column, Connection, Table, bindparam, delete, insert, select

from turnstream.server.storage.tables import TEXT, metadata
from turnstream.server.turns.header import ThreadKey

answers = Table(
    "unfinished_answers",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
    Column("run_id", TEXT, nullable=False),
    Column("words", TEXT, nullable=False),
)

_OF_THREAD = (
    answers.c.owner == bindparam("of_owner"),
    answers.c.thread_id == bindparam("of_thread"),
)
_REMOVE = delete(answers).where(*_OF_THREAD)
_PUT = insert(answers)
_WORDS = select(answers.c.words).where(*_OF_THREAD, answers.c.run_id == bindparam("of_run"))


def put(connection: Connection, key: ThreadKey, run_id: str, words: str) -> None:
    remove(connection, key)
    row = {"owner": key.owner, "thread_id": key.thread_id, "run_id": run_id, "words": words}
    connection.execute(_PUT, row)


def get(connection: Connection, key: ThreadKey, run_id: str) -> str | None:
    words: str | None = connection.scalar(_WORDS, {**_of(key), "of_run": run_id})
    return words


def remove(connection: Connection, key: ThreadKey) -> None:
    connection.execute(_REMOVE, _of(key))


def _of(key: ThreadKey) -> dict[str, str]:
    return {"of_owner": key.owner, "of_thread": key.thread_id}
