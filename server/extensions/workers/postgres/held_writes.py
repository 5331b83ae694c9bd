"""Writes of one run's thread that wait for each other, to be one transaction.

LangGraph (read in 1.2.22) writes what a task has done, streams it, and then writes the checkpoint
behind the step. The first waits a moment for the last: a commit of Postgres less for each step.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from turnstream.server.storage.thread_writes import ThreadWrites

Work = TypeVar("Work")

HELD_SECONDS = 0.05
"""At most: while what a task streamed last is told, nobody waits for its writes."""
ROUNDS = 8
"""Rounds of the event loop from a task's last item to the checkpoint; some more than LangGraph
needs."""


class HeldWrites(ThreadWrites, Generic[Work]):
    """Belongs to the event loop. One transaction follows the other; while a graph streams, none is
    done whose forerunner has failed: LangGraph builds on what it has written before."""

    def __init__(self, write: Callable[[Sequence[Work]], Awaitable[Sequence[Any]]]) -> None:
        """`write` does all in one transaction, in their order."""
        super().__init__()
        self._write = write
        self._holds = False
        self._held: list[Work] = []
        self._timer: asyncio.TimerHandle | None = None
        self._last: asyncio.Task[Sequence[Any]] | None = None

    @contextmanager
    def streaming(self) -> Iterator[None]:
        self._holds = True
        try:
            yield
        finally:
            self._holds = False
            self._send_held()

    async def hold(self, work: Work) -> None:
        """Have it done with what is sent next, if a graph streams; else now."""
        if not self._holds:
            await self.send(work)
            return
        if not self._held:
            self._timer = asyncio.get_running_loop().call_later(HELD_SECONDS, self._send_held)
        self._held.append(work)

    async def send(self, work: Work) -> Any:
        """Have it done now. Returns what it returns; raises what an earlier one has raised, too.
        If this is cancelled, it comes to its end nevertheless."""
        results = await asyncio.shield(self._begin([*self._taken(), work]))
        return results[-1]

    async def committed(self) -> None:
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
            if not self._held:
                break
        await super().committed()

    async def settled(self) -> None:
        self._send_held()
        await super().settled()

    def _send_held(self) -> None:
        if held := self._taken():
            self._begin(held)

    def _taken(self) -> list[Work]:
        held, self._held = self._held, []
        if self._timer:
            self._timer.cancel()
        return held

    def _begin(self, works: Sequence[Work]) -> asyncio.Task[Sequence[Any]]:
        self._last = asyncio.create_task(self._behind(self._last, works))
        self.follow(self._last)
        return self._last

    async def _behind(
        self, last: asyncio.Task[Sequence[Any]] | None, works: Sequence[Work]
    ) -> Sequence[Any]:
        if last:
            await asyncio.wait({last})
            if self._holds and (failure := last.exception()):
                raise failure
        return await self._write(works)
