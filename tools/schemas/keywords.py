"""Which keywords are supported, and how each is read."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from turnstream.tools.schemas import applicators, assertions
from turnstream.tools.schemas.assertions import LIMITS
from turnstream.tools.schemas.checking import Applicator, Assertion, Schema
from turnstream.tools.schemas.sentences import pointer
from turnstream.tools.schemas.values import ARRAY, OBJECT, STRING, Node, Table


class SchemaFault(Exception):
    """Why a schema cannot be used, and where."""


@dataclass(slots=True)
class Place:
    """The schema that is being read. `where` is a pair of the place around and a step, or None."""

    read: Callable[[Any, Any], Schema]
    resolve: Callable[[str, Any], Schema]
    table: Table
    schema: Schema
    raw: Mapping[str, Any]

    def one(self, keyword: str) -> Schema:
        """The schema under a keyword; one that any value fits if the keyword is missing."""
        return self.read(self.raw.get(keyword, True), (self.schema.where, keyword))

    def many(self, keyword: str) -> list[Schema]:
        where = (self.schema.where, keyword)
        return [self.read(raw, (where, index)) for index, raw in enumerate(self.raw[keyword])]

    def named(self, keyword: str) -> list[tuple[Node, Schema]]:
        where = (self.schema.where, keyword)
        return [
            (self.table.string(name), self.read(raw, (where, name)))
            for name, raw in self.raw[keyword].items()
        ]


def _at_same_node(place: Place, schemas: Iterable[Schema]) -> list[Schema]:
    """The same, noted as schemas that are asked about the very same node."""
    noted = list(schemas)
    place.schema.at_same_node += noted
    return noted


def _combined(keyword: str, apply: Callable[..., Any], place: Place) -> list[Applicator]:
    return [partial(apply, _at_same_node(place, place.many(keyword)))]


def _not(place: Place) -> list[Applicator]:
    return [partial(applicators.none_of, _at_same_node(place, [place.one("not")]))]


def _if(place: Place) -> list[Applicator]:
    schemas = [place.one(keyword) for keyword in ("if", "then", "else")]
    return [partial(applicators.if_then_else, _at_same_node(place, schemas))]


def _ref(place: Place) -> list[Applicator]:
    target = place.resolve(place.raw["$ref"], place.schema.where)
    return [partial(applicators.all_of, _at_same_node(place, [target]))]


def _properties(place: Place) -> list[Applicator]:
    return [partial(applicators.properties, place.named("properties"))]


def _additional_properties(place: Place) -> list[Applicator]:
    named = frozenset(map(place.table.string, place.raw.get("properties", ())))
    schema = place.one("additionalProperties")
    return [partial(applicators.additional_properties, named, schema)]


def _property_names(place: Place) -> list[Applicator]:
    return [partial(applicators.property_names, place.one("propertyNames"))]


def _dependent_schemas(place: Place) -> list[Applicator]:
    schemas = place.named("dependentSchemas")
    _at_same_node(place, [schema for _, schema in schemas])
    return [partial(applicators.dependent_schemas, schemas)]


def _prefix_items(place: Place) -> list[Applicator]:
    return [partial(applicators.prefix_items, place.many("prefixItems"))]


def _items(place: Place) -> list[Applicator]:
    start = len(place.raw.get("prefixItems", ()))
    return [partial(applicators.items, start, place.one("items"))]


def _contains(place: Place) -> list[Applicator]:
    least, most = place.raw.get("minContains", 1), place.raw.get("maxContains")
    return [partial(applicators.contains, place.one("contains"), least, most)]


def _multiple_of(place: Place) -> list[Applicator]:
    return [partial(assertions.multiple_of, place.raw["multipleOf"])]


def _read_alone(keyword: str, place: Place) -> list[Applicator]:
    """A schema that applies to nothing here, but must be one."""
    place.one(keyword)
    return []


def _left_out(keyword: str, kind: str, place: Place) -> list[Applicator]:
    if keyword != "pattern":
        place.one(keyword)
    if place.raw[keyword] is not True:
        place.schema.left_out |= {kind}
    return []


def _read_named(keyword: str, place: Place) -> list[Applicator]:
    place.named(keyword)
    return []


def _refused(keyword: str, remedy: str, place: Place) -> list[Applicator]:
    raise SchemaFault(f"{pointer((place.schema.where, keyword))} is not supported: {remedy}")


APPLICATORS: Mapping[str, Callable[[Place], list[Applicator]]] = {
    "$ref": _ref,
    "allOf": partial(_combined, "allOf", applicators.all_of),
    "anyOf": partial(_combined, "anyOf", applicators.any_of),
    "oneOf": partial(_combined, "oneOf", applicators.one_of),
    "not": _not,
    "if": _if,
    "properties": _properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "dependentSchemas": _dependent_schemas,
    "prefixItems": _prefix_items,
    "items": _items,
    "contains": _contains,
    "multipleOf": _multiple_of,
    "$defs": partial(_read_named, "$defs"),
    "definitions": partial(_read_named, "definitions"),
    **{
        keyword: partial(_read_alone, keyword)
        for keyword in (
            "then",
            "else",
            "unevaluatedItems",
            "unevaluatedProperties",
            "contentSchema",
        )
    },
    "pattern": partial(_left_out, "pattern", STRING),
    "unevaluatedItems": partial(_left_out, "unevaluatedItems", ARRAY),
    "unevaluatedProperties": partial(_left_out, "unevaluatedProperties", OBJECT),
    "patternProperties": partial(_refused, "patternProperties", "name the properties"),
    "$dynamicRef": partial(_refused, "$dynamicRef", "use $ref"),
}

ASSERTIONS: Mapping[str, Callable[[Any, Table], Iterable[Assertion]]] = {
    "type": lambda argument, _: [assertions.types(argument)],
    "enum": lambda argument, table: [assertions.one_of_values(argument, table)],
    "const": lambda argument, table: [assertions.constant(argument, table)],
    "required": assertions.required,
    "dependentRequired": assertions.dependent_required,
    "uniqueItems": lambda argument, _: [assertions.UNIQUE] if argument else [],
    **{
        keyword: partial(
            lambda keyword, argument, _: [assertions.limit(keyword, argument)], keyword
        )
        for keyword in LIMITS
    },
}
