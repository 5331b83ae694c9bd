"""The intents, in the order in which a clause is offered to them."""

from turnstream.graphs.offline.arithmetic import arithmetic
from turnstream.graphs.offline.ask import Ask, Facts, Intent
from turnstream.graphs.offline.by_name import called_by_name, named_in_words
from turnstream.graphs.offline.choice import selection
from turnstream.graphs.offline.clock import time_of_day
from turnstream.graphs.offline.maintenance import maintenance
from turnstream.graphs.offline.screen import render
from turnstream.graphs.offline.solar import solar
from turnstream.graphs.offline.units import conversion

INTENTS: tuple[Intent, ...] = (
    called_by_name,
    selection,
    maintenance,
    solar,
    render,
    time_of_day,
    conversion,
    arithmetic,
    named_in_words,
)


def asks_of(clause: str, facts: Facts) -> list[Ask]:
    """Return the asks of the first intent that knows the clause."""
    return next(filter(None, (intent(clause, facts) for intent in INTENTS)), [])
