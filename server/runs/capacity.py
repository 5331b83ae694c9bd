"""How much the whole server takes on at once."""

import time
from collections import deque

NEW_THREADS_SECONDS = 60.0


class TooManyRuns(Exception):
    """A limit of the whole server is reached; `setting` names it."""

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

    def check_live(self, live: int) -> None:
        """Raises TooManyRuns if so many live runs leave no room for another."""
        if live >= self._max_live:
            raise TooManyRuns("MAX_LIVE_RUNS", self._max_live)

    def take_new_thread(self) -> None:
        """Count a thread that is made now. Raises TooManyRuns if none may be."""
        now = time.monotonic()
        while self._new_threads and self._new_threads[0] <= now - NEW_THREADS_SECONDS:
            self._new_threads.popleft()
        if len(self._new_threads) >= self._max_new_threads:
            raise TooManyRuns("MAX_NEW_THREADS", self._max_new_threads)
        self._new_threads.append(now)
