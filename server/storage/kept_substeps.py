"""The substeps of subagents under tool calls: kept, since no checkpoint of the thread has them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from turnstream.server.turns.header import ThreadKey

MAX_ID_CHARS = 200


def can_be_kept(call_id: str) -> bool:
    """Check that every database takes the id of a call as a key: a graph may have written it."""
    return len(call_id) <= MAX_ID_CHARS and call_id.isprintable()


@dataclass(frozen=True, slots=True)
class KeptSubstep:
    """A substep under a call of the answer, or under a call below it."""

    call_id: str
    """The call of the answer."""
    place: int
    """Substeps of a call are in the order of their places, from 0. Below 0 it is the number of
    those that a run has cut."""
    run_id: str
    """The run that wrote it last."""
    body: str | None
    """JSON; None: it is not kept any more."""


class KeptSubsteps(Protocol):
    """The part of the store that keeps substeps. Raises StorageUnavailable."""

    async def put_substeps(
        self,
        key: ThreadKey,
        run_id: str,
        changed: Sequence[KeptSubstep],
        begun: Collection[str] = (),
    ) -> None:
        """Write substeps of the thread's live run. What is kept under the calls `begun` is of
        another call with the same id, and goes first."""

    async def substeps(self, key: ThreadKey, call_ids: Collection[str]) -> Sequence[KeptSubstep]:
        """Return the substeps under these calls of the answer, those of each call in order."""
