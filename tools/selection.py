"""A question to the user: one option, several, a date, a range of dates, or a form of fields."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from turnstream.tools import schemas
from turnstream.tools.arguments import Arguments, Integer, listed, parse, shorten, unstorable

Kind = Literal["single", "multiple", "date", "date_range", "form"]
CHOICES = ("single", "multiple")
DATES = ("date", "date_range")
DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
MAX_OPTIONS = 100
MAX_OPTIONS_SHOWN = 5

DateText: TypeAlias = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


class Option(Arguments):
    value: Annotated[str, Field(min_length=1)]
    label: str = ""
    description: str = ""


Options: TypeAlias = Annotated[list[Option], Field(min_length=1, max_length=MAX_OPTIONS)]


class Selection(Arguments):
    kind: Kind
    prompt: Annotated[str, Field(min_length=1, max_length=500)]
    options: Options = Field(default=[])
    default: str = ""
    min_selected: Annotated[Integer, Field(ge=0)] = 0
    max_selected: Annotated[Integer, Field(ge=1)] = MAX_OPTIONS
    min_date: DateText = "0001-01-01"
    max_date: DateText = "9999-12-31"
    fields: dict[str, Any] = Field(default={})
    """The JSON Schema of an object: a field for each of its properties."""

    @property
    def values(self) -> list[str]:
        return [option.value for option in self.options]

    def spans(self, day: Any) -> bool:
        return _is_date(day) and self.min_date <= day <= self.max_date

    def states(self, field: str) -> bool:
        return field in self.model_fields_set


def _is_date(text: Any) -> bool:
    """Of ISO 8601's forms only YYYY-MM-DD counts: it also sorts as text."""
    if not isinstance(text, str) or not DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def parse_selection(args: Mapping[str, Any]) -> Selection:
    """Raises ValueError with one sentence."""
    selection = parse(Selection, args)
    if selection.kind in CHOICES and not selection.options:
        raise ValueError(f"options: Field required for kind {selection.kind!r}.")
    if selection.kind == "form" and not selection.states("fields"):
        raise ValueError("fields: Field required for kind 'form'.")
    return selection


def validate_selection(args: dict[str, Any]) -> dict[str, Any]:
    """The arguments. Raises ValueError with a sentence for the model."""
    selection = parse_selection(args)
    faults = [
        *_date_faults(selection),
        *_option_faults(selection),
        *_field_faults(selection),
        *unstorable(args),
    ]
    if faults:
        raise ValueError(listed(faults))
    return args


def _date_faults(asked: Selection) -> Iterator[str]:
    unreal = [at for at in ("min_date", "max_date") if not _is_date(getattr(asked, at))]
    for at in unreal:
        yield f"{at}: should be a date that exists, as YYYY-MM-DD"
    if unreal:
        return
    if asked.min_date > asked.max_date:
        yield "min_date: should not be after max_date"
    elif asked.kind in DATES and asked.states("default") and not asked.spans(asked.default):
        yield f"default: should be a date from {asked.min_date} to {asked.max_date}"


def _option_faults(asked: Selection) -> Iterator[str]:
    if asked.kind not in CHOICES:
        return
    values = asked.values
    if len(set(values)) < len(values):
        yield "options: every value should be there once"
    if asked.states("default") and asked.default not in values:
        yield "default: should be the value of one of the options"
    if asked.states("max_selected") and asked.max_selected > len(values):
        yield f"max_selected: should be at most the number of options, {len(values)}"
    if asked.min_selected > min(asked.max_selected, len(values)):
        yield "min_selected: should be at most max_selected and the number of options"


def _field_faults(asked: Selection) -> Iterator[str]:
    if asked.kind != "form":
        return
    fault = schemas.fault(asked.fields)
    if fault:
        yield f"fields: {fault}"
    elif not asked.fields.get("properties"):
        yield "fields: should have properties"


def check_answer(args: Mapping[str, Any], answer: Any) -> dict[str, Any]:
    """The answer as it is stored: an object of `selection_result`.

    A bare string or array is taken for the one field that it can mean. Raises ValueError with a
    sentence that says what would fit.
    """
    asked = parse_selection(args)
    form = FORMS[asked.kind]
    given = {form.fields[0]: answer} if isinstance(answer, form.bare) else answer
    if isinstance(given, dict):
        if given.keys() == {"cancelled"} and given["cancelled"] is True:
            return {"cancelled": True}
        if given.keys() == set(form.fields) and form.fits(asked, *map(given.get, form.fields)):
            return {field: given[field] for field in form.fields}
    raise ValueError(
        f'The answer does not fit the question: {form.words(asked)}, or {{"cancelled": true}}.'
    )


@dataclass(frozen=True, slots=True)
class Form:
    """The answer to one kind of question. `fits` gets the values of `fields`; it may raise
    ValueError with a sentence of its own."""

    fields: tuple[str, ...]
    bare: tuple[type, ...]
    """Of what a bare value is, that stands for the only field."""
    fits: Callable[..., bool]
    words: Callable[[Selection], str]


def _fits_single(asked: Selection, value: Any) -> bool:
    return isinstance(value, str) and value in asked.values


def _fits_multiple(asked: Selection, values: Any) -> bool:
    return (
        isinstance(values, list)
        and all(_fits_single(asked, value) for value in values)
        and len(set(values)) == len(values)
        and asked.min_selected <= len(values) <= asked.max_selected
    )


def _fits_range(asked: Selection, start: Any, end: Any) -> bool:
    return asked.spans(start) and asked.spans(end) and bool(start <= end)


def _fits_form(asked: Selection, answers: Any) -> bool:
    """Raises ValueError that names the field which does not fit."""
    fault = schemas.misfit(asked.fields, answers)
    if fault:
        raise ValueError(f"The answers do not fit the fields. {fault}")
    return True


def _options_in_words(asked: Selection) -> str:
    shown = [repr(shorten(value)) for value in asked.values[:MAX_OPTIONS_SHOWN]]
    return ", ".join(shown) + (", ..." if len(asked.values) > MAX_OPTIONS_SHOWN else "")


def _single_in_words(asked: Selection) -> str:
    return f'{{"value": ...}} with one of {_options_in_words(asked)}'


def _multiple_in_words(asked: Selection) -> str:
    most = min(asked.max_selected, len(asked.values))
    return (
        f'{{"values": [...]}} with {asked.min_selected} to {most} different ones of '
        f"{_options_in_words(asked)}"
    )


def _date_in_words(asked: Selection) -> str:
    return f'{{"date": "YYYY-MM-DD"}} from {asked.min_date} to {asked.max_date}'


def _range_in_words(asked: Selection) -> str:
    return (
        '{"start": "YYYY-MM-DD", "end": "YYYY-MM-DD"}, start not after end, both '
        f"from {asked.min_date} to {asked.max_date}"
    )


def _form_in_words(_asked: Selection) -> str:
    return '{"answers": {...}} with an object that fits the fields'


FORMS: dict[Kind, Form] = {
    "single": Form(("value",), (str,), _fits_single, _single_in_words),
    "multiple": Form(("values",), (list,), _fits_multiple, _multiple_in_words),
    "date": Form(("date",), (str,), Selection.spans, _date_in_words),
    "date_range": Form(("start", "end"), (), _fits_range, _range_in_words),
    "form": Form(("answers",), (), _fits_form, _form_in_words),
}
