"""Event ids as cursors: `{run_id}:{n}` says that a reader has seen the run up to its n-th chunk."""

from dataclasses import dataclass
from typing import Literal

from turnstream.server.runs.reader import LoggedRun, RunReader
from turnstream.server.turns.header import ThreadKey

LOST = "cursor-lost"
"""The id of the event that tells of a lost cursor; a reader that comes back with it is done."""


@dataclass(frozen=True, slots=True)
class Position:
    """The place where a reader goes on: after the `after`-th chunk of a run."""

    run: LoggedRun
    after: int


async def position(
    reader: RunReader, key: ThreadKey, cursor: str
) -> Position | Literal["done", "lost"]:
    """`done`: there is nothing more to read; `lost`: an unknown cursor, or one of a run whose log
    is no longer held."""
    if cursor == LOST:
        return "done"
    run_id, _, number = cursor.rpartition(":")
    run = await reader.find(key, run_id) if _is_number(number) else None
    if run is None:
        return "lost"
    after, status = int(number), await run.log.status()
    if after > status.last:
        return "lost"
    if status.state != "live" and after == status.last:
        return "done"
    return Position(run, after)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10
