"""The props of a component: a JSON Schema, as a check and as words for a model.

A schema uses the keywords that `KEYWORDS` and `ANYWHERE` list and no others, since the page checks
it too (`static/js/props.js`). Two keywords are ours: `dataFrom` marks a property that the result of
a tool may fill; `sameLengthAs`, on an array, names the property whose array has as many items.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic_core import SchemaValidator, ValidationError
from pydantic_core.core_schema import (
    CoreConfig,
    CoreSchema,
    list_schema,
    literal_schema,
    no_info_plain_validator_function,
    str_schema,
    typed_dict_field,
    typed_dict_schema,
)

from turnstream.tools.arguments import listed, sentence, typed, unstorable
from turnstream.tools.schemas import SchemaFault, accept

Schema: TypeAlias = Mapping[str, Any]

KEYWORDS: Mapping[str, frozenset[str]] = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems", "sameLengthAs"}),
    "string": frozenset({"minLength", "maxLength"}),
    "number": frozenset({"minimum", "maximum"}),
    "integer": frozenset({"minimum", "maximum"}),
    "boolean": frozenset(),
    "null": frozenset(),
}
"""The keywords of a schema of one type."""
ANYWHERE = frozenset(
    {"type", "enum", "title", "description", "default", "examples", "dataFrom", "$schema", "$id"}
)
MAX_ROWS = 10_000
"""Rows of an array that are looked through for those that do not fit."""
ITEMS = ""
"""A step of a path: each item of an array."""


class Props:
    """The props of one component, checked as its schema says."""

    def __init__(self, schema: Schema) -> None:
        """Raises SchemaFault for a schema that is malformed, or uses other keywords."""
        accept(schema)
        self.schema = schema
        self._properties: Schema = schema.get("properties", {})
        self._validator = SchemaValidator(_check(schema, "#"), CoreConfig(strict=True))
        self._lengths = [*_lengths(schema, ())]
        self._rows = {
            name: SchemaValidator(_check(declared["items"], "#"), CoreConfig(strict=True))
            for name, declared in self._properties.items()
            if _types(declared) == ["array"]
            and "minItems" not in declared
            and _types(declared["items"]) == ["object"]
            and not any(name in (path[0], other) for path, other in self._lengths)
        }
        """The checks of the items of arrays whose items may be left out, by property."""
        for _, other in self._lengths:
            named = self._properties.get(other, {}) if isinstance(other, str) else {}
            if other not in self.required or named.get("type") != "array":
                raise SchemaFault(f"sameLengthAs names {other!r}: it must be a required array")

    @property
    def required(self) -> list[str]:
        required: list[str] = self.schema.get("required", [])
        return required

    @property
    def points(self) -> list[str]:
        """The required properties that a result may fill."""
        return [name for name in self._marked if name in self.required]

    @property
    def labels(self) -> list[str]:
        """The optional ones, which a result may bring along."""
        return [name for name in self._marked if name not in self.required]

    @property
    def _marked(self) -> list[str]:
        return [name for name, declared in self._properties.items() if declared.get("dataFrom")]

    def check(self, props: Any, at: str = "") -> None:
        """Check props that came as JSON. Raises ValueError with one sentence; `at` is their place
        in the arguments."""
        try:
            self._validator.validate_python(props)
        except ValidationError as error:
            raise ValueError(sentence(error, at)) from None

    def pruned(self, props: Schema, at: str) -> tuple[Schema, list[str]]:
        """Return the props without the rows that do not fit, as long as one is left, and a sentence
        for each property that lost some. Rows are the items of an array of objects that may be
        empty, and that no other array has to be as long as."""
        left, notes = dict(props), list[str]()
        for name, check in self._rows.items():
            rows = props.get(name)
            if not isinstance(rows, list) or len(rows) > MAX_ROWS:
                continue
            fits = [_fits(check, row) for row in rows]
            lost = fits.count(False)
            if 0 < lost < len(rows):
                left[name] = [row for row, is_kept in zip(rows, fits, strict=True) if is_kept]
                first = fits.index(False)
                fault = _row_fault(check, rows[first], (at, name, str(first)))
                notes.append(f"{lost} of {len(rows)} {name} do not fit and are left out. {fault}")
        return left, notes

    def uneven(self, props: Schema, at: str) -> Iterator[str]:
        """Yield a fault for each array of checked props that has another length than it should."""
        for path, other in self._lengths:
            length = len(props[other])
            for place, array in _values(props, path, (at,)):
                if len(array) != length:
                    yield (
                        f"{'.'.join(place)}: should have as many items as {other}, {length}, "
                        f"not {len(array)}"
                    )

    def words(self) -> str:
        """The properties as a model reads them."""
        return ", ".join(_named(self.schema, " ({})"))


def _fits(check: SchemaValidator, row: Any) -> bool:
    return check.isinstance_python(row) and not any(unstorable(row))


def _row_fault(check: SchemaValidator, row: Any, place: tuple[str, ...]) -> str:
    """Return what is wrong with a row, as a sentence that names its place."""
    try:
        check.validate_python(row)
    except ValidationError as error:
        return sentence(error, ".".join(place))
    return listed([*unstorable(row, place)])


def _check(schema: Schema, where: str) -> CoreSchema:
    """Return the check of a schema at its place in the whole. Raises SchemaFault."""
    if not isinstance(schema, Mapping):
        raise SchemaFault(f"{where} must be an object with a type, not true or false")
    if "enum" in schema:
        return _one_of(schema, where)
    types = _types(schema)
    several = len(types) > 1
    if not types or (several and {"object", "array"} & set(types)):
        raise SchemaFault(f"{where} needs a type, object or array as the only one")
    own = frozenset[str]().union(
        *(KEYWORDS[one] for one in types if not several or one != "string")
    )
    _only(schema, own, where)
    make = None if several else COMPOUND.get(types[0])
    return make(schema, where) if make else _scalar(schema, types)


def _only(schema: Schema, own: frozenset[str], where: str) -> None:
    """Raises SchemaFault for a keyword that is neither one of these nor allowed anywhere."""
    for keyword in schema:
        if keyword not in own | ANYWHERE:
            remedy = f"use {', '.join(sorted(own))}" if own else "leave it out"
            raise SchemaFault(f"{where}/{keyword} is not supported: {remedy}")


def _types(schema: Schema) -> list[str]:
    listed: str | list[str] = schema.get("type", [])
    return [listed] if isinstance(listed, str) else listed


def _one_of(schema: Schema, where: str) -> CoreSchema:
    _only(schema, frozenset(), where)
    listed = schema["enum"]
    if not listed or not all(isinstance(value, str) for value in listed):
        raise SchemaFault(f"{where}/enum must list strings, one at least")
    if _types(schema) not in ([], ["string"]):
        raise SchemaFault(f"{where}/type must be string beside enum")
    return literal_schema(listed)


def _object(schema: Schema, where: str) -> CoreSchema:
    required = schema.get("required", [])
    properties = schema.get("properties", {})
    for name in required:
        if name not in properties:
            raise SchemaFault(f"{where}/required names {name!r}, which is no property")
    others = schema.get("additionalProperties", True)
    return typed_dict_schema(
        {
            name: typed_dict_field(
                _check(declared, f"{where}/properties/{name}"), required=name in required
            )
            for name, declared in properties.items()
        },
        extra_behavior="forbid" if others is False else "allow",
        extras_schema=_check(others, f"{where}/additionalProperties")
        if isinstance(others, Mapping)
        else None,
    )


def _array(schema: Schema, where: str) -> CoreSchema:
    if not isinstance(schema.get("items"), Mapping):
        raise SchemaFault(f"{where} needs items, a schema")
    least, most = _lengths_of(schema, "minItems", "maxItems")
    return list_schema(_check(schema["items"], f"{where}/items"), min_length=least, max_length=most)


def _string(schema: Schema, _where: str) -> CoreSchema:
    least, most = _lengths_of(schema, "minLength", "maxLength")
    return str_schema(min_length=least, max_length=most)


def _lengths_of(schema: Schema, *keywords: str) -> list[int | None]:
    """Whole numbers: JSON Schema lets 3 be written 3.0."""
    return [int(schema[keyword]) if keyword in schema else None for keyword in keywords]


def _scalar(schema: Schema, types: list[str]) -> CoreSchema:
    limits = schema.get("minimum"), schema.get("maximum")
    return no_info_plain_validator_function(typed(*types, limits=limits))


COMPOUND: Mapping[str, Callable[[Schema, str], CoreSchema]] = {
    "object": _object,
    "array": _array,
    "string": _string,
}


def _lengths(schema: Schema, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the paths to arrays whose length is that of another property, and its name. Raises
    SchemaFault for one in a property that has no name, since no path leads there."""
    if "sameLengthAs" in schema:
        yield path, schema["sameLengthAs"]
    for name, declared in schema.get("properties", {}).items():
        yield from _lengths(declared, (*path, name))
    if "items" in schema:
        yield from _lengths(schema["items"], (*path, ITEMS))
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping) and any(_lengths(others, ())):
        raise SchemaFault("sameLengthAs is not supported in additionalProperties")


