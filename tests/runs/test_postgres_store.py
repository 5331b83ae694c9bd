"""The Postgres store does what any store must do."""

from collections.abc import AsyncIterator

import pytest

from tests.support.contracts.store import StoreContract
from turnstream.server.extensions.workers.postgres.opened import open_postgres
from turnstream.server.storage.interfaces import ThreadStore
from turnstream.server.storage.location import PostgresUrl


class TestPostgresStore(StoreContract):
    @pytest.fixture
    async def store(self, postgres_url: PostgresUrl) -> AsyncIterator[ThreadStore]:
        async with open_postgres(postgres_url, 5, 5, 30) as opened:
            yield opened.store
