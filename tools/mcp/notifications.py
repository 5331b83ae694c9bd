"""Notifications of a server: that its tools are others now, and how far a call has come."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError
from mcp.shared.dispatcher import ProgressFnT
from mcp.types import METHOD_NOT_FOUND

RELISTEN_SECONDS, MAX_RELISTEN_SECONDS = 1.0, 60.0
"""Between the end of a subscription to changes and the next one."""

Progress = Callable[[float, float | None, str | None], None]
"""Is told how much is done, of how much, and a text, where the server says so."""

logger = logging.getLogger(__name__)


@asynccontextmanager
async def listening(client: Client, changed: Callable[[], None]) -> AsyncIterator[None]:
    """With protocols from 2026 on, whoever wants to know of changes asks for them. What goes wrong
    with that ends nothing: the tools stay as they are."""
    task = asyncio.create_task(_listen(client, changed))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _listen(client: Client, changed: Callable[[], None]) -> None:
    """A subscription ends when its server is restarted or a gateway cuts it; then it is opened
    again. Nobody is told of a change before the subscription stands, so the tools are asked for
    once it does."""
    delay = RELISTEN_SECONDS
    while True:
        try:
            async with client.listen(tools_list_changed=True) as events:
                changed()
                async for _ in events:
                    delay = RELISTEN_SECONDS
                    changed()
        except ListenNotSupportedError:
            return
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                return
        except Exception:
            logger.debug("a subscription to changes of tools ended", exc_info=True)
        await asyncio.sleep(delay)
        delay = min(2 * delay, MAX_RELISTEN_SECONDS)


def told_to(progress: Progress | None) -> ProgressFnT | None:
    """A function of ours as the client calls it."""
    if progress is None:
        return None

    told = progress

    # The client names the first argument.
    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told(progress, total, message)

    return tell
