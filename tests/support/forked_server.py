"""The server as a process that begins at once: forked from one that has imported everything.

It runs the very `main` of `python -P -m turnstream.server`, which takes seconds to import; tests
that start or kill it again and again cannot wait for that each time.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import NoReturn

from tests.support import two_workers
from tests.support.serving import PROJECT, Client, announced, drained, http_client, server_variables

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["turnstream.server.launch", "langchain_openai", "openai.resources.chat"]
)


@dataclass
class ForkedServer:
    process: ForkServerProcess
    client: Client
    log: list[bytes]
    """What it has said on stderr, a line each."""

    @property
    def url(self) -> str:
        return self.client.url

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def kill(self) -> None:
        """kill -9"""
        self.process.kill()

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    async def exit_status(self) -> int | None:
        await asyncio.to_thread(self.process.join, 60)
        return self.process.exitcode


@asynccontextmanager
async def forked_server(database: Path, **environment: str) -> AsyncIterator[ForkedServer]:
    """The server on a free port. Variables are named without their prefix."""
    process, stderr = await _started(database, environment)
    try:
        url, log = await announced(stderr)
        reading = asyncio.create_task(drained(stderr, log))
        async with http_client(url) as http:
            yield ForkedServer(process, Client(http), log)
    finally:
        process.kill()
        await asyncio.to_thread(process.join)
    await reading


async def refused_start(database: Path, *missing: str, **environment: str) -> str:
    """Start a server that cannot start: what it says, once its exit status was 2. `missing` are
    modules that are not installed."""
    process, stderr = await _started(database, environment, missing)
    said = await stderr.read()
    await asyncio.to_thread(process.join, 60)
    assert process.exitcode == 2, said
    return said.decode()


async def _started(
    database: Path, environment: Mapping[str, str], missing: Sequence[str] = ()
) -> tuple[ForkServerProcess, asyncio.StreamReader]:
    said, says = FORKS.Pipe(duplex=False)
    variables = server_variables(database, {**environment, **two_workers.variables()})
    process = FORKS.Process(target=_serve, args=(says, variables, missing))
    await asyncio.to_thread(process.start)
    says.close()
    return process, await _reader(said)


def _serve(says: Connection, variables: dict[str, str], missing: Sequence[str]) -> None:
    for name in missing:
        sys.modules[name] = None  # type: ignore[assignment] # as the import system has it
    serve_here(says.fileno(), variables, port=0)


def serve_here(stderr: int, variables: Mapping[str, str], port: int) -> NoReturn:
    """Be the server: what a forked process does. It has no other settings than these variables."""
    from turnstream.server.__main__ import main

    os.dup2(stderr, 2)
    for name in [name for name in os.environ if name.startswith(("TURNSTREAM_", "OPENAI_"))]:
        del os.environ[name]
    os.environ.update(variables)
    # As with -P; the tests have the clone on their path.
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != PROJECT]
    sys.exit(main(["--port", str(port)]))


async def _reader(said: Connection) -> asyncio.StreamReader:
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    pipe = os.fdopen(os.dup(said.fileno()), "rb", 0)
    said.close()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader
