"""JSON Schemas of what `turnstream.server.formats.metadata` writes."""

from typing import get_args

from turnstream.server.formats.body_schemas import Schema, choice, closed_object
from turnstream.server.turns.terms import EndReason

_COUNT: Schema = {"type": "integer", "minimum": 0}
_TEXT: Schema = {"type": "string"}

USAGE = closed_object(
    ["inputTokens", "outputTokens"],
    inputTokens=_COUNT,
    outputTokens=_COUNT,
    cachedInputTokens=_COUNT,
    reasoningTokens=_COUNT,
)
TIMING = closed_object(
    ["firstTokenMs", "modelMs", "toolMs"],
    firstTokenMs=_COUNT,
    modelMs=_COUNT,
    toolMs={"type": "object", "additionalProperties": _COUNT},
)
ENDED = closed_object(
    ["reason"],
    reason=choice(*get_args(EndReason)),
    limit=_TEXT,
    value={"type": "number"},
)
ERROR = closed_object(["code", "message"], code=_TEXT, message=_TEXT, id=_TEXT)
VERSIONS = {
    "version": {**_TEXT, "description": "The version that is shown."},
    "versions": {
        "type": "array",
        "items": _TEXT,
        "minItems": 2,
        "description": "Of a message that has several, in the order in which they were made.",
    },
}
APPROVAL = closed_object(
    ["id"],
    id=_TEXT,
    mayHaveRun={"const": True},
    approved={"type": "boolean"},
    by=_TEXT,
    reason=_TEXT,
    args={"type": "object"},
)
INTERRUPT = closed_object(
    ["id", "node"],
    id=_TEXT,
    value={},
    node=_TEXT,
    namespace={"type": "array", "items": _TEXT},
    response_schema={"type": "object"},
    approvals={
        "type": "array",
        "items": closed_object(["tool_call_id", "approval"], tool_call_id=_TEXT, approval=APPROVAL),
    },
)
