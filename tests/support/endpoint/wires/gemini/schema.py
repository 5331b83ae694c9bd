"""The part of OpenAPI's schema that a function declaration may use."""

from collections.abc import Iterator
from typing import Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from tests.support.endpoint.refusal import Refusal
from tests.support.endpoint.wires.shapes import Strict

TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")


class Proto(Strict):
    """Keys in camel case or with underscores, as protobuf's JSON takes both."""

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


class Schema(Proto):
    """`$defs`, `$ref` and `additionalProperties` are for `parametersJsonSchema`."""

    type: str | None = None
    format: str | None = None
    title: str | None = None
    description: str | None = None
    nullable: bool | None = None
    enum: list[str] = Field(default_factory=list)
    properties: dict[str, "Schema"] = Field(default_factory=dict)
    required: list[str] = Field(default_factory=list)
    property_ordering: list[str] = Field(default_factory=list)
    items: "Schema | None" = None
    any_of: list["Schema"] = Field(default_factory=list)
    min_items: int | str | None = None
    max_items: int | str | None = None
    min_length: int | str | None = None
    max_length: int | str | None = None
    min_properties: int | str | None = None
    max_properties: int | str | None = None
    minimum: float | None = None
    maximum: float | None = None
    pattern: str | None = None
    default: Any = Field(default=None)
    example: Any = Field(default=None)


def schema_faults(schema: Schema, where: str) -> Iterator[Refusal]:
    kind = (schema.type or "").upper()
    if kind and kind not in TYPES:
        yield Refusal(f"Invalid value at '{where}.type': {schema.type!r}")
    if kind == "ARRAY" and schema.items is None:
        yield Refusal(f"{where}.items: missing field.")
    if schema.enum and kind != "STRING":
        yield Refusal(f"{where}.enum: only allowed for STRING type")
    for name in schema.required:
        if name not in schema.properties:
            yield Refusal(f"{where}.required: property is not defined: {name}")
    for place, inner in _inner(schema):
        yield from schema_faults(inner, f"{where}.{place}")


def _inner(schema: Schema) -> Iterator[tuple[str, Schema]]:
    for name, inner in schema.properties.items():
        yield f"properties[{name}]", inner
    if schema.items:
        yield "items", schema.items
    for place, inner in enumerate(schema.any_of):
        yield f"any_of[{place}]", inner
