"""The logs in memory do what any logs must do."""

import pytest

from tests.support.contracts.logs import LogContract
from turnstream.server.storage.memory_logs import MemoryLogs
from turnstream.server.storage.run_logs import RunLogs


class TestMemoryLogs(LogContract):
    @pytest.fixture
    async def logs(self) -> RunLogs:
        return MemoryLogs()
