"""How much work a foreign schema may make."""

from collections.abc import Iterator
from contextlib import contextmanager


class TooCostly(Exception):
    """The steps are spent."""


class Budget:
    """Steps to spend. A step is work of constant time, well under a microsecond."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise TooCostly

    @contextmanager
    def lend(self, steps: int) -> Iterator["Budget"]:
        """A budget of at most so many steps; those that are spent are spent here too."""
        lent = Budget(min(steps, self.left))
        self.left -= lent.left
        try:
            yield lent
        finally:
            self.left += max(lent.left, 0)
