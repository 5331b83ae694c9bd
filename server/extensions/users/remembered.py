"""Rows that are looked up for every request, remembered for a moment: a lookup costs a hop to the
database's thread, which for a page's burst of requests would add up."""

import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")

SECONDS = 1.0
"""Seconds after which a revocation by another process is known here."""
MAX_ROWS = 10_000


class Remembered(Generic[Value]):
    """Values that were looked up a moment ago. A value that is not there is never remembered."""

    def __init__(self, look_up: Callable[[str], Awaitable[Value | None]]) -> None:
        self._look_up = look_up
        self._rows: dict[str, tuple[float, Value]] = {}
        self._forgotten = 0

    async def get(self, id: str) -> Value | None:
        value = self.peek(id)
        return await self.look_up(id) if value is None else value

    def peek(self, id: str) -> Value | None:
        """Return what is remembered."""
        until, value = self._rows.get(id, (0.0, None))
        return value if time.monotonic() < until else None

    async def look_up(self, id: str) -> Value | None:
        """Read the row again, and remember it."""
        forgotten = self._forgotten
        value = await self._look_up(id)
        self._rows.pop(id, None)
        if value is not None and forgotten == self._forgotten:
            if len(self._rows) >= MAX_ROWS:
                self._rows.clear()
            self._rows[id] = (time.monotonic() + SECONDS, value)
        return value

    def forget(self, id: str) -> None:
        """Look it up the next time, and do not remember what is being looked up now."""
        self._forgotten += 1
        self._rows.pop(id, None)

    def forget_all(self) -> None:
        self._forgotten += 1
        self._rows.clear()
