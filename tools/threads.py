"""Running a plain function beside the event loop."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LONG = 1_000
"""Messages whose reading takes longer than the way to another thread and back."""


async def beside_loop(messages: int, function: Callable[[], T]) -> T:
    """Run a function that reads so many messages: of a long thread beside the event loop, on one of
    the loop's own threads, since it returns soon."""
    return function() if messages < LONG else await asyncio.to_thread(function)


async def in_thread(function: Callable[[], T], at_end: Callable[[], None] | None = None) -> T:
    """Run a function in a daemon thread of its own; `at_end` is called in the event loop once the
    function has returned, also if nobody waits for it any more.

    A thread cannot be cancelled. One of the loop's own pool would hold up the end of the process
    until the function returns; this one is left behind.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: T | None, error: BaseException | None) -> None:
        if at_end:
            at_end()
        if future.done():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
        elif isinstance(error, Exception) and not isinstance(error, StopIteration):
            future.set_exception(error)
        else:
            # Any other would end the loop, the awaiting coroutine or its task.
            unfit = RuntimeError(f"the function raised {type(error).__name__}")
            unfit.__cause__ = error
            future.set_exception(unfit)

    def run() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = context.run(function)
        except BaseException as raised:  # noqa: BLE001  it goes to whoever waits
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, daemon=True).start()
    return await future
