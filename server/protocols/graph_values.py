"""What any body may give the graph beside a message, each a JSON object: `context`, `configurable`,
`input`."""

from collections.abc import Mapping
from typing import Any

from server.protocols.fields import BodyLimits, mapping, plain_json
from server.turns.requests import GraphValues

VALUES = ("context", "configurable", "input")


def graph_values(body: Mapping[str, Any], limits: BodyLimits) -> GraphValues:
    """Raises InvalidRequest."""
    given = {
        name: mapping(plain_json(body[name], name, limits), name)
        for name in VALUES
        if body.get(name) is not None
    }
    return GraphValues(**given)
