"""Bytes that the server holds at once for one purpose."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from server.http.problems import limit_reached


class ByteBudget:
    """`setting` names the limit in a refusal, without its prefix. `most_each` is the limit of one
    holder; a holder of nothing may take more, so that no size is refused for ever."""

    def __init__(self, setting: str, most: int, most_each: int | None = None) -> None:
        self._setting = setting
        self._most = most
        self._most_each = most if most_each is None else most_each
        self._held: Counter[str] = Counter()

    @property
    def held(self) -> int:
        return self._held.total()

    def take(self, count: int, holder: str = "") -> None:
        """Raises Problem: 503 while there is no room."""
        self._check(count, holder)
        self._held[holder] += count

    def _check(self, count: int, holder: str) -> None:
        held, mine = self.held, self._held[holder]
        too_many = held and held + count > self._most
        too_many_of_one = mine and mine + count > self._most_each
        if count and (too_many or too_many_of_one):
            raise limit_reached(self._setting, self._most)

    def give_back(self, count: int, holder: str = "") -> None:
        self._held[holder] -= count
        if not self._held[holder]:
            del self._held[holder]

    @contextmanager
    def holding(self, count: int, holder: str = "", *, is_refusable: bool = True) -> Iterator[None]:
        """Raises Problem: 503 while there is no room, unless the bytes cannot be refused."""
        if is_refusable:
            self._check(count, holder)
        self._held[holder] += count
        try:
            yield
        finally:
            self.give_back(count, holder)
