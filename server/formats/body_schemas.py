"""JSON Schemas of bodies, from the models that read them, and what schemas of answers share.

A schema says what its reader accepts, no less and no more, as far as JSON Schema can: that images
can be read, that a tool's parameters are a schema, and sums over several values, it cannot say.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from pydantic_core import core_schema

from turnstream.server.formats import fields
from turnstream.server.formats.fields import BodyLimits
from turnstream.server.formats.graph_values import NATIVE_KEYS

Schema = dict[str, Any]

NOTHING: Schema = {"type": "null"}
BLANK = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
NOT_BLANK = f"[^{BLANK}]"
THREAD_ID: Schema = {"type": "string", "pattern": fields.THREAD_ID}


@dataclass(frozen=True, slots=True)
class Served:
    """The parts of a server that its schemas depend on."""

    limits: BodyLimits
    graphs: tuple[str, ...]
    models: tuple[str, ...]
    """Names that the caller may use; none where the graph has models of its own."""
    values: tuple[tuple[str, tuple[str, ...]], ...]
    """The names that a client may set in `context`, `configurable` and `input`."""


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(schema: Schema) -> Schema:
    """A null is as good as a missing key."""
    kind = schema.get("type")
    if isinstance(kind, str) and not {"enum", "const"} & schema.keys():
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, NOTHING]}


def choice(*values: Any) -> Schema:
    return {"enum": [*values]}


def an_object(required: Sequence[str], **properties: Schema) -> Schema:
    """Describe an object, of which other keys are ignored."""
    return {
        "type": "object",
        **({"required": [*required]} if required else {}),
        "properties": properties,
    }


def closed_object(required: Sequence[str], **properties: Schema) -> Schema:
    """Describe an object that has no other keys."""
    return {**an_object(required, **properties), "additionalProperties": False}


class BodySchemas(GenerateJsonSchema):
    """Schemas without titles and defaults; a choice among models is an `anyOf`."""

    def field_title_should_be_set(self, _schema: Any) -> bool:
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        return self.generate_inner(schema["schema"])

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        return _without(super().model_schema(schema), "title")

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> Schema:
        found = super().tagged_union_schema(schema)
        return {"anyOf": found["oneOf"]} if "oneOf" in found else found

    def str_schema(self, schema: core_schema.StringSchema) -> Schema:
        found = super().str_schema(schema)
        return {key: value for key, value in found.items() if value != 0}


def components(served: Served, models: Sequence[type[BaseModel]]) -> dict[str, Schema]:
    """The schemas of models, and of those that they are made of, by name."""
    _, found = models_json_schema(
        [(model, "validation") for model in models],
        ref_template="#/components/schemas/{model}",
        schema_generator=BodySchemas,
    )
    return {name: _on_server(schema, served) for name, schema in found["$defs"].items()}


def some(schema: Schema) -> Schema:
    """The schema of a value that may be null, without the null."""
    choices = [one for one in schema["anyOf"] if one != NOTHING]
    inner = choices[0] if len(choices) == 1 else {"anyOf": choices}
    return {**_without(schema, "anyOf"), **inner}


def variant(schema: Schema, required: Sequence[str], **properties: Schema) -> Schema:
    """An object whose schema has further required keys, and other properties."""
    keys = [*dict.fromkeys([*schema.get("required", ()), *required])]
    return {
        **schema,
        **({"required": keys} if keys else {}),
        "properties": {**schema["properties"], **properties},
    }


def refused(known: Iterable[str]) -> dict[str, Schema]:
    """The keys of a native body that another format refuses."""
    return dict.fromkeys(sorted(NATIVE_KEYS - {*known}), NOTHING)


def _without(schema: Schema, key: str) -> Schema:
    return {name: value for name, value in schema.items() if name != key}


def _on_server(schema: Any, served: Served) -> Any:
    """The schema with what depends on the server in place of the marks of `depends_on_server`."""
    if isinstance(schema, list):
        return [_on_server(one, served) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _on_server(one, served) for key, one in schema.items() if key != "x-served"}
    return _made(schema["x-served"], served, inner) if "x-served" in schema else inner


def _made(what: str, served: Served, schema: Schema) -> Schema:
    longest = served.limits.max_message_chars
    match what:
        case "text":
            return {"type": "string", "maxLength": longest, **schema}
        case "message text":
            return {"type": "string", "maxLength": longest, "pattern": NOT_BLANK, **schema}
        case "short text":  # bounded as JSON: with its quotes, and what must be escaped
            return {"type": "string", "maxLength": max(0, longest - 2), **schema}
        case "content":
            return _content(served.limits, schema)
        case "graphs":
            return {**schema, **choice(*served.graphs)}
        case "models":
            return choice(*served.models) if served.models else NOTHING
    names = dict(served.values).get(what, ())
    return {**schema, **closed_object((), **{name: {} for name in names})}


def _content(limits: BodyLimits, schema: Schema) -> Schema:
    """The parts of a user's message: at least one is an image, or text that is not blank."""
    said = an_object(["type", "text"], type={"const": "text"}, text={"pattern": NOT_BLANK})
    image = an_object(["type"], type=choice(*schema.pop("images")))
    most = f"At most {limits.max_message_chars} characters and {limits.max_images} images in all."
    return {**schema, "minItems": 1, "contains": {"anyOf": [said, image]}, "description": most}
