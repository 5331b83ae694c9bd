"""Which versions a message has: a user's in other words, an answer made anew."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a message that has several."""

    ids: tuple[str, ...]
    """In the order in which they were made."""
    shown: str
    """The id of the one that is shown."""
