"""The answer of a tool of the fleet: a JSON object whose `status` says how to read it.

`ok`; `no_data` (nothing was ever recorded for this selection); `no_data_in_window` (something was,
at other times: `available`); `invalid_argument` (`argument`, `allowed`, perhaps `near_matches`).
The last three have a `message` in a sentence and no figures. Tools that write raise ToolException
instead.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from langchain_core.tools import ToolException

Result = tuple[dict[str, Any], dict[str, Any]]  # for the model; more for the browser

# Fields of every answer that the browser may have.
SHARED_FIELDS = (
    "status",
    "message",
    "argument",
    "allowed",
    "near_matches",
    "available",
    "now",
    "target",
    "window",
    "coverage",
    "notes",
)
LINE_FIELDS = ("x", "series", "x_label", "y_label", "time_zone")
BAR_FIELDS = ("categories", "series", "x_label", "y_label")
TABLE_FIELDS = ("columns", "rows")

MAX_POINTS = 500  # of a chart's series
MAX_ROWS = 200  # of a table
_SHOWN_CHARS = 60

P = ParamSpec("P")
T = TypeVar("T")


class Refusal(Exception):
    """An answer that is not `ok`, from wherever it was found out."""

    def __init__(self, status: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.answer: dict[str, Any] = {"status": status, "message": message, **details}

    @property
    def sentence(self) -> str:
        """The message, with what is near or allowed."""
        near, allowed = self.answer.get("near_matches"), self.answer.get("allowed")
        if near:
            return f"{self} Did you mean {' or '.join(map(str, near))}?"
        if isinstance(allowed, list):
            return f"{self} There is {', '.join(map(str, allowed))}."
        is_told = not allowed or allowed in str(self)
        return str(self) if is_told else f"{self} Give {allowed}."


def answering(function: Callable[P, Result]) -> Callable[P, Result]:
    """A refusal is an answer too."""

    @functools.wraps(function)
    def answer(*args: P.args, **kwargs: P.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except Refusal as refusal:
            return refusal.answer, {}

    return answer


def refusing(function: Callable[P, T]) -> Callable[P, T]:
    """A refusal is an error: of a tool that writes, nobody may take it for a result.

    The function raises ToolException with the refusal's sentence.
    """

    @functools.wraps(function)
    def refuse(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except Refusal as refusal:
            raise ToolException(refusal.sentence) from None

    return refuse


def invalid(argument: str, problem: str, allowed: Any, **details: Any) -> Refusal:
    return Refusal(
        "invalid_argument", f"{argument}: {problem}", argument=argument, allowed=allowed, **details
    )


def shown(value: object) -> str:
    """A foreign value as it may stand in a message: quoted, and short."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


def table(labels: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`columns` and `rows` of a table; `labels` by key, in order; numbers stand on the right."""
    shown_rows = [{key: row.get(key) for key in labels} for row in rows[:MAX_ROWS]]
    columns = [
        {"key": key, "label": label, "align": _align(key, shown_rows)}
        for key, label in labels.items()
    ]
    return {"columns": columns, "rows": shown_rows}


def _align(key: str, rows: Sequence[Mapping[str, Any]]) -> str:
    return "right" if any(isinstance(row[key], int | float) for row in rows) else "left"


def rounded(value: float | None, digits: int = 1) -> float | None:
    return None if value is None else round(value, digits)
