"""Bytes that the server holds at once for one purpose."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from turnstream.server.http.problems import Problem, limit_reached

CALLERS_SHARE = 8
"""Each caller may have an eighth of the room."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a limit. `whose` is the subject of a refusal: `Each caller`."""

    whose: str
    most: int


class ByteBudget:
    """`setting` names the limit in a refusal, without its prefix. `part` is the share of all
    holders, who otherwise have the whole limit; `each` is the share of one holder.

    A holder with nothing in use may exceed `each`, and any holder may exceed the whole while
    nothing at all is in use, so that every size succeeds at some time.
    """

    def __init__(
        self, setting: str, limit: int, *, part: Share | None = None, each: Share | None = None
    ) -> None:
        self._setting = setting
        self._limit = limit
        self._part = part
        self._each = each
        self._held: Counter[str] = Counter()
        self.held = 0

    def take(self, count: int, holder: str = "") -> None:
        """Raises Problem: 503 while there is no room."""
        self._check(count, holder)
        self._add(count, holder)

    def give_back(self, count: int, holder: str = "") -> None:
        self._add(-count, holder)
        if not self._held[holder]:
            del self._held[holder]

    @contextmanager
    def holding(self, count: int, holder: str = "", *, is_refusable: bool = True) -> Iterator[None]:
        """Raises Problem: 503 while there is no room, unless the bytes cannot be refused."""
        if is_refusable:
            self._check(count, holder)
        self._add(count, holder)
        try:
            yield
        finally:
            self.give_back(count, holder)

    def _add(self, count: int, holder: str) -> None:
        self._held[holder] += count
        self.held += count

    def _check(self, count: int, holder: str) -> None:
        if not count:
            return
        mine, each, part = self._held[holder], self._each, self._part
        if mine and each and mine + count > each.most:
            raise self._refusal(each)
        if self.held and self.held + count > (part.most if part else self._limit):
            raise self._refusal(part)

    def _refusal(self, share: Share | None) -> Problem:
        reached = f"{share.whose} may use at once {share.most} bytes of" if share else None
        return limit_reached(self._setting, self._limit, reached)


def callers_budget(setting: str, limit: int, *, are_known: bool, least_each: int = 0) -> ByteBudget:
    """Room of which each caller has a share. Without authentication all callers are the same one,
    who has the whole room."""
    each = Share("Each caller", max(limit // CALLERS_SHARE, least_each))
    return ByteBudget(setting, limit, each=each if are_known else None)
