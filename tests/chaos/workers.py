"""The servers as processes: started, killed, paused, started again at their own ports. They are
forked, since each start of a Python that imports the server takes seconds."""

import asyncio
import os
import resource
import signal
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.chaos.exchange import BrokenOff, Silent, request
from tests.support.forked_server import FORKS, serve_here
from turnstream.tools.solar.visits import FILE_VARIABLE

START_SECONDS = 60


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass
class Worker:
    number: int
    port: int
    environment: Mapping[str, str]
    log: Path
    """What it says on stderr, over all its lives."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by who does something to it."""
    _process: ForkServerProcess | None = None

    @property
    def name(self) -> str:
        return f"worker {self.number}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        assert self._process.pid is not None
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        return self._process.exitcode if self._process else None

    async def start(self) -> None:
        """Until it answers; one that ends by itself is started again, as a supervisor does: what it
        needs may be gone for a moment. Raises RuntimeError with what it said."""
        for attempt in range(START_SECONDS * 10):
            if attempt == 0 or self.exit_status is not None:
                await self._begin()
            try:
                async with request(self.url, "GET", "/health") as response:
                    if response.status == 200:
                        return
            except (BrokenOff, Silent):
                pass
            await asyncio.sleep(0.1)
        raise RuntimeError(f"{self.name} did not start:\n{self.log.read_text()[-4000:]}")

    async def _begin(self) -> None:
        process = FORKS.Process(target=_serve, args=(self.log, self.environment, self.port))
        await asyncio.to_thread(process.start)
        self._process = process

    async def kill(self) -> None:
        """kill -9"""
        if self._process is not None:
            self._process.kill()
            await asyncio.to_thread(self._process.join)

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def limit_files(self, size: int | None) -> None:
        """Let no file grow beyond a size that it has reached: a write then fails as on a full disk.
        None: no limit."""
        limit = resource.RLIM_INFINITY if size is None else size
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    async def terminate(self) -> int | None:
        """SIGTERM; the exit status."""
        assert self._process is not None
        self._process.terminate()
        await asyncio.to_thread(self._process.join, START_SECONDS)
        return self.exit_status


def _serve(log: Path, variables: Mapping[str, str], port: int) -> None:
    with log.open("ab") as said:
        serve_here(said.fileno(), variables, port)


MAX_RUN_SECONDS = 30
SETTINGS = {
    "MODEL": "offline",
    "OFFLINE_WORD_SECONDS": "0.01",
    "BUSY_SECONDS": "1",
    "MAX_NEW_THREADS": "1000000",
    "MAX_LIVE_RUNS": "1000",
    "MAX_RUN_SECONDS": f"{MAX_RUN_SECONDS}",
    "RUN_RETENTION_SECONDS": "120",
    "DRAIN_SECONDS": "2",
    "PING_SECONDS": "2",
    "LOG_LEVEL": "WARNING",
}


@asynccontextmanager
async def workers(
    count: int, folder: Path, settings: Mapping[str, str]
) -> AsyncIterator[list[Worker]]:
    """Running ones; settings are named without their prefix."""
    named = {f"TURNSTREAM_{name}": value for name, value in {**SETTINGS, **settings}.items()}
    named[FILE_VARIABLE] = str(folder / "maintenance.db")
    made = [
        Worker(number, free_port(), named, folder / f"worker-{number}.log")
        for number in range(count)
    ]
    try:
        for worker in made:
            await worker.start()
        yield made
    finally:
        for worker in made:
            await worker.kill()
