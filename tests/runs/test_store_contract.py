"""The SQLite store does what any store must do."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.storage.checkpointer import BUSY_TIMEOUT_MS
from server.storage.interfaces import ThreadStore
from server.storage.store import open_store
from tests.support.contracts.store import RecoveringStoreContract


class TestSqliteStore(RecoveringStoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[ThreadStore]:
        async with open_store(tmp_path / "t.db", BUSY_TIMEOUT_MS) as store:
            yield store
