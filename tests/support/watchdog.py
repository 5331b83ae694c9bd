"""A server process under attack, and a watchdog that says how long it let others wait.

Seconds on the clock of a test machine are mostly other people's work, so a wait counts only as far
as the server itself computed in it (`health_poller.py` says how). What makes the loop wait without
computing, as a lock or a disk may, is not seen; the tests of faults of the database hold that.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import httpx
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.support import health_poller
from tests.support.forked_server import ForkedServer, forked_server
from tests.support.samples import sample
from tests.support.serving import Client

MAX_HOLD_SECONDS = sample(0.25, 0.4)
"""A long run has the machine to itself; beside other tests the same work takes longer."""
DRAIN_SECONDS = 1
END_SECONDS = DRAIN_SECONDS + 5
PATIENCE_SECONDS = 60
JSON = {"Content-Type": "application/json"}

Value = TypeVar("Value")


@dataclass(frozen=True)
class Seen:
    """What the watchdog saw since it was asked last."""

    hold: float
    """The longest time that the server computed before it answered."""
    wait: float
    """The longest time until an answer."""
    answers: int
    fault: str | None


class Watchdog:
    """Asks a server for /health, again and again, over one connection that stays open."""

    def __init__(self, poller: asyncio.subprocess.Process) -> None:
        self._poller = poller

    async def seen(self) -> Seen:
        assert self._poller.stdin is not None
        assert self._poller.stdout is not None
        self._poller.stdin.write(b"\n")
        async with asyncio.timeout(2 * PATIENCE_SECONDS):
            return Seen(**json.loads(await self._poller.stdout.readline()))


@asynccontextmanager
async def watchdog(url: str, pid: int | None) -> AsyncIterator[Watchdog]:
    poller = await asyncio.create_subprocess_exec(
        *(sys.executable, "-S", health_poller.__file__, url.rsplit(":", 1)[1], str(pid)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Watchdog(poller)
    finally:
        poller.kill()
        await poller.wait()


class Opaque(Generic[Value]):
    """A value that Hypothesis does not print: it takes long to print a large one."""

    def __init__(self, value: Value) -> None:
        self.value = value


@st.composite
def opaque(draw: st.DrawFn, values: st.SearchStrategy[Value]) -> Opaque[Value]:
    return Opaque(draw(values))


@dataclass(frozen=True)
class Attacked:
    """A server process, and its watchdog."""

    server: ForkedServer
    dog: Watchdog

    @property
    def client(self) -> Client:
        return self.server.client

    @asynccontextmanager
    async def unharmed(self) -> AsyncIterator[None]:
        """What is done within holds nobody up."""
        await self.dog.seen()
        yield
        seen = await self.dog.seen()
        assert seen.fault is None, seen
        assert seen.answers, seen
        assert seen.hold < MAX_HOLD_SECONDS, seen

    async def ends(self) -> None:
        """SIGTERM ends the process in time."""
        self.server.terminate()
        async with asyncio.timeout(END_SECONDS):
            assert await self.server.exit_status() == 0

    async def post(self, body: bytes, path: str = "/chat") -> httpx.Response:
        """A post to the end of its answer, be it a stream."""
        return await self.client.http.post(
            path, content=body, headers=JSON, timeout=PATIENCE_SECONDS
        )

    async def each(
        self, values: st.SearchStrategy[Value], attack: Callable[[Value], Awaitable[None]]
    ) -> None:
        """The attack holds nobody up, whatever value of Hypothesis's it is made with."""
        loop = asyncio.get_running_loop()

        async def watched(value: Value) -> None:
            try:
                async with self.unharmed():
                    await attack(value)
            except AssertionError as error:
                error.add_note(f"{value!r:.2000}")
                raise

        # Smaller values are not looked for: each of them takes seconds, and says no more.
        @settings(max_examples=sample(25, 4), phases=[Phase.generate])
        @given(opaque(values))
        def holds(drawn: Opaque[Value]) -> None:
            asyncio.run_coroutine_threadsafe(watched(drawn.value), loop).result()

        await asyncio.to_thread(holds)


@asynccontextmanager
async def attacked(database: Path, **environment: str) -> AsyncIterator[Attacked]:
    """A server to attack, which then ends in time on SIGTERM. Variables are named without their
    prefix."""
    given = {"DRAIN_SECONDS": str(DRAIN_SECONDS), "OFFLINE_WORD_SECONDS": "0", **environment}
    async with forked_server(database, **given) as server:
        async with watchdog(server.client.url, server.pid) as dog:
            yield Attacked(server, dog)
        if server.process.is_alive():
            await Attacked(server, dog).ends()
