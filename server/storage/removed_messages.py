"""The messages that a graph has removed from the front of a thread: kept, since people see them.

Each names the message that stood behind it. So the messages in front of any message are found from
that message on, whatever branch of the thread it stands in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from turnstream.server.turns.header import ThreadKey


@dataclass(frozen=True, slots=True)
class RemovedMessage:
    """A message as the checkpointer's serializer writes it."""

    next_id: str
    """The id of the message that stood behind it."""
    kind: str
    message: bytes


class RemovedMessages(Protocol):
    """The part of the store that keeps removed messages. Raises StorageUnavailable."""

    async def put_removed(
        self, key: ThreadKey, run_id: str, removed: Sequence[RemovedMessage]
    ) -> None:
        """Keep what the thread's live run has removed."""

    async def removed(self, key: ThreadKey) -> Sequence[RemovedMessage]:
        """Return all that is kept of the thread, of all of its branches."""
