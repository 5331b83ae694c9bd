"""The JSON Schemas of a graph, as far as clients send and see it: the messages, and what they may
set or see beside them. The rest of its state is its author's own."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from turnstream.graphs.attached import AttachedGraph, Graph
from turnstream.server.runs.client_values import allowed_names

_REFERENCE = "#/$defs/"

Schema = dict[str, Any]


class GraphSchemas(TypedDict):
    """As LangGraph has them; None: there is none."""

    input_schema: Schema | None
    output_schema: Schema | None
    state_schema: Schema | None
    config_schema: Schema | None
    context_schema: Schema | None


def schemas(attached: AttachedGraph, allowed: Collection[str]) -> GraphSchemas:
    """Describe a graph, of which clients may set the `allowed` values."""
    return _schemas(attached, attached.graph, allowed)


def subgraphs(
    attached: AttachedGraph, allowed: Collection[str], namespace: str | None, *, recurse: bool
) -> Mapping[str, GraphSchemas]:
    """Describe the subgraphs of a graph by their names: all, or the one of this namespace;
    `recurse`: those inside of them too."""
    found = attached.graph.get_subgraphs(namespace=namespace, recurse=recurse)
    return {name: _schemas(attached, one, allowed) for name, one in found}


def _schemas(attached: AttachedGraph, graph: Any, allowed: Collection[str]) -> GraphSchemas:
    names = allowed_names(attached, allowed)
    seen = {"messages", *attached.client_state.names}
    context = _some(graph.get_context_jsonschema, names["context"])
    return {
        "input_schema": _some(graph.get_input_jsonschema, {"messages", *names["input"]}),
        "output_schema": _some(graph.get_output_jsonschema, seen),
        "state_schema": _some(lambda: _state(graph), seen),
        "config_schema": _config(names["configurable"], context),
        "context_schema": context,
    }


def _config(names: Collection[str], context: Schema | None) -> Schema | None:
    """The values of the config that clients may set; those that the context has are as there."""
    if not names:
        return None
    whole = context or {}
    known = whole.get("properties", {})
    config = {name: known.get(name, Schema()) for name in names}
    return {"type": "object", "properties": config} | _definitions(whole, config)


def _state(graph: Graph) -> Schema:
    return TypeAdapter(graph.builder.state_schema).json_schema()


def _some(make: Callable[[], Schema | None], names: Collection[str]) -> Schema | None:
    """Keep the properties of these names, and what they refer to."""
    try:
        whole = make()
    except Exception:  # noqa: BLE001  what the classes of an author raise
        return None
    if whole is None or not isinstance(whole.get("properties"), dict):
        return None
    kept = {name: one for name, one in whole["properties"].items() if name in names}
    some = {"type": "object", "properties": kept}
    required = [name for name in whole.get("required", ()) if name in kept]
    return some | ({"required": required} if required else {}) | _definitions(whole, kept)


def _definitions(whole: Schema, kept: Schema) -> Schema:
    all, due, used = whole.get("$defs", {}), [*_references(kept)], Schema()
    while due:
        name = due.pop()
        if name in all and name not in used:
            used[name] = all[name]
            due += _references(all[name])
    return {"$defs": used} if used else {}


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith(_REFERENCE):
            yield reference.removeprefix(_REFERENCE)
    parts = schema.values() if isinstance(schema, dict) else schema
    for part in parts if isinstance(schema, dict | list) else ():
        yield from _references(part)
