"""A server to be fuzzed, in a thread of its own, and schemathesis as a process beside it."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.serving import PROJECT, Client, serving, settings
from turnstream.server.callers.principal import LOCAL
from turnstream.server.extensions.built_in import ServerSettings as Settings
from turnstream.server.formats import DEFAULT
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import TextContent, TurnRequest, UserMessage

ROOM = {
    "max_new_threads": 1_000_000,
    "max_live_runs": 1_000,
    "max_failed_logins": 1_000_000,
    "max_run_seconds": 5.0,
    "ping_seconds": 0.05,
    "max_message_chars": 500,
    "max_images": 2,
    "max_body_bytes": 100_000,
}
"""The limits are small where they bound a value, and large where they would end the trying."""
ENDLESS = "langgraphJoinThread"
"""The stream of a thread ends when its reader goes."""
PROBE = "health_stream"
"""No stream of a run: its first event has another form."""
OPTIONS = (
    *("--no-color", "--request-timeout", "20", "--warnings", "off"),
    *("--exclude-operation-id", ENDLESS, "--exclude-operation-id", PROBE),
)
QUEUED_THREAD = "queued"
QUEUED_RUNS = "FUZZED_RUNS"
"""The variable that names the runs which wait in this thread."""
REPLACED = "positive_data_acceptance,negative_data_rejection"
"""Checks that have one of ours in their place."""


def fuzzed(folder: Path, **values: Any) -> Settings:
    return settings(folder / "fuzz.db", **{**ROOM, **values})


@contextmanager
def in_thread(settings: Settings) -> Iterator[tuple[Client, asyncio.AbstractEventLoop]]:
    """The server while the caller's thread does something else. Its client belongs to the loop."""
    ready, ends = threading.Event(), asyncio.Event()
    held: list[tuple[Client, asyncio.AbstractEventLoop]] = []

    async def serve() -> None:
        async with serving(settings) as client:
            if not settings.authenticates:
                await fill_queue(client)
            held.append((client, asyncio.get_running_loop()))
            ready.set()
            await ends.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(60), "the server did not start"
    client, loop = held[0]
    try:
        yield client, loop
    finally:
        loop.call_soon_threadsafe(ends.set)
        thread.join()


async def fill_queue(client: Client) -> None:
    """A thread that waits for an answer, with messages that wait behind it: `checks.py` has
    requests meet them."""
    question = "Let me choose between red, green and blue"
    await client.turn({"thread_id": QUEUED_THREAD, "message": question})
    assert client.state
    queue, runs = client.state["runs"].queue, list[str]()
    for number in range(15):
        message = UserMessage((TextContent(f"Message {number}"),))
        request = TurnRequest(QUEUED_THREAD, message)
        added = await queue.add(
            LOCAL, ThreadKey("local", QUEUED_THREAD), request, DEFAULT.name, None
        )
        assert added
        runs.append(added.run_id)
    os.environ[QUEUED_RUNS] = " ".join(runs)


def schemathesis(url: str, folder: Path, command: str, arguments: Sequence[str] = ()) -> int:
    """Its exit status: 0 if it has found nothing. What it keeps is in the folder."""
    program = Path(sys.executable).with_name("st")
    hooks = {"SCHEMATHESIS_HOOKS": "tests.fuzz.checks", "PYTHONPATH": str(PROJECT)}
    document = f"{url}/openapi.json"
    found = subprocess.run(
        [program, command, document, *OPTIONS, "--exclude-checks", REPLACED, *arguments],
        cwd=folder,
        env={**os.environ, **hooks},
        check=False,
    )
    return found.returncode
