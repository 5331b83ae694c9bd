"""The writes of one connection, as metrics see them."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class WriteMeter:
    def __init__(self) -> None:
        self.under_way = 0
        """Writes that wait for the connection or have it."""
        self.on_write: Callable[[float], object] | None = None
        """Gets the seconds that each successful write took, its wait included."""

    @contextmanager
    def write(self) -> Iterator[None]:
        """Around one write."""
        begin = time.monotonic()
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1
        if self.on_write:
            self.on_write(time.monotonic() - begin)
