"""The figures of a tool's result: labelled values for cards, tables and charts."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import starmap
from typing import Any

from turnstream.graphs.offline.figure import Figure, Value, listed
from turnstream.graphs.offline.history import Result
from turnstream.graphs.offline.maintenance_words import FIGURES as MAINTENANCE_FIGURES
from turnstream.graphs.offline.solar_words import FIGURES as SOLAR_FIGURES

WINDOW = re.compile(r"^(\d{4}-\d{2}-\d{2})/(\d{4}-\d{2}-\d{2})$")
"""The name of a window of days, as an option of a question."""


def figures(results: Sequence[Result]) -> list[Figure]:
    return [
        figure
        for result in results
        if not result.failed and isinstance(result.content, dict)
        for figure in FIGURES.get(result.tool, _scalars)(result)
    ]


def latest_value(results: Sequence[Result]) -> Value | None:
    """Return the meaning of "it" and "the result": the last number, else the last text."""
    found = figures(results)
    numbers = [figure for figure in found if figure.is_number]
    return (numbers or found)[-1].value if found else None


def place(timezone: Any) -> str:
    """`America/New_York` -> `New York`"""
    return str(timezone).rsplit("/", 1)[-1].replace("_", " ")


def clock(iso: Any) -> str:
    """`2026-03-01T14:05:09+09:00` -> `14:05`; anything else as it is."""
    try:
        return f"{datetime.fromisoformat(str(iso)):%H:%M}"
    except ValueError:
        return str(iso)


def answer_value(content: Mapping[str, Any]) -> Value | None:
    """The one value of a small result, by the names that tools give it."""
    named = (content.get(key) for key in ("result", "answer", "product", "total", "value"))
    found = next((value for value in named if value is not None), None)
    return found if isinstance(found, (int, float, str)) else None


def chosen(content: Mapping[str, Any]) -> str:
    """The user's selection in words; empty if there is none."""
    if "start" in content and "end" in content:
        return f"{content['start']} to {content['end']}"
    if isinstance(content.get("values"), list):
        return listed(content["values"]) or "nothing"
    value = str(content.get("value") or content.get("date") or "")
    return WINDOW.sub(r"\1 to \2", value)


def _scalars(result: Result) -> list[Figure]:
    return [
        Figure(key.replace("_", " "), value)
        for key, value in result.content.items()
        if isinstance(value, (int, float, str)) and not isinstance(value, bool)
    ]


def _calculation(result: Result) -> list[Figure]:
    label = result.content.get("expression") or result.arguments.get("expression") or "Result"
    return [Figure(str(label), answer_value(result.content))]


def _product(result: Result) -> list[Figure]:
    given = result.arguments
    label = f"{given.get('a')} \u00d7 {given.get('b')}" if {"a", "b"} <= given.keys() else "Product"
    return [Figure(label, answer_value(result.content))]


def _time(result: Result) -> list[Figure]:
    content = result.content
    return [Figure(place(content.get("timezone", "Time")), clock(content.get("iso", "")))]


def _conversion(result: Result) -> list[Figure]:
    given, content = result.arguments, result.content
    label = f"{given.get('value', '')} {given.get('from_unit', '')}".strip() or "Converted"
    unit = str(given.get("to_unit") or content.get("to_unit", ""))
    return [Figure(label, answer_value(content), unit)]


def _selection(result: Result) -> list[Figure]:
    choice = chosen(result.content)
    return [Figure("Your choice", choice)] if choice else []


def _drawn(result: Result) -> list[Figure]:
    """Return the figures of a component that was shown: they can be shown again as another."""
    props: Mapping[str, Any] = result.content.get("props", {})
    if "cards" in props:
        return [
            Figure(card["label"], card["value"], card.get("unit", "")) for card in props["cards"]
        ]
    if "rows" in props:
        label, *values = [column["key"] for column in props["columns"]]
        value = values[0] if values else label
        return [Figure(str(row.get(label, "")), row.get(value)) for row in props["rows"]]
    if "series" in props:
        labels = props.get("categories") or props["x"]
        return [*starmap(Figure, zip(map(str, labels), props["series"][0]["data"], strict=False))]
    return []


FIGURES: Mapping[str, Callable[[Result], list[Figure]]] = {
    "calculator": _calculation,
    "multiply": _product,
    "get_current_time": _time,
    "convert_units": _conversion,
    "request_user_selection": _selection,
    "render_ui_component": _drawn,
    **SOLAR_FIGURES,
    **MAINTENANCE_FIGURES,
}
