"""The server as a process that begins at once: forked from one that has imported everything.

It runs the very `main` of `python -m server`, which takes seconds to import; tests that kill it
again and again cannot wait for that each time.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.support.serving import Client, http_client

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["server.__main__", "langchain_openai", "openai.resources.chat"])


@dataclass
class ForkedServer:
    process: ForkServerProcess
    client: Client

    def kill(self) -> None:
        """kill -9"""
        self.process.kill()

    def terminate(self) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGTERM)

    async def exit_status(self) -> int | None:
        await asyncio.to_thread(self.process.join, 60)
        return self.process.exitcode


@asynccontextmanager
async def forked_server(database: Path, **environment: str) -> AsyncIterator[ForkedServer]:
    """The server on a free port. Variables are named without their prefix."""
    said, says = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=_serve, args=(says, str(database), environment))
    await asyncio.to_thread(process.start)
    says.close()
    try:
        log = await _reader(said)
        url = await _announced(log)
        reading = asyncio.create_task(_pass_on(log))
        async with http_client(url) as http:
            yield ForkedServer(process, Client(http))
    finally:
        process.kill()
        await asyncio.to_thread(process.join)
    await reading


def _serve(says: Connection, database: str, environment: dict[str, str]) -> None:
    from server.__main__ import main

    os.dup2(says.fileno(), 2)
    for name in [name for name in os.environ if name.startswith(("TURNSTREAM_", "OPENAI_"))]:
        del os.environ[name]
    for name, value in {"MODEL": "offline", **environment}.items():
        os.environ[name if name.startswith("OPENAI_") else f"TURNSTREAM_{name}"] = value
    sys.exit(main(["--port", "0", "--database", database]))


async def _reader(said: Connection) -> asyncio.StreamReader:
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    pipe = os.fdopen(os.dup(said.fileno()), "rb", 0)
    said.close()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


async def _announced(log: asyncio.StreamReader) -> str:
    lines = []
    async with asyncio.timeout(60):
        async for line in log:
            lines.append(line.decode())
            if " on http://" in lines[-1]:
                return lines[-1].rsplit(" ", 1)[1].strip()
    raise AssertionError("".join(lines))


async def _pass_on(log: asyncio.StreamReader) -> None:
    """What the server says is shown when a test fails."""
    async for line in log:
        sys.stderr.write(line.decode(errors="replace"))
