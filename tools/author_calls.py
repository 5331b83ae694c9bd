"""Calling a function of a deployer's or a tool's author: it may be slow, and it may raise anything.

Plain functions run in threads of their own, so that a slow one does not use up the event loop's.
"""

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from turnstream.tools.threads import in_thread

MAX_THREADS = 32


class AuthorCalls:
    """Calls with a limit of seconds, in at most `max_threads` threads; further calls wait for one
    within their own limit.

    A thread that has passed its limit counts until the function returns, since it cannot be
    cancelled.
    """

    def __init__(self, max_threads: int = MAX_THREADS) -> None:
        self._free = asyncio.Semaphore(max_threads)

    async def __call__(self, function: Callable[[], Any], seconds: float) -> Any:
        """Return what the function returns, awaited if it is async.

        Raises TimeoutError, and what the function raises; RuntimeError in place of an exit, an
        interrupt or a cancellation of the function's own, which would end the server or the caller.
        """
        try:
            async with asyncio.timeout(seconds):
                answer = function() if is_async(function) else await self._in_thread(function)
                return await answer if inspect.isawaitable(answer) else answer
        except Exception:
            raise
        except BaseException as leaving:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            raise RuntimeError(f"it raised {type(leaving).__name__}") from leaving

    async def _in_thread(self, function: Callable[[], Any]) -> Any:
        await self._free.acquire()
        return await in_thread(function, at_end=self._free.release)


def is_async(function: Callable[..., Any]) -> bool:
    """Return True for an async function, also one that is an object's `__call__`."""
    while isinstance(function, partial):
        function = function.func
    called = getattr(function, "__call__", None)  # noqa: B004  of an object
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
