"""Which day it is in the fleet: asked ahead of the clauses whose days depend on it."""

from collections.abc import Sequence
from itertools import pairwise

from turnstream.graphs.offline import maintenance, solar
from turnstream.graphs.offline.ask import Facts

ASK_TODAY = "list the loggers"
"""The clause that finds it out."""


def asked_today(steps: Sequence[list[str]], facts: Facts) -> list[list[str]]:
    """The steps; ahead of each whose days hang on which day it is, that is asked for."""
    if solar.LIST not in facts.tools:
        return list(steps)
    found: list[list[str]] = []
    for before, step in pairwise([[], *steps]):
        known = any(
            ask.tool == solar.LIST for clause in before for ask in solar.solar(clause, facts)
        )
        if not known and any(_hangs_on_today(clause, facts) for clause in step):
            found.append([ASK_TODAY])
        found.append(step)
    return found


def _hangs_on_today(clause: str, facts: Facts) -> bool:
    if maintenance.maintenance(clause, facts):
        return maintenance.hangs_on_today(clause, facts)
    return solar.hangs_on_today(clause, facts)
