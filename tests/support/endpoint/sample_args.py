"""Arguments that fit a tool's JSON Schema, the same every time."""

from collections.abc import Mapping
from typing import Any

BY_NAME = {"expression": "1+1"}
BY_TYPE: dict[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "null": None,
}


def sample(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, name: str = "") -> Any:
    """A value that fits; of an object, its required properties only.

    Reads `$ref` (into `root`), `const`, `enum`, `default`, `anyOf`, `oneOf`, `minimum`, `minItems`
    and `type`, which is enough for the tools of a catalogue.
    """
    root = root or schema
    if "$ref" in schema:
        return sample(_referred(schema["$ref"], root), root, name)
    for choices in ("anyOf", "oneOf", "allOf"):
        if choices in schema:
            return sample(schema[choices][0], root, name)
    for known in ("const", "default"):
        if known in schema:
            return schema[known]
    return schema["enum"][0] if "enum" in schema else _of_type(schema, root, name)


def _of_type(schema: Mapping[str, Any], root: Mapping[str, Any], name: str) -> Any:
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties", {})
        return {key: sample(properties[key], root, key) for key in schema.get("required", ())}
    if kind == "array":
        return [sample(schema.get("items", {}), root, name)] * schema.get("minItems", 0)
    if kind == "string":
        return BY_NAME.get(name, BY_TYPE[kind])
    return schema.get("minimum", BY_TYPE[kind])


def _referred(ref: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = root
    for key in ref.removeprefix("#/").split("/"):
        found = found[key]
    return dict(found)
