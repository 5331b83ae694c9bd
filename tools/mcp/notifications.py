"""What a server says by itself: that its tools are others now, and how far a call has come."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from mcp import Client
from mcp.shared.dispatcher import ProgressFnT

Progress = Callable[[float, float | None, str | None], None]
"""Is told how much is done, of how much, and a text, where the server says so."""


@asynccontextmanager
async def listening(client: Client, changed: Callable[[], None]) -> AsyncIterator[None]:
    """With protocols from 2026 on, whoever wants to know of changes asks for them. What goes wrong
    with that ends nothing: the tools stay as they are."""

    async def listen() -> None:
        with suppress(Exception):
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    changed()

    task = asyncio.create_task(listen())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def told_to(progress: Progress | None) -> ProgressFnT | None:
    """A function of ours as the client calls it."""
    if progress is None:
        return None

    told = progress

    # The client names the first argument.
    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told(progress, total, message)

    return tell
