"""The feedback that was given, in the database."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select
from typing_extensions import TypedDict

from turnstream.server.extensions.base import Opened
from turnstream.server.extensions.feedback import feedback
from turnstream.server.turns.header import ThreadKey

MAX_OF_THREAD = 1_000
"""Messages of one thread that have feedback."""


class FeedbackJson(TypedDict):
    message_id: str
    value: Literal["up", "down"]
    reason: str
    given_at: str


class TooMuchFeedback(Exception):
    """A thread has feedback on MAX_OF_THREAD messages."""


class GivenFeedback:
    """`changed` is called with the message whose feedback has changed."""

    def __init__(
        self, opened: Opened, changed: Callable[[ThreadKey, str], None] | None = None
    ) -> None:
        self._database = opened.database
        self._threads = opened.threads
        self._count = opened.count
        self._changed = changed

    async def of_thread(self, key: ThreadKey) -> list[FeedbackJson]:
        """Return a thread's feedback, the oldest first. Raises StorageUnavailable."""
        return await self._database.read(_of_thread, key)

    async def exists(self, key: ThreadKey) -> bool:
        """Check whether there is such a thread. Raises StorageUnavailable."""
        return await self._threads.title(key) is not None

    async def give(
        self, key: ThreadKey, message_id: str, value: Literal["up", "down", "none"], reason: str
    ) -> bool:
        """Set the feedback on a message; `none` takes it back. False: there is no such thread.
        Raises TooMuchFeedback, StorageUnavailable."""
        row = {"message_id": message_id, "value": value, "reason": reason, "given_at": time.time()}
        is_given = await self._database.write(self._give, key, row)
        if is_given:
            self._count(value)
            if self._changed:
                self._changed(key, message_id)
        return is_given

    def _give(self, connection: Connection, key: ThreadKey, row: Mapping[str, Any]) -> bool:
        # It also has requests about the same thread wait for each other.
        if not self._threads.hold(connection, key):
            return False
        is_this = feedback.c.message_id == row["message_id"]
        connection.execute(delete(feedback).where(*_on(key), is_this))
        if row["value"] == "none":
            return True
        count = connection.scalar(select(func.count()).select_from(feedback).where(*_on(key))) or 0
        if count >= MAX_OF_THREAD:
            raise TooMuchFeedback
        whole = {"owner": key.owner, "thread_id": key.thread_id, **row}
        connection.execute(insert(feedback).values(whole))
        return True


def _of_thread(connection: Connection, key: ThreadKey) -> list[FeedbackJson]:
    query = select(feedback).where(*_on(key))
    rows = connection.execute(query.order_by(feedback.c.given_at, feedback.c.message_id))
    return [
        FeedbackJson(
            message_id=row.message_id,
            value=row.value,
            reason=row.reason,
            given_at=datetime.fromtimestamp(row.given_at, UTC).isoformat(),
        )
        for row in rows
    ]


def _on(key: ThreadKey) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return feedback.c.owner == key.owner, feedback.c.thread_id == key.thread_id
