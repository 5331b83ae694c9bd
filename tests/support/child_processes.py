"""The processes that a process has started, as Linux tells."""

from pathlib import Path

GONE = (FileNotFoundError, ProcessLookupError)
"""Raised by a read of a thread or a process that ends in that moment."""


def children_of(process: int | str) -> list[int]:
    """Ids of the processes that any of its threads has started; `self` is our own."""
    return [child for thread in Path(f"/proc/{process}/task").iterdir() for child in _of(thread)]


def _of(thread: Path) -> list[int]:
    try:
        return [int(child) for child in (thread / "children").read_text().split()]
    except GONE:
        return []


def command_of(process: int) -> bytes:
    """Its words, each ended by a NUL byte; none of a process that has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except GONE:
        return b""


def is_there(process: int) -> bool:
    """A process that has ended and that nobody has asked about counts as gone."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except GONE:
        return False
