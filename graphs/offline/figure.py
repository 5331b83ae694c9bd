"""A figure: one labelled value, with its unit."""

from collections.abc import Sequence
from dataclasses import dataclass

Value = int | float | str


@dataclass(frozen=True, slots=True)
class Figure:
    label: str
    value: Value | None
    unit: str = ""

    @property
    def is_number(self) -> bool:
        return isinstance(self.value, (int, float))


def listed(values: Sequence[object]) -> str:
    """`a, b and c`"""
    *most, last = map(str, values) if values else [""]
    return f"{', '.join(most)} and {last}" if most else last
