"""The thread's history as the plan of a run has read it, handed to the run itself."""

import asyncio
from collections.abc import Mapping

from langgraph.checkpoint.base import DeltaChannelHistory

HANDOVER_SECONDS = 5.0

Place = tuple[str, tuple[str, ...]]
"""A checkpoint and channels."""
History = Mapping[str, DeltaChannelHistory]


class HistoryHandover:
    """A run is planned on its thread and then begins with it: what was read for the one is kept for
    the other, since decoding a long history takes most of the time of a turn."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Place, History]] = {}
        """By thread: what was read of it last. A thread's branches are read one after the other."""

    def take(self, thread: str, place: Place) -> History | None:
        kept = self._kept.get(thread)
        if kept is None or kept[0] != place:
            return None
        del self._kept[thread]
        return kept[1]

    def keep(self, thread: str, place: Place, history: History) -> None:
        """For whoever comes next, and not for long."""
        kept = self._kept[thread] = place, history
        asyncio.get_running_loop().call_later(HANDOVER_SECONDS, self._drop, thread, kept)

    def _drop(self, thread: str, kept: tuple[Place, History]) -> None:
        if self._kept.get(thread) is kept:
            del self._kept[thread]
