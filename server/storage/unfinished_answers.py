"""The part of storage for answers that are being written, in case their process dies."""

from typing import Protocol

from turnstream.server.turns.header import ThreadKey


class UnfinishedAnswers(Protocol):
    """Every method is one short transaction. Raises StorageUnavailable."""

    async def put_words(self, key: ThreadKey, run_id: str, words: str) -> None:
        """Keep what the thread's live run has said, in the place of what was kept before."""

    async def words(self, key: ThreadKey, run_id: str) -> str | None:
        """Return the words that are kept of a run. None: there are none, or only those of another
        run."""

    async def forget_words(self, key: ThreadKey) -> None:
        """The thread has them by now, or never will."""
