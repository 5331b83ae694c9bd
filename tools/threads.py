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
        else:
            future.set_exception(_fit_for_a_task(error))

    def run() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = context.run(function)
        except BaseException as raised:  # noqa: BLE001  it goes to whoever waits
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    try:
        threading.Thread(target=run, daemon=True).start()
    except RuntimeError:  # There can be no further thread.
        if at_end:
            at_end()
        raise
    return await future


def _fit_for_a_task(error: BaseException) -> Exception:
    """Return the error itself, or a RuntimeError in place of one that would end the event loop, the
    coroutine that awaits it or its task."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    unfit = RuntimeError(f"the function raised {type(error).__name__}")
    unfit.__cause__ = error
    return unfit
