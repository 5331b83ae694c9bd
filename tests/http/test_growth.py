"""What is over is forgotten: finished runs leave no tasks, no files, no objects behind."""

import asyncio
import gc
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.http.claims import dropped
from tests.support.samples import sample
from tests.support.serving import Client, serving, settings
from tests.support.waiting import until
from turnstream.server.http.event_streams import Encoding
from turnstream.server.runs.run import Run
from turnstream.server.runs.signals import StopSignal
from turnstream.server.storage.memory_logs import MemoryLog

RUNS = sample(200, 12)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with serving(settings(tmp_path / "t.db", run_retention_seconds=0)) as client:
        yield client


def open_files() -> int:
    return len(os.listdir("/dev/fd"))


def held_objects() -> int:
    """Of the kinds that there is one of for each run."""
    gc.collect()
    kinds = (Run, MemoryLog, StopSignal, Encoding)
    return sum(isinstance(thing, kinds) for thing in gc.get_objects())


async def turns(client: Client, first: int, last: int) -> None:
    """Each is read by who asked, by one who attaches, and left by one in the middle."""
    for number in range(first, last):
        thread = {"thread_id": f"t{number}", "message": "6 * 7?"}
        async with client.chat(thread) as stream:
            await stream.until("step-start")
            async with client.stream("GET", f"/chat/t{number}/stream"):
                pass
            await stream.rest()
        await dropped(client, f"t{number}", stream.run_id)


@pytest.mark.long
async def test_nothing_grows_with_the_number_of_finished_runs(client: Client) -> None:
    held = held_objects()  # by what earlier tests left behind
    await turns(client, 0, 5)
    tasks, files = len(asyncio.all_tasks()), open_files()
    await turns(client, 5, 5 + RUNS)
    await until(lambda: len(asyncio.all_tasks()) <= tasks)
    await until(lambda: open_files() <= files)
    await until(lambda: held_objects() <= held)
