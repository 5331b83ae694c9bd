"""The versions of a thread that are kept: where an edit, or an answer made anew, left a branch.

The messages of every branch are in the checkpoints. A row here names one version of a turn, so that
a thread can say which versions a message has without loading any of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from turnstream.server.turns.header import ThreadKey


@dataclass(frozen=True, slots=True)
class TurnVersion:
    """A user's message and what follows it: one of several in the same place of a thread.

    Those in one place have the same `parent`; a parent has versions in one further place at most.
    """

    id: str
    number: int
    """Its number among the thread's versions, in the order in which they were noted."""
    parent: str | None
    """The version in an earlier place that this one belongs to. None: there is no earlier place."""
    question: str
    """The id of the first version with the same words: the others answer them anew."""
    message_id: str
    """The user message's."""
    is_original: bool
    """It was there before any other in its place: its message does not name its version."""
    head: str | None = None
    """The last checkpoint of the branch, when the thread left it last. None: never yet."""


@dataclass(frozen=True, slots=True)
class FirstWords:
    """The words that a thread began with until now, and those that it begins with from now on."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """The changes that a run makes to its thread's versions when it begins a branch, or goes to
    another one."""

    put: Sequence[TurnVersion] = ()
    """New ones, and others as they are from now on."""
    removed: Sequence[str] = ()
    """The ids of those whose run broke off before it began its branch."""
    first_words: FirstWords | None = None
    """None: the thread begins as before."""
    replaced: Sequence[TurnVersion] = ()
    """Versions that are put or removed, as they were before."""

    def undone(self) -> "VersionChanges":
        """The changes that lead back."""
        before = {version.id for version in self.replaced}
        words = self.first_words
        return VersionChanges(
            self.replaced,
            [version.id for version in self.put if version.id not in before],
            words and FirstWords(words.after, words.before),
            [version for version in self.put if version.id in before],
        )


NO_CHANGES = VersionChanges()


class KeptVersions(Protocol):
    """The part of the store that keeps versions. `ThreadStore.begin_run` changes them."""

    async def versions(self, key: ThreadKey) -> Sequence[TurnVersion]:
        """All of the thread's, in the order of their numbers."""
