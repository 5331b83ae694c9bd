"""What tests of a server have in common.

Tests of the modules below, and others that are marked, run twice: on one process with a SQLite
file, and on two workers that share a Postgres database and a Redis.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.endpoint import StrictEndpoint
from tests.support.redis_server import own_redis, redis_server, redis_url
from tests.support.samples import repeat
from tests.support.serving import Client, endpoint_settings, serving
from tests.support.two_workers import two_workers

__all__ = ["own_redis", "redis_server", "redis_url"]

ON_BOTH = (
    "test_ag_ui",
    "test_agent_chat_ui",
    "test_approvals",
    "test_attach",
    "test_branches",
    "test_busy",
    "test_client_tools",
    "test_continue",
    "test_every_format",
    "test_interrupts",
    "test_live_equals_replay",
    "test_queue",
    "test_shutdown",
    "test_stop",
    "test_threads",
)
ONE, TWO = "one-process", "two-workers"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = metafunc.module.__name__.rpartition(".")[2]
    marked = metafunc.definition.get_closest_marker
    if marked("two_workers") or (module in ON_BOTH and not marked("one_process")):
        metafunc.parametrize("setup", [ONE, repeat(TWO)], indirect=True)


@pytest.fixture(autouse=True)
def setup(request: pytest.FixtureRequest) -> Iterator[None]:
    if getattr(request, "param", ONE) == ONE:
        yield
        return
    url = request.getfixturevalue("postgres_url")
    with two_workers(url, request.getfixturevalue("redis_url")):
        yield


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    """What plays the model of `client`."""
    async with StrictEndpoint() as endpoint:
        yield endpoint
        assert endpoint.refused == []


@pytest.fixture
async def client(tmp_path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    """A server on a model that says what the test has written down."""
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        yield client
