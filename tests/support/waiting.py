"""Waiting for what becomes true by itself."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

WAIT_SECONDS = 30


async def until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds; TimeoutError when it does not come to hold."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():  # noqa: ASYNC110  what holds it has no event to wait for
            await asyncio.sleep(0.005)


async def eventually(condition: Callable[[], Awaitable[object]]) -> None:
    """The same for a condition that must be awaited."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not await condition():  # noqa: ASYNC110  what makes it true has no event to wait for
            await asyncio.sleep(0.005)


class HeldMethod:
    """A method that waits to be let through: its first call, or every one. `done`: it has done its
    work by then."""

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        owner: object,
        name: str,
        *,
        once: bool = False,
        done: bool = False,
    ) -> None:
        self.reached, self.through = asyncio.Event(), asyncio.Event()
        method = getattr(owner, name)

        async def held(*given: Any, **named: Any) -> Any:
            result = await method(*given, **named) if done else None
            if not (once and self.reached.is_set()):
                self.reached.set()
                await self.through.wait()
            return result if done else await method(*given, **named)

        patch.setattr(owner, name, held)
