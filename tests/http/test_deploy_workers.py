"""docs/deploy.md: two workers behind nginx and Caddy, as the page configures them."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from pydantic import SecretStr

from tests.http.test_deploy import ENVIRONMENT, PAGE, SITES
from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, text_reply
from tests.support.reverse_proxies import HOST, behind, block, variables
from tests.support.serving import Client, InLoop, endpoint_settings, serving
from tests.support.waiting import eventually
from turnstream.server.extensions.built_in import ServerSettings as Settings
from turnstream.server.extensions.users.credential_store import SqlCredentialStore
from turnstream.server.extensions.users.keys import new_key
from turnstream.server.storage.location import PostgresUrl
from turnstream.server.storage.sql_store import SqlStore

VARIANT = ", with several workers"
ADDRESSES = ("127.0.0.1:8001", "127.0.0.1:8002")
"""Those of the workers in the page."""
UPSTREAM = re.compile(r"^upstream turnstream \{\n[^}]*\}\n", re.MULTILINE)


def configuration(program: str, *workers: Client) -> str:
    """That of the page, with where the workers are."""
    placed = block(PAGE, program, SITES[program] + VARIANT)
    for address, worker in zip(ADDRESSES, workers, strict=True):
        assert address in placed
        placed = placed.replace(address, worker.url.removeprefix("http://"))
    whole = block(PAGE, "nginx", SITES["nginx"])
    return UPSTREAM.sub(placed.partition("\n")[2], whole) if program == "nginx" else placed


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def given(endpoint: StrictEndpoint, postgres_url: PostgresUrl, redis_url: str) -> Settings:
    environment: dict[str, Any] = variables(PAGE, ENVIRONMENT)
    shared = {"database": postgres_url, "redis": SecretStr(redis_url)}
    settings = endpoint_settings(Path(environment.pop("database")), endpoint, **environment)
    return settings.model_copy(update=shared)


async def key_of(worker: Client) -> str:
    shown, key = new_key("ann")
    assert worker.state is not None
    await SqlCredentialStore(cast(SqlStore, worker.state["store"])).add_key(key)
    return shown


@pytest.mark.parametrize("program", SITES)
async def test_requests_go_to_all_workers_and_pass_by_one_that_is_gone(
    program: str, tmp_path: Path, endpoint: StrictEndpoint, given: Settings
) -> None:
    endpoint.script(Reply((Say("One "), Pause(asyncio.Event()), Say("two."))))
    async with serving(given) as one, AsyncExitStack() as first:
        other = await first.enter_async_context(serving(given))
        one.http.headers["Host"] = other.http.headers["Host"] = HOST
        site = configuration(program, one, other)
        async with behind(program, site, tmp_path, "nowhere") as proxy:
            proxy.http.headers["Authorization"] = f"Bearer {await key_of(one)}"
            async with proxy.chat({"thread_id": "t1", "message": "Count."}) as stream:
                await stream.until("text-delta")
                busy = {"thread_id": "t1", "message": "Again"}
                for _ in range(4):
                    assert (await proxy.http.post("/chat", json=busy)).status_code == 409
                assert one.connections > 0
                assert other.connections > 0
                assert (await proxy.http.post("/chat/t1/stop")).status_code == 200
                assert (await stream.rest())[-1].data == "[DONE]"
            await first.aclose()
            for _ in range(4):
                assert (await proxy.thread("t1"))["run_state"] == "stopped"


@pytest.mark.parametrize("program", SITES)
async def test_no_post_is_refused_while_one_worker_lets_its_runs_finish(
    program: str, tmp_path: Path, endpoint: StrictEndpoint, given: Settings
) -> None:
    endpoint.script(Reply((Say("One "), Pause(go_on := asyncio.Event()), Say("two."))))
    endpoint.default = text_reply("Hello.")
    async with serving(given) as other, serving(given) as ending:
        ending.http.headers["Host"] = other.http.headers["Host"] = HOST
        ending.http.headers["Authorization"] = f"Bearer {await key_of(other)}"
        site = configuration(program, ending, other)
        async with behind(program, site, tmp_path, "nowhere") as proxy:
            proxy.http.headers["Authorization"] = ending.http.headers["Authorization"]

            async def posted(count: int) -> set[str]:
                """Return the bodies of answers that are no success."""
                hello = {"message": "Hello"}
                posts = [proxy.http.post("/chat", json=hello) for _ in range(count)]
                answers = await asyncio.gather(*posts)
                return {answer.text for answer in answers if answer.status_code != 200}

            async def succeed(count: int) -> bool:
                return not await posted(count)

            async with ending.chat({"thread_id": "t1", "message": "Count."}) as stream:
                await stream.until("text-delta")
                assert await succeed(16)
                assert isinstance(ending.server, InLoop)
                ending.server.end()
                await eventually(lambda: refuses_connections(ending))
                if program == "caddy":  # Its health check comes once a second.
                    await eventually(lambda: succeed(4))
                for _ in range(4):
                    assert await succeed(16)
                go_on.set()
                assert (await stream.rest())[-1].data == "[DONE]"


async def refuses_connections(worker: Client) -> bool:
    try:
        await worker.http.get("/health/live")
    except httpx.TransportError:
        return True
    return False
