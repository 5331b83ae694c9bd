"""The stream of a graph, told in its order while the graph goes on."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

MOST_AHEAD = 16
"""Items that the graph may be ahead of what is told."""

Item = dict[str, Any]
"""As `astream` yields it."""


class Telling:
    """An async context manager. An update is told beside the graph, with what follows it: it waits
    until the database has what it tells of, and the checkpoint behind the step can go there with
    it. Anything else is told before the graph goes on.

    At its end all is told, but if it is cancelled.
    """

    def __init__(self, tell: Callable[[Item], Awaitable[None]]) -> None:
        self._tell = tell
        self._behind: deque[Item] = deque()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task and kind and issubclass(kind, asyncio.CancelledError):
            self._task.cancel()
        await self._finish()

    async def add(self, item: Item) -> None:
        """Raises what telling an earlier one has raised."""
        if self._task and self._task.done():
            await self._finish()
        if self._task is None and item["type"] != "updates":
            await self._tell(item)
            return
        self._behind.append(item)
        if self._task is None:
            self._task = asyncio.create_task(self._tell_all())
        elif len(self._behind) > MOST_AHEAD:
            await self._finish()

    async def _tell_all(self) -> None:
        while self._behind:
            await self._tell(self._behind.popleft())

    async def _finish(self) -> None:
        task, self._task = self._task, None
        if task:
            await task
