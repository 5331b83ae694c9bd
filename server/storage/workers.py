"""The part of storage for a server that is several processes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from turnstream.server.storage.run_logs import SharedLogs


@dataclass(frozen=True, slots=True)
class Workers:
    """The parts that this worker shares with others."""

    worker: str
    """The id of this worker, which is new at each start."""
    logs: SharedLogs
    join: Callable[..., Any]
    """Makes the `OtherWorkers` of `turnstream.server.runs.other_workers` of the claims of this
    process, what forgets its threads, a classifier and the settings of runs."""
