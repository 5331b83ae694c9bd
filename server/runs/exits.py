"""Exits in a graph of an author's: what would end the process ends its run alone.

asyncio lets `SystemExit` and `KeyboardInterrupt` out of a task, and with them ends the event loop
and all that it serves. A node may raise one by way of a library: `argparse` does, and `sys.exit`.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_IN_RUN: ContextVar[bool] = ContextVar("in_run", default=False)


@contextmanager
def contained_exits() -> Iterator[None]:
    """Tasks that are begun within, and by these in turn, raise RuntimeError instead.

    It sets the task factory of the running loop, unless that has one of somebody else's.
    """
    loop = asyncio.get_running_loop()
    if loop.get_task_factory() is None:
        loop.set_task_factory(_task)
    token = _IN_RUN.set(True)
    try:
        yield
    finally:
        _IN_RUN.reset(token)


def _task(loop: asyncio.AbstractEventLoop, coroutine: Any, /, **options: Any) -> asyncio.Task[Any]:
    context = options.get("context")
    if not (context.get(_IN_RUN, False) if context else _IN_RUN.get()):
        return asyncio.Task(coroutine, loop=loop, **options)
    task = asyncio.Task(_contained(coroutine), loop=loop, **options)
    # A task that is cancelled before it begins never comes to its coroutine, which would warn.
    task.add_done_callback(lambda _: coroutine.close())
    return task


async def _contained(coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await coroutine
    except (SystemExit, KeyboardInterrupt) as leaving:
        raise RuntimeError(f"the graph raised {type(leaving).__name__}") from leaving
