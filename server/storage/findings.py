"""A finding of `turnstream doctor`."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "fault"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the examination; of a warning or a fault the text says the way out."""

    level: Level
    subject: str
    text: str