def _values(
    value: Any, path: tuple[str, ...], place: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values at a path, each with its place; those that are absent are left out."""
    if not path:
        yield place, value
    elif path[0] == ITEMS:
        for index, item in enumerate(value):
            yield from _values(item, path[1:], (*place, str(index)))
    elif path[0] in value:
        yield from _values(value[path[0]], path[1:], (*place, path[0]))


ONE: Mapping[str, str] = {"boolean": "true or false", "integer": "whole number"}
MANY: Mapping[str, str] = {
    "string": "strings",
    "number": "numbers",
    "integer": "whole numbers",
    "boolean": "true or false",
    "object": "objects",
}
"""Types of JSON Schema in words, where these differ."""


def _named(schema: Schema, form: str) -> Iterator[str]:
    """Yield the properties of an object: name, mark of an optional one, words in a form."""
    required = schema.get("required", [])
    for name, declared in schema.get("properties", {}).items():
        words = _words(declared)
        optional = "" if name in required else "?"
        yield f"{name}{optional}{form.format(words) if words else ''}"


def _words(schema: Schema) -> str:
    """Return what a property takes, in words; none for a plain string."""
    if "description" in schema:
        return str(schema["description"])
    if "enum" in schema:
        return joined(schema["enum"], "or")
    types = _types(schema)
    if types == ["array"]:
        return f"{_count(schema)} {_items(schema['items'])}"
    if "properties" in schema:
        return _braced(schema)
    return "" if types == ["string"] else _typed(schema, ONE)


def _items(schema: Schema) -> str:
    if "description" in schema:
        return str(schema["description"])
    if "enum" in schema:
        return f"of {joined(schema['enum'], 'or')}"
    types = _types(schema)
    if types == ["array"]:
        return f"lists of {_count(schema)} {_items(schema['items'])}"
    return f"of {_braced(schema)}" if "properties" in schema else _typed(schema, MANY)


def _braced(schema: Schema) -> str:
    return f"{{{', '.join(_named(schema, ': {}'))}}}"


def _typed(schema: Schema, words: Mapping[str, str]) -> str:
    """The types of a value, numbers with their limits."""
    return joined(
        [
            words.get(name, name) + (_limits(schema) if name in ("number", "integer") else "")
            for name in _types(schema)
        ],
        "or",
    )


def _limits(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None:
        return "" if most is None else f" of at most {most}"
    return f" of at least {least}" if most is None else f" from {least} to {most}"


def _count(schema: Schema) -> str:
    least, most = _lengths_of(schema, "minItems", "maxItems")
    if most is None:
        return f"at least {least}" if least else "any number of"
    if least == most:
        return str(most)
    return f"{least} to {most}" if least else f"up to {most}"


def joined(words: Sequence[str], conjunction: str) -> str:
    """`a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last
