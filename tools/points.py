"""The points of results that fill a component: of several results joined, and a selection of them.

Points have one of two shapes, which the component's schema shows. Rows: an array of objects, with
an array of columns that name their keys. Series: arrays inside an array of series, each as long as
an axis beside it (`sameLengthAs`).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from turnstream.tools.arguments import shorten

Points = Mapping[str, Any]
MAX_VALUES = 100_000
"""The values of several results on one axis, with the nulls that fill its gaps: these could be far
more than the results have together."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of the points that is drawn."""

    columns: Sequence[str] = ()
    """Keys of columns, or names of series, in their order; empty: all."""
    sort: str = ""
    """A column, a series or the axis, descending behind a minus; empty: as they came."""
    limit: int | None = None
    """The number of rows, or of points on the axis; None: all."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Points as rows: `columns` and `rows` are properties of the component."""

    columns: str
    rows: str

    def joined(self, found: Sequence[tuple[str, Points]]) -> Points:
        """The columns of all results by their keys, and all rows one after the other."""
        columns = {column["key"]: column for _, points in found for column in points[self.columns]}
        rows = [row for _, points in found for row in points[self.rows]]
        return {self.columns: [*columns.values()], self.rows: rows}

    def selected(self, points: Points, chosen: Selection) -> Points:
        """Raises ValueError for a column that there is not."""
        columns = {column["key"]: column for column in points[self.columns]}
        kept = [
            _named(columns, name, "column") for name in dict.fromkeys(chosen.columns) or columns
        ]
        rows = points[self.rows]
        if chosen.sort:
            name = chosen.sort.removeprefix("-")
            _named(columns, name, "column")
            rows = _ordered(rows, lambda row: row.get(name), is_down=chosen.sort.startswith("-"))
        return {self.columns: kept, self.rows: rows[: chosen.limit]}


@dataclass(frozen=True, slots=True)
class Series:
    """Points as series: `axis` and `series` are properties of the component, `data` is that of a
    series."""

    axis: str
    series: str
    data: str

    def joined(self, found: Sequence[tuple[str, Points]]) -> Points:
        """The series of all results on one axis, with null where a result has no value; series of
        one name are told apart by their results. Raises ValueError for an uneven series, and for
        too many values."""
        axes = [points[self.axis] for _, points in found]
        axis, places = _one_axis(axes)
        names = Counter(one["name"] for _, points in found for one in points[self.series])
        if names.total() * len(axis) > MAX_VALUES:
            raise ValueError("data_from: the results are too large to be drawn as one.")
        series = []
        for (source, points), at in zip(found, places, strict=True):
            for one in points[self.series]:
                values = dict(zip(at, self._data(one, points), strict=True))
                name = one["name"] if names[one["name"]] == 1 else f"{one['name']} ({source})"
                data = [values.get(place) for place in range(len(axis))]
                series.append({**one, "name": name, self.data: data})
        return {self.axis: axis, self.series: series}

    def _data(self, one: Mapping[str, Any], points: Points) -> Sequence[Any]:
        data: Sequence[Any] = one[self.data]
        if len(data) != len(points[self.axis]):
            raise ValueError(
                f"data_from: the series {shorten(one['name'])!r} should have as many items as "
                f"{self.axis}, {len(points[self.axis])}, not {len(data)}."
            )
        return data

    def selected(self, points: Points, chosen: Selection) -> Points:
        """Raises ValueError for a series that there is not, and for an uneven one."""
        series = {one["name"]: one for one in points[self.series]}
        named = [_named(series, name, "series") for name in dict.fromkeys(chosen.columns)]
        kept = named or points[self.series]  # Two of them may have the same name.
        places: Sequence[int] = range(len(points[self.axis]))
        if chosen.sort:
            name = chosen.sort.removeprefix("-")
            is_axis = name == self.axis and name not in series
            by = points[name] if is_axis else self._data(_named(series, name, "series"), points)
            places = _ordered(places, by.__getitem__, is_down=chosen.sort.startswith("-"))
        places = places[: chosen.limit]
        return {
            self.axis: [points[self.axis][place] for place in places],
            self.series: [
                {**one, self.data: [data[place] for place in places]}
                for one, data in ((one, self._data(one, points)) for one in kept)
            ],
        }


Shape = Rows | Series


def shape_of(schema: Mapping[str, Any], points: Sequence[str]) -> Shape | None:
    """The shape of the points of a component: `points` are the properties that results fill. None:
    one that cannot be joined or selected."""
    declared = {name: schema["properties"][name] for name in points}
    inner = {name: _inner(one) for name, one in declared.items()}
    for name, fields in inner.items():
        for data, field in fields.items():
            if field.get("sameLengthAs") in declared and "name" in fields:
                return Series(field["sameLengthAs"], name, data)
    keyed = [name for name, fields in inner.items() if "key" in fields]
    others = [name for name in declared if name not in keyed and "items" in declared[name]]
    if len(keyed) == len(others) == 1 and declared[others[0]]["items"].get("type") == "object":
        return Rows(keyed[0], others[0])
    return None


def _one_axis(axes: Sequence[Sequence[Any]]) -> tuple[list[Any], list[list[int]]]:
    """Return the axis of several, and the places of each on it: the same for all, in order of their
    values if each is in that order, else as they came; or, if one has a value twice, one behind the
    other."""
    first, *others = axes
    if all(other == first for other in others):
        return [*first], [[*range(len(first))] for _ in axes]
    if any(len(set(axis)) < len(axis) for axis in axes):
        ends = [*accumulate(map(len, axes))]
        return [at for axis in axes for at in axis], [
            [*range(end - len(axis), end)] for axis, end in zip(axes, ends, strict=True)
        ]
    axis = [*dict.fromkeys(at for one in axes for at in one)]
    if all([*one] == _ordered(one, lambda at: at) for one in axes):
        axis = _ordered(axis, lambda at: at)
    place = {at: number for number, at in enumerate(axis)}
    return axis, [[place[at] for at in one] for one in axes]


def _inner(declared: Mapping[str, Any]) -> Mapping[str, Any]:
    """The properties of the objects in an array."""
    inner: Mapping[str, Any] = declared.get("items", {}).get("properties", {})
    return inner


def _named(known: Mapping[str, Any], name: str, kind: str) -> Any:
    if name not in known:
        listed = ", ".join(map(shorten, known))
        raise ValueError(f"select: there is no {kind} {shorten(name)!r}; there are: {listed}.")
    return known[name]


def _ordered(
    items: Sequence[Any], value: Callable[[Any], Any], *, is_down: bool = False
) -> list[Any]:
    """Numbers before texts; what is missing comes last, either way."""
    there = [item for item in items if value(item) is not None]
    missing = [item for item in items if value(item) is None]
    return sorted(there, key=lambda item: _rank(value(item)), reverse=is_down) + missing


def _rank(value: Any) -> tuple[int, float, str]:
    is_number = isinstance(value, int | float)
    return (0, value, "") if is_number else (1, 0, str(value))
