"""The interface of intents: a clause and the facts of the turn in, asks out."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from turnstream.graphs.offline.history import Result

RENDER, SELECT = "render_ui_component", "request_user_selection"

NUMBER = r"(?<![\d.])\d++(?:\.\d++)?+(?:[eE][-+]?+\d++)?+"
SIGNED = rf"(?<![\w.])-?{NUMBER}"
BLANKS_BEFORE = r"(?:(?<!\s)\s++)?+"
"""`\\s*` for the start of a pattern: a whole run of blanks, or none of it. A search for `\\s*,`
reads a run of blanks without a comma again from each of its blanks."""

MAX_DIGITS = 4000
"""Digits of an integer: Python reads no more than 4300."""

_WHOLE = re.compile(rf"-?\d{{1,{MAX_DIGITS}}}+")


@dataclass(frozen=True, slots=True)
class Ask:
    tool: str
    arguments: Mapping[str, Any] | str
    """A string is sent as it is, JSON or not."""

    @property
    def args_text(self) -> str:
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Facts:
    """The planner's knowledge when it looks at a clause."""

    tools: Mapping[str, Mapping[str, Any]]
    """The bound tools: the JSON Schema of its arguments by each name."""
    results: tuple[Result, ...] = ()
    """Results that this clause may show: those of the last step, or of the whole turn."""
    points_back: bool = False
    """The clause spoke of an earlier result ("it", "the result", "them")."""


Intent = Callable[[str, Facts], list[Ask]]
"""Turns a clause into asks; none: the clause is not the intent's. If the clause points back at a
value, the value already stands in it."""


def any_case(pattern: str) -> re.Pattern[str]:
    """Compile a pattern as messages are matched: small or capital letters, over line ends."""
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def past(pattern: str) -> str:
    """The text up to the end of the first match of `pattern`.

    `past(a) + ".*" + b` finds a `b` behind an `a` in one pass. A search for `a.*b` in a text
    without a `b` reads the rest of the text again from each `a`.
    """
    return rf"\A(?>.*?{pattern})"


def number(text: str) -> int | float:
    return int(text) if _WHOLE.fullmatch(text) else float(text)
