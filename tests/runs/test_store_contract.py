"""The SQLite store does what any store must do."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.contracts.store import RecoveringStoreContract
from turnstream.server.storage.checkpointer import BUSY_TIMEOUT_MS
from turnstream.server.storage.interfaces import ThreadStore
from turnstream.server.storage.store import open_store


class TestSqliteStore(RecoveringStoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[ThreadStore]:
        async with open_store(tmp_path / "t.db", BUSY_TIMEOUT_MS) as store:
            yield store
