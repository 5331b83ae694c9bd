"""Pages of a thread's turns, from the newest to the oldest."""

from collections.abc import Sequence
from dataclasses import dataclass

from turnstream.server.turns.requests import InvalidRequest


@dataclass(frozen=True, slots=True)
class TurnPage:
    """Up to `limit` turns; None: all of them."""

    limit: int | None = None
    before: str | None = None
    """The id of the turn behind the page; None: the page ends with the thread."""

    def of(self, ids: Sequence[str]) -> range:
        """The page's places among a thread's turns, whose ids these are, oldest first.

        Raises InvalidRequest if the thread has no turn `before`.
        """
        end = len(ids) if self.before is None else _place(ids, self.before)
        start = 0 if self.limit is None else max(0, end - self.limit)
        return range(start, end)


WHOLE = TurnPage()


def _place(ids: Sequence[str], id: str) -> int:
    for place in range(len(ids) - 1, -1, -1):
        if ids[place] == id:
            return place
    raise InvalidRequest(
        "unknown_message",
        f"The thread holds no message {id[:100]!r} to read back from; GET the thread without "
        "'before' for its newest messages.",
        409,
    )
