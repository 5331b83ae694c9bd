"""The graph's own state beside the messages, as a run tells it: what clients may see of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Values = Mapping[str, Any]
"""JSON, by the name of the state's key; `{"hidden": true}` stands for what is not shown."""


@dataclass(frozen=True, slots=True)
class GraphState:
    """Values of the graph's state that differ from those that were told before.

    The first one of a run has the whole. Nothing is told if clients see nothing of the state.
    """

    values: Values
    is_whole: bool = False
    """True: a name that is missing here has no value. False: it keeps the value that it had."""


def state_after(chunks: Iterable[Any], before: Values) -> Values:
    """The values after these chunks of a run; `before`: as the run began."""
    values = before
    for chunk in chunks:
        if isinstance(chunk, GraphState):
            values = merged(values, chunk)
    return values


def merged(values: Values, told: GraphState) -> Values:
    return told.values if told.is_whole else {**values, **told.values}
