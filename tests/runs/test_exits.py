"""Tasks of a run: what ends a process ends the run alone."""

import asyncio
import gc
import warnings

import pytest

from turnstream.server.runs.exits import contained_exits


async def leaves() -> None:
    raise SystemExit(3)


async def test_a_task_that_exits_fails_and_the_loop_goes_on() -> None:
    with contained_exits():
        task = asyncio.ensure_future(leaves())
    with pytest.raises(RuntimeError, match="SystemExit"):
        await task


async def test_a_task_that_is_cancelled_before_it_begins_leaves_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with contained_exits():
            task = asyncio.ensure_future(leaves())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task
        await asyncio.sleep(0)
        gc.collect()
