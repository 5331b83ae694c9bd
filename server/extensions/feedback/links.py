"""The links between messages, the traces of their runs, and their feedback at the service."""

import time
import uuid
from collections.abc import Iterable, Sequence

from sqlalchemy import ColumnElement, Connection, exists, insert, literal, select, update

from turnstream.server.extensions.base import MAX_WRITES, Write
from turnstream.server.extensions.feedback import feedback, links
from turnstream.server.extensions.feedback.services import Score
from turnstream.server.turns.chunks import Chunk, StepStart
from turnstream.server.turns.header import ThreadKey

MAX_LINKED = MAX_WRITES // 2
"""Messages of one run that are linked."""


def linking(key: ThreadKey, chunks: Iterable[Chunk], trace_id: str) -> Sequence[Write]:
    """Return what links the messages of a run with its trace.

    A message of several runs belongs to the last one, unless it has feedback: its score stays where
    it is.
    """
    steps = [chunk for chunk in chunks if isinstance(chunk, StepStart)]
    messages = dict.fromkeys(id for step in steps for id in (step.message_id, step.step_id))
    return [
        write
        for message_id in [*messages][:MAX_LINKED]
        for write in _linking(key, message_id, trace_id)
    ]


def _linking(key: ThreadKey, message_id: str, trace_id: str) -> tuple[Write, Write]:
    rated = exists().where(
        feedback.c.owner == key.owner,
        feedback.c.thread_id == key.thread_id,
        feedback.c.message_id == message_id,
    )
    new = {"trace_id": trace_id, "linked_at": time.time()}
    known = _is_of(key, message_id)
    row = {
        "owner": key.owner,
        "thread_id": key.thread_id,
        "message_id": message_id,
        "score_id": str(uuid.uuid4()),
        **new,
    }
    values = select(*(literal(value, links.c[name].type) for name, value in row.items()))
    return (
        update(links).where(*known, ~rated).values(new),
        insert(links).from_select([*row], values.where(~exists().where(*known))),
    )


def score_of(connection: Connection, key: ThreadKey, message_id: str) -> Score | None:
    """Return the present feedback on a message as a score of its trace. None: the message has no
    trace."""
    link = connection.execute(select(links).where(*_is_of(key, message_id))).one_or_none()
    if link is None:
        return None
    given = connection.execute(
        select(feedback.c.value, feedback.c.reason).where(
            feedback.c.owner == key.owner,
            feedback.c.thread_id == key.thread_id,
            feedback.c.message_id == message_id,
        )
    ).one_or_none()
    value = None if given is None else int(given.value == "up")
    reason = given.reason if given else ""
    return Score(link.score_id, link.trace_id, link.linked_at, value, reason)


def _is_of(key: ThreadKey, message_id: str) -> Sequence[ColumnElement[bool]]:
    return (
        links.c.owner == key.owner,
        links.c.thread_id == key.thread_id,
        links.c.message_id == message_id,
    )
