"""What storage does for the search over titles and texts."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from turnstream.server.turns.header import ThreadKey

MAX_TEXT_CHARS = 32_000
"""What stands behind them in a message is not found."""


@dataclass(frozen=True, slots=True)
class ThreadText:
    """What a message says."""

    message_id: str
    """As the thread has it."""
    shown_id: str
    """As clients have it: of a turn of the model's, which may be several messages."""
    text: str


@dataclass(frozen=True, slots=True)
class TextChanges:
    """What a run has changed of its thread's texts."""

    added: Sequence[ThreadText]
    removed: Collection[str]
    """Ids of messages."""
    all: Callable[[], Sequence[ThreadText]]
    """All texts by now: for where the index does not have the thread as it was before the run."""
    before: str | None = None
    """The run whose thread this one has changed. None: the thread is new."""
    is_branch: bool = False
    """Whether messages are gone that `removed` does not name."""


@dataclass(frozen=True, slots=True)
class Unsearchable:
    """A thread whose index does not have what its last run has left."""

    key: ThreadKey
    run_id: str
    graph: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """The newest message of a thread that has all the words, or else one of them."""

    message_id: str
    """As clients have it."""
    text: str
    """All of it: to look for the words in it takes longer than to read it."""


class SearchableTexts(Protocol):
    """Every method is one transaction. Raises StorageUnavailable."""

    async def note_texts(self, key: ThreadKey, run_id: str, changes: TextChanges) -> None:
        """Have the index follow a run that has ended. Does nothing if another has begun since."""

    async def put_texts(self, thread: Unsearchable, texts: Sequence[ThreadText]) -> None:
        """The same, with all texts of a thread on which no run has begun since it was named."""

    async def unsearchable(
        self, limit: int, after: Unsearchable | None = None
    ) -> Sequence[Unsearchable]:
        """Threads without a live run that are to be indexed, in a fixed order; `after` is the last
        of those before. None where no texts are searched."""
