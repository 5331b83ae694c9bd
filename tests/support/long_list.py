"""A list of many threads, in the store without their messages."""

from sqlalchemy import Connection, insert

from turnstream.server.storage.tables import activities, threads
from turnstream.server.turns.header import LOCAL_OWNER

WHEN = "2026-01-01T00:00:00Z"
ENTRY = {
    "owner": LOCAL_OWNER,
    "title": "-",
    "created_at": WHEN,
    "updated_at": WHEN,
    "run_id": "-",
    "run_state": "finished",
}


def add_threads(connection: Connection, count: int) -> None:
    ids = [f"thread-{number}" for number in range(count)]
    connection.execute(insert(threads), [{"id": id, **ENTRY} for id in ids])
    connection.execute(insert(activities), [{"owner": LOCAL_OWNER, "thread_id": id} for id in ids])
