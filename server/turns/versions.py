"""Which versions a message has: a user's in other words, an answer made anew."""

from dataclasses import dataclass

from turnstream.server.turns.requests import InvalidRequest


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a message that has several."""

    ids: tuple[str, ...]
    """In the order in which they were made."""
    shown: str
    """The id of the one that is shown."""


def unknown_version(version: str) -> InvalidRequest:
    return InvalidRequest(
        "unknown_version",
        f"The thread has no version {version[:100]!r}; GET the thread for those of its messages.",
        404,
    )
