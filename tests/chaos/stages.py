"""What is played with: workers, what is behind them, and the database as a witness."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.faults import Engines
from tests.chaos.proxy import round_robin
from tests.chaos.records import History
from tests.chaos.witness import (
    CLAIMS,
    POSTGRES,
    WRITES,
    claims_of_file,
    claims_of_rows,
    watch_file,
    writes_of_rows,
)
from tests.chaos.workers import Worker, workers
from tests.support.private_engines import PrivateEngines, private_engines


@dataclass
class Stage:
    """All that there is to play with."""

    workers: Sequence[Worker]
    engines: Engines | None
    url: str
    """Of the proxy."""
    database: Path | None
    """The file of one server alone."""

    async def witnessed(self, history: History) -> None:
        """Take into the history what the database has seen."""
        raise NotImplementedError


@dataclass
class FileStage(Stage):
    async def witnessed(self, history: History) -> None:
        assert self.database is not None
        history.claims = await asyncio.to_thread(claims_of_file, self.database)


@asynccontextmanager
async def file_stage(folder: Path) -> AsyncIterator[FileStage]:
    database = folder / "t.db"
    async with workers(1, folder, {"DATABASE": str(database)}) as made:
        (worker,) = made
        await worker.terminate()
        watch_file(database)
        await worker.start()
        async with round_robin([worker.port]) as url:
            yield FileStage(made, None, url, database)


@dataclass
class SharedStage(Stage):
    behind: PrivateEngines

    async def witnessed(self, history: History) -> None:
        history.claims = claims_of_rows(await self.behind.query(CLAIMS))
        history.writes = writes_of_rows(await self.behind.query(WRITES))


@asynccontextmanager
async def shared_stage(
    folder: Path, count: int, lease_seconds: float
) -> AsyncIterator[SharedStage]:
    # An outage refuses hundreds of connections; each would be a line.
    async with private_engines(folder, "log_min_messages=panic") as engines:
        settings = {
            **engines.settings,
            "LEASE_SECONDS": str(lease_seconds),
            "UNDO_SECONDS": "0",
        }
        async with workers(1, folder, settings) as (first,):
            await first.terminate()
        await engines.query(POSTGRES)
        async with (
            workers(count, folder, settings) as made,
            round_robin([worker.port for worker in made]) as url,
        ):
            yield SharedStage(made, engines, url, None, engines)
