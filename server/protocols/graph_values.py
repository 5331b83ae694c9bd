"""What any body may say of the graph: `graph`, the name of one, and what it gets beside a message,
each a JSON object: `context`, `configurable`, `input`."""

from collections.abc import Mapping
from typing import Any

from server.protocols.fields import BodyLimits, mapping, plain_json, string
from server.turns.requests import GraphValues, InvalidRequest
from tools import strict_json

VALUES = ("context", "configurable", "input")
KEYS = ("graph", *VALUES)


def graph_name(body: Mapping[str, Any]) -> str | None:
    """Raises InvalidRequest."""
    return None if body.get("graph") is None else string(body["graph"], "graph")


def graph_values(body: Mapping[str, Any], limits: BodyLimits) -> GraphValues:
    """Raises InvalidRequest."""
    given = {
        name: mapping(plain_json(body[name], name, limits), name)
        for name in VALUES
        if body.get(name) is not None
    }
    try:
        if "input" in given:
            given["input"] = strict_json.read_storable(strict_json.write(given["input"]))
    except ValueError as error:
        raise InvalidRequest(
            "invalid_json_value", f"input cannot be kept in the thread: {error}."
        ) from None
    return GraphValues(**given)
