"""The texts of a thread's messages as people see them: for titles, a search and the like."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MessageText:
    """The text of one message."""

    message_id: str
    """The id that the message has in the thread."""
    shown_id: str
    """The id that clients know. A turn of the model may be several messages, and has one id."""
    text: str


@dataclass(frozen=True, slots=True)
class TextChanges:
    """The changes that a run has made to its thread's texts."""

    added: Sequence[MessageText]
    """New ones, and those that were rewritten."""
    removed: Collection[str]
    """The ids of messages."""
    all: Callable[[], Sequence[MessageText]]
    """Returns all texts that the thread has by now."""
    is_branch: bool = False
    """True: the run left messages behind that `removed` does not name."""
