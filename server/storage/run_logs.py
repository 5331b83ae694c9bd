"""The logs of runs, as the rest of the server sees them.

They have one implementation per engine; `tests/support/contracts` holds any of them to the same
behaviour. Importing this module imports no engine.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.header import RunHeader, ThreadKey


@dataclass(frozen=True, slots=True)
class LogStatus:
    """`live`: more may come; `ended`: the last chunk is there; `lost`: the log is gone."""

    state: Literal["live", "ended", "lost"]
    last: int
    """The number of the newest chunk; 0 before the first, -1 before the header."""
    readers: int
    unread_seconds: float
    """Seconds since somebody last read; 0 while somebody reads."""


Batch = Sequence[tuple[int, Chunk]]


class RunLog(Protocol):
    """One run's header and chunks, numbered from 1 without gaps; `Done` is the last.

    Written by the run alone, read by any number of readers at their own pace.
    """

    async def open(self, header: RunHeader) -> None:
        """Write item 0: what the request brought is saved, and the log can be read."""

    async def append(self, chunks: Sequence[Chunk]) -> None: ...

    async def header(self) -> RunHeader | None:
        """Item 0, once it is there. None: the request was refused, or the log is gone."""

    def read(self, after: int) -> AsyncGenerator[Batch]:
        """The chunks after a number, as they come, to the end of the log."""

    async def status(self) -> LogStatus: ...

    @property
    def is_over(self) -> bool:
        """True if no more can come, as far as is known here."""

    async def ended(self) -> None:
        """Return when no more can come."""


class RunLogs(Protocol):
    """The logs of live runs, and of runs that ended within the retention time."""

    async def create(self, run_id: str) -> RunLog: ...

    async def get(self, run_id: str) -> RunLog | None: ...

    async def keep(self, run_id: str, seconds: float) -> None:
        """The log has ended: drop it after this time."""

    async def discard(self, run_id: str) -> None:
        """Drop the log now; its readers come to their end."""

    async def discard_thread(self, key: ThreadKey) -> None:
        """Drop the logs of all runs of a thread."""


class SharedLogs(RunLogs, Protocol):
    """The logs of several workers' runs: any worker reads them, one worker writes each."""

    async def take_over(self, run_id: str) -> RunLog | None:
        """Make this worker the one that writes the log of a run whose claim it has taken over: what
        the worker before it appends from here on is refused. None: the log is lost."""

    async def hand_over(self, run_id: str) -> None:
        """This worker does not write the log any more: readers here get what another worker writes
        from here on."""

    def on_silence(self, ask: Callable[[RunHeader], Awaitable[None]]) -> None:
        """Have `ask` called for a log that is read here and has been silent for a while: its run
        may be over without having said so."""

    async def check(self) -> None:
        """Raises StorageUnavailable if no run can be streamed now."""
