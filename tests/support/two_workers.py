"""The set-up of two workers on one Postgres database and one Redis, for tests that are written for
any server."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import httpx
from pydantic import SecretStr

from turnstream.server.storage.location import Location, PostgresUrl

_shared: dict[str, Any] = {}
"""The settings that both workers have; empty: tests run on one process and a SQLite file."""


@contextmanager
def two_workers(database: PostgresUrl, redis_url: str) -> Iterator[None]:
    """Within, servers are two workers each."""
    _shared.update(database=database, redis=SecretStr(redis_url))
    try:
        yield
    finally:
        _shared.clear()


def shared_by(database: Location) -> Mapping[str, Any] | None:
    """The settings of two workers in place of one process on this database; None: it is that."""
    return dict(_shared) if _shared and not isinstance(database, PostgresUrl) else None


def variables() -> Mapping[str, str]:
    """The same for a server in a process of its own, of which one is begun after the other; without
    their prefix."""
    if not _shared:
        return {}
    database, redis = _shared["database"].secret, _shared["redis"].get_secret_value()
    return {"DATABASE": database, "REDIS": redis, "LEASE_SECONDS": "1"}


class InTurn(httpx.AsyncBaseTransport):
    """Sends each request to another worker than the one before."""

    def __init__(self, *urls: str) -> None:
        self._ports = cycle([httpx.URL(url).port for url in urls])
        self._transport = httpx.AsyncHTTPTransport(verify=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(port=next(self._ports))
        return await self._transport.handle_async_request(request)

    async def aclose(self) -> None:
        await self._transport.aclose()
