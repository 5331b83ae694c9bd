"""What any body may give the graph beside a message, each a JSON object: `context`, `configurable`,
`input`."""

from collections.abc import Mapping
from typing import Any

from server.protocols.fields import BodyLimits, mapping, plain_json
from server.turns.requests import GraphValues, InvalidRequest
from tools import strict_json

VALUES = ("context", "configurable", "input")


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
