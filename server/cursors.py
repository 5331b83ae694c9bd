"""Event ids as cursors: `{run_id}:{n}` says that a reader has seen the run up to its n-th chunk."""

from dataclasses import dataclass
from typing import Literal

from server.runs.registry import Runs
from server.runs.run import Run

LOST = "cursor-lost"
"""The id of the event that tells of a lost cursor; a reader that comes back with it is done."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a reader goes on: after the `after`-th chunk of a run."""

    run: Run
    after: int


def position(runs: Runs, thread_id: str, cursor: str) -> Position | Literal["done", "lost"]:
    """`done`: there is nothing more to read; `lost`: the run is unknown, or no longer held."""
    if cursor == LOST:
        return "done"
    run_id, _, number = cursor.rpartition(":")
    run = runs.kept.get(run_id)
    if run is None or run.thread_id != thread_id or not _is_number(number):
        return "lost"
    after = int(number)
    if after > len(run.log.chunks):
        return "lost"
    if run.log.closed and after == len(run.log.chunks):
        return "done"
    return Position(run, after)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10
