"""Several workers on one port: `uvicorn turnstream.server.app:create --factory --workers 2`."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.http.test_plain_uvicorn import PlainUvicorn, plain_uvicorn
from tests.support.child_processes import children_of, command_of
from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint
from tests.support.postgres_workers import query
from tests.support.serving import (
    Client,
    Stream,
    endpoint_environment,
    endpoint_settings,
    http_client,
    serving,
)
from tests.support.waiting import WAIT_SECONDS
from turnstream.server.storage.location import PostgresUrl

OPTIONS = ("--workers", "2", "--timeout-worker-healthcheck", "60")
STARTED = b"Application startup complete"


async def started(server: PlainUvicorn) -> tuple[int, int]:
    """The processes of both workers, once they serve."""
    said = server.process.stderr
    assert said
    async with asyncio.timeout(3 * WAIT_SECONDS):
        for _ in range(2):
            while STARTED not in await said.readline():
                pass
    # `multiprocessing` has others beside its processes.
    children = children_of(server.process.pid)
    one, other = (child for child in children if b"spawn_main" in command_of(child))
    return one, other


@contextmanager
def paused(pid: int) -> Iterator[None]:
    """Who connects meanwhile is served by the other one."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


class Browsers:
    """Each has one connection, and so one worker."""

    def __init__(self, url: str, stack: AsyncExitStack) -> None:
        self._url = url
        self._stack = stack

    async def new(self) -> Client:
        client = Client(await self._stack.enter_async_context(http_client(self._url)))
        assert (await client.http.get("/health/live")).status_code == 200
        return client

    async def run(self, thread_id: str) -> Stream:
        """A run that goes on, at the worker that takes the connection."""
        client = await self.new()
        body = {"thread_id": thread_id, "message": "Count."}
        stream = await self._stack.enter_async_context(client.chat(body))
        await stream.until("text-delta")
        return stream

    async def attach(self, thread_id: str) -> Stream:
        client = await self.new()
        attached = client.stream("GET", f"/chat/{thread_id}/stream")
        return await self._stack.enter_async_context(attached)


@asynccontextmanager
async def two_workers(
    database: PostgresUrl, redis_url: str, endpoint: StrictEndpoint
) -> AsyncIterator[tuple[PlainUvicorn, Browsers]]:
    environment = {"REDIS": redis_url, **endpoint_environment(endpoint)}
    async with (
        plain_uvicorn(database.secret, *OPTIONS, **environment) as server,
        AsyncExitStack() as stack,
    ):
        yield server, Browsers(server.client.url, stack)


@pytest.mark.full
async def test_each_stops_the_runs_of_the_other_and_both_save_theirs_when_they_end(
    postgres_url: PostgresUrl, redis_url: str
) -> None:
    async with StrictEndpoint() as endpoint:
        for _ in range(3):
            endpoint.script(Reply((Say("One "), Pause(asyncio.Event()), Say("two."))))
        async with two_workers(postgres_url, redis_url, endpoint) as (server, browsers):
            one, other = await started(server)
            with paused(other):
                runs = [await browsers.run("t1"), await browsers.run("t2")]
            with paused(one):
                attached, at_other = await browsers.attach("t1"), await browsers.new()
                await browsers.run("t3")
            workers = query(postgres_url, "SELECT count(*) FROM claims GROUP BY worker ORDER BY 1")
            assert workers == [(1,), (2,)]
            stop = await at_other.http.post("/chat/t1/stop")
            assert stop.status_code == 200, stop.text
            assert [e.id for e in await attached.rest()][-2:] == [
                e.id for e in await runs[0].rest()
            ][-2:]
            said = await server.terminate()
        assert said.count("Application shutdown complete") == 2
        assert "Traceback" not in said
        assert query(postgres_url, "SELECT count(*) FROM claims") == [(0,)]
        settings = endpoint_settings(Path("unused"), endpoint)
        shared = {"database": postgres_url, "redis": SecretStr(redis_url)}
        async with serving(settings.model_copy(update=shared)) as again:
            for thread_id, reason in (("t1", "stopped"), ("t2", "shutdown"), ("t3", "shutdown")):
                thread = await again.thread(thread_id)
                assert thread["run_state"] == "stopped"
                assert thread["messages"][1]["ended"] == {"reason": reason}
                assert thread["messages"][1]["parts"][0]["text"] == "One "
