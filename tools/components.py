"""The components that the browser can render: what each takes as its props."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from turnstream.tools.arguments import (
    Arguments,
    NumberOrNull,
    NumberOrText,
    NumberTextOrNull,
    Scalar,
    listed,
    parse,
    shorten,
    unstorable,
)
from turnstream.tools.contract import ResultLookup

Text: TypeAlias = Annotated[str, Field(max_length=2000)]
ShortText: TypeAlias = Annotated[str, Field(max_length=80)]
Tone = Literal["info", "success", "warning", "danger"]
Component = Literal["line_chart", "bar_chart", "table", "metric_cards", "report", "alert"]

DATA_FIELDS: Mapping[str, tuple[str, ...]] = {
    "line_chart": ("x", "series"),
    "bar_chart": ("categories", "series"),
    "table": ("columns", "rows"),
}
"""The props that `data_from` fills, by component."""

LABEL_FIELDS = ("x_label", "y_label", "time_zone")
"""Props that come along with the points, where the model has not written its own."""


class Props(Arguments):
    title: Text = ""

    def faults(self) -> Iterator[str]:
        """Yield the faults beyond the types of the single fields."""
        yield from ()


class Series(Arguments):
    name: ShortText
    data: Annotated[list[NumberOrNull], Field(max_length=500)]


class Chart(Props):
    x_label: Text = ""
    y_label: Text = ""
    series: Annotated[list[Series], Field(min_length=1, max_length=8)]

    def uneven(self, axis: str, length: int) -> Iterator[str]:
        for index, series in enumerate(self.series):
            if len(series.data) != length:
                yield (
                    f"props.series.{index}.data: should have as many items as {axis}, "
                    f"{length}, not {len(series.data)}"
                )


class LineChart(Chart):
    x: Annotated[list[NumberOrText], Field(min_length=2, max_length=500)]
    time_zone: str = ""

    def faults(self) -> Iterator[str]:
        yield from self.uneven("x", len(self.x))


class BarChart(Chart):
    categories: Annotated[list[ShortText], Field(min_length=1, max_length=40)]

    def faults(self) -> Iterator[str]:
        yield from self.uneven("categories", len(self.categories))


class Column(Arguments):
    key: str
    label: str = ""
    align: Literal["left", "right"] = "left"


class Table(Props):
    columns: Annotated[list[Column], Field(min_length=1, max_length=20)]
    rows: Annotated[list[dict[str, Scalar]], Field(max_length=200)]


class Card(Arguments):
    label: str
    value: NumberTextOrNull
    unit: str = ""
    delta: str = ""
    tone: Tone = "info"


class MetricCards(Props):
    cards: Annotated[list[Card], Field(min_length=1, max_length=12)]


class Report(Props):
    markdown: Annotated[str, Field(max_length=20_000)]


class Alert(Props):
    message: Text
    tone: Tone = "info"


COMPONENTS: dict[Component, type[Props]] = {
    "line_chart": LineChart,
    "bar_chart": BarChart,
    "table": Table,
    "metric_cards": MetricCards,
    "report": Report,
    "alert": Alert,
}


class Rendering(Arguments):
    component: Component
    props: dict[str, Any]
    data_from: Annotated[str, Field(min_length=1)] = ""


def parse_render(args: Mapping[str, Any]) -> Props:
    """The props as their component takes them. Raises ValueError with one sentence."""
    rendering = parse(Rendering, args)
    return parse(COMPONENTS[rendering.component], rendering.props, at="props")


def validate_render(args: dict[str, Any], results: ResultLookup | None = None) -> dict[str, Any]:
    """The arguments with `data_from` resolved. Raises ValueError with a sentence for the model."""
    resolved = _resolved(args, results)
    faults = [*parse_render(resolved).faults(), *unstorable(resolved)]
    if faults:
        raise ValueError(listed(faults))
    return resolved


def drawable(result: Mapping[str, Any]) -> list[str]:
    """The components that `data_from` can fill with a result, as the client may see it."""
    found = []
    for component, fields in DATA_FIELDS.items():
        if set(fields) <= set(result):
            rendering = {"component": component, "props": {}, "data_from": "it"}
            with suppress(ValueError):
                validate_render(rendering, lambda _: result)
                found.append(component)
    return found


def _labels(component: str, found: Mapping[str, Any]) -> dict[str, Any]:
    names = LABEL_FIELDS if component == "line_chart" else LABEL_FIELDS[:2]
    return {name: found[name] for name in names if isinstance(found.get(name), str)}


def _resolved(args: dict[str, Any], results: ResultLookup | None) -> dict[str, Any]:
    rendering = parse(Rendering, args)
    if not rendering.data_from:
        return args
    found = results(rendering.data_from) if results else None
    if found is None:
        raise ValueError(
            f"data_from: there is no earlier tool call {shorten(rendering.data_from)!r} with "
            "a result in this turn; write the data into props instead."
        )
    wanted = DATA_FIELDS.get(rendering.component, ())
    if not wanted or not all(field in found for field in wanted):
        offered = [name for name, fields in DATA_FIELDS.items() if set(fields) <= set(found)]
        raise ValueError(
            f"data_from: the result of {shorten(rendering.data_from)!r} has no points for a "
            f"{rendering.component}; it has them for: {', '.join(offered) or 'no component'}."
        )
    labels = {} if rendering.component == "table" else _labels(rendering.component, found)
    data = {name: found[name] for name in wanted}
    return {**args, "props": {**labels, **rendering.props, **data}}
