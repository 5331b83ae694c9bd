"""The logs in memory do what any logs must do."""

import pytest

from server.storage.memory_logs import MemoryLogs
from server.storage.run_logs import RunLogs
from tests.support.contracts.logs import LogContract


class TestMemoryLogs(LogContract):
    @pytest.fixture
    async def logs(self) -> RunLogs:
        return MemoryLogs()
