"""The user's wishes for `render_ui_component`: charts, tables, cards, reports, alerts."""

from collections.abc import Callable, Mapping, Sequence
from re import Pattern
from typing import Any

from turnstream.graphs.offline.ask import BLANKS_BEFORE, RENDER, Ask, Facts, any_case, past
from turnstream.graphs.offline.figure import Figure
from turnstream.graphs.offline.figures import figures
from turnstream.graphs.offline.history import Result
from turnstream.graphs.offline.series import inline_figures

COMPONENT = (
    r"(?:(?P<bar_chart>bar (?:chart|graph|plot)|bars)|(?P<table>table)"
    r"|(?P<metric_cards>(?:metric |number )?card|metric)"
    r"|(?P<report>(?:short |brief )?report|summary)|(?P<alert>alert|warning)"
    r"|(?P<line_chart>(?:line )?(?:chart|graph|plot|curve)))s?\b"
)
SHOW = r"\b(?:show|draw|plot|make|create|render|display|write|give|put|present|raise)\b"
_ASKED = (
    any_case(rf"{past(SHOW)}(?P<before>.*?)\b{COMPONENT}(?P<after>.*)"),
    any_case(r"^(?P<before>)(?:please )?(?P<line_chart>plot|graph|chart)\b(?P<after>.*)"),
)
_TITLE = any_case(r'\b(?:titled|called|with the title)\s++("[^"]+"|\w[\w ]*+)')
_FILLER = any_case(r"(?:,\s*+|(?<!\s)\s++)?+\bplease\b")
_LINK = any_case(
    r"^(?:[\s,:]|\b(?:of|for|with|showing|from|about|on|(?:that|which) says|saying|to say"
    r"|(?:the )?(?:values?|numbers|data))\b)*"
)
_AROUND = any_case(
    r"\A\s*+(?:me\b\s*+)?+"
    rf"|{BLANKS_BEFORE}(?:\b(?:as|in|on)\s++)?+(?:\b(?:an?|the)\s*+)?+\Z"
)
_TONES: Mapping[str, Pattern[str]] = {
    "danger": any_case(r"\b(?:danger|error|critical)\b"),
    "warning": any_case(r"\bwarn"),
    "success": any_case(r"\bsuccess"),
}
SAMPLE = (Figure("Mon", 3), Figure("Tue", 7), Figure("Wed", 4), Figure("Thu", 9))

Props = dict[str, Any]


def render(clause: str, facts: Facts) -> list[Ask]:
    match = next(filter(None, (asked.search(clause) for asked in _ASKED)), None)
    if not match:
        return []
    wanted = next(name for name in BUILD if match.groupdict().get(name))
    title = _TITLE.search(match["after"])
    text = _LINK.sub("", _FILLER.sub("", _TITLE.sub("", match["after"]))).strip(' "')
    text = text if text.strip(".?! ") else ""
    data = _data(text, _AROUND.sub("", match["before"]), facts)
    named: Props = {"title": title[1].strip('" ')} if title else {}
    source = _source(wanted, facts)
    if source:
        return [Ask(RENDER, {"component": wanted, "props": named, "data_from": source.call_id})]
    if not data and not text and not facts.points_back:
        data, named = list(SAMPLE), {"title": "Sample data", **named}
    component = _fitting(wanted, data)
    props = BUILD[component](text, data)
    if component == "alert" and props:
        named["tone"] = _tone(clause)
    return [Ask(RENDER, {"component": component, "props": named | props})] if props else []


def _data(text: str, before: str, facts: Facts) -> list[Figure]:
    """The figures in the clause itself; of a clause that brings none, those of results.

    A lone number in a clause that points back is the result itself, which has a label of its own.
    """
    inline = inline_figures(text) or [item for item in inline_figures(before) if item.is_number]
    results = figures(facts.results)
    brings_none = len(inline) < 2 and not any(item.label for item in inline)
    return results if results and brings_none and (facts.points_back or not text) else inline


def _source(component: str, facts: Facts) -> Result | None:
    """The last result that draws the component by itself, if the clause points back."""
    drawing = (result for result in reversed(facts.results) if component in result.draws)
    return next(drawing, None) if facts.points_back else None


def _fitting(component: str, data: Sequence[Figure]) -> str:
    numbers = sum(figure.is_number for figure in data)
    if "chart" in component and data and not numbers:
        return "table"
    return "bar_chart" if component == "line_chart" and numbers < 2 else component


def _tone(clause: str) -> str:
    return next((tone for tone, pattern in _TONES.items() if pattern.search(clause)), "info")


def _line_chart(_: str, data: Sequence[Figure]) -> Props:
    numbers = [figure for figure in data if figure.is_number][:500]
    labelled = any(figure.label for figure in numbers)
    x = [(item.label or str(i)) if labelled else i for i, item in enumerate(numbers, start=1)]
    return {"x": x, "series": _series(numbers)}


def _bar_chart(_: str, data: Sequence[Figure]) -> Props:
    numbers = [figure for figure in data if figure.is_number][:40]
    categories = [(figure.label or str(i))[:80] for i, figure in enumerate(numbers, start=1)]
    return {"categories": categories, "series": _series(numbers)} if numbers else {}


def _series(numbers: Sequence[Figure]) -> list[Props]:
    unit = next((figure.unit for figure in numbers if figure.unit), "Value")
    return [{"name": unit[:80], "data": [figure.value for figure in numbers]}]


def _table(_: str, data: Sequence[Figure]) -> Props:
    name = {"key": "name", "label": "Name"}
    if all(figure.value is None for figure in data):
        rows: list[Props] = [{"name": figure.label} for figure in data[:200]]
        return {"columns": [name], "rows": rows} if rows else {}
    value = {"key": "value", "label": "Value", "align": "right"}
    unit = [{"key": "unit", "label": "Unit"}] if any(figure.unit for figure in data) else []
    rows = [
        {"name": figure.label or str(i), "value": figure.value}
        | ({"unit": figure.unit} if unit else {})
        for i, figure in enumerate(data[:200], start=1)
    ]
    return {"columns": [name, value, *unit], "rows": rows}


def _metric_cards(_: str, data: Sequence[Figure]) -> Props:
    cards = [
        {"label": figure.label or "Value", "value": figure.value}
        | ({"unit": figure.unit} if figure.unit else {})
        for figure in data[:12]
        if figure.value is not None
    ]
    return {"cards": cards} if cards else {}


def _report(text: str, data: Sequence[Figure]) -> Props:
    lines = [f"- **{item.label or 'Value'}**: {_value(item)}" for item in data]
    subject = "the figures" if lines or not text else text[:200]
    facts = "\n".join(lines) or "- No figures were given: name some, or ask a tool first."
    body = f"## Report on {subject}\n\nWhat there is to say, in short:\n\n{facts}\n"
    return {"markdown": body[:20000]}


def _alert(text: str, data: Sequence[Figure]) -> Props:
    told = "; ".join(f"{item.label or 'Value'}: {_value(item)}" for item in data)
    return {"message": (text or told)[:2000]} if text or told else {}


def _value(figure: Figure) -> str:
    return f"{figure.value} {figure.unit}".strip()


BUILD: Mapping[str, Callable[[str, Sequence[Figure]], Props]] = {
    "bar_chart": _bar_chart,
    "table": _table,
    "metric_cards": _metric_cards,
    "report": _report,
    "alert": _alert,
    "line_chart": _line_chart,
}
"""Makes the props from the text behind the component's name, and the figures; empty: nothing to
show."""
