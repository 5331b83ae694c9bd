"""The load that the server takes on at once: of everybody, and of one caller by their rights."""

import time
from collections import deque

from turnstream.server.callers.rights import LimitExceeded, Rights
from turnstream.server.runs.claims import Claims
from turnstream.server.runs.other_workers import OtherWorkers

NEW_THREADS_SECONDS = 60.0


class TooManyRuns(Exception):
    """A limit of the whole process is reached; `setting` names it."""

    def __init__(self, setting: str, limit: int) -> None:
        super().__init__(f"{setting} is {limit}")
        self.setting = setting
        self.limit = limit


class Capacity:
    """`max_new_threads` is for a minute."""

    def __init__(self, max_live: int, max_new_threads: int) -> None:
        self._max_live = max_live
        self._max_new_threads = max_new_threads
        self._new_threads: deque[float] = deque()
        """When threads were made within the last minute, on the monotonic clock."""

    def check_room(self, claims: Claims) -> None:
        """Raises TooManyRuns if there can be no further claim now."""
        if len(claims) >= self._max_live:
            raise TooManyRuns("MAX_LIVE_RUNS", self._max_live)

    async def check_live(self, claims: Claims, rights: Rights, others: OtherWorkers | None) -> None:
        """Raises TooManyRuns or LimitExceeded if there can be no run for the last claim. A caller's
        own limit counts the runs at all workers."""
        if len(claims) > self._max_live:
            raise TooManyRuns("MAX_LIVE_RUNS", self._max_live)
        if rights.limit("live_runs") is not None:
            owner = rights.principal.owner
            live = await others.live_runs(owner) if others else claims.of_owner(owner)
            rights.check_count("live_runs", live - 1)
        await rights.check_tokens()

    async def take_new_thread(self, rights: Rights) -> None:
        """Count a thread that is made now. Raises TooManyRuns or LimitExceeded if none may be."""
        now = time.monotonic()
        while self._new_threads and self._new_threads[0] <= now - NEW_THREADS_SECONDS:
            self._new_threads.popleft()
        if len(self._new_threads) >= self._max_new_threads:
            raise TooManyRuns("MAX_NEW_THREADS", self._max_new_threads)
        self._new_threads.append(now)
        try:
            await rights.take("new_threads_per_day")
        except LimitExceeded:
            self._new_threads.remove(now)
            raise
