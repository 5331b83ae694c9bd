"""JSON Schemas of what `turnstream.server.formats.metadata` writes, and the forms of answers."""

from collections.abc import Mapping
from typing import Any, get_args

from turnstream.server.formats.body_schemas import Schema, choice, closed_object
from turnstream.server.turns.terms import EndReason

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
OBJECT: Schema = {"type": "object"}


def record(optional: Mapping[str, Schema] | None = None, /, **required: Schema | str) -> Schema:
    """Describe an object with these keys and no others. A string is the only value of its key."""
    fixed = {key: {"const": one} if isinstance(one, str) else one for key, one in required.items()}
    return closed_object([*required], **fixed, **(optional or {}))


def list_of(items: Schema, **bounds: Any) -> Schema:
    return {"type": "array", "items": items, **bounds}


def described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def any_of(*choices: Schema) -> Schema:
    return {"anyOf": [*choices]}


USAGE = record(
    {"cachedInputTokens": COUNT, "reasoningTokens": COUNT}, inputTokens=COUNT, outputTokens=COUNT
)
TIMING = record(
    firstTokenMs=COUNT, modelMs=COUNT, toolMs={"type": "object", "additionalProperties": COUNT}
)
ENDED = record({"limit": TEXT, "value": {"type": "number"}}, reason=choice(*get_args(EndReason)))
ERROR = record({"id": TEXT}, code=TEXT, message=TEXT)
OF_ANY_TURN = {
    "version": described(TEXT, "The version that is shown."),
    "versions": described(
        list_of(TEXT, minItems=2),
        "Of a message that has several, in the order in which they were made.",
    ),
    "removed": described(
        {"const": True}, "The graph has removed the message from what its model gets."
    ),
}
SUMS = {"usage": USAGE, "timing": TIMING}
END = {"ended": ENDED, "error": ERROR, **OF_ANY_TURN}
_DECIDED = {"approved": {"type": "boolean"}, "by": TEXT, "reason": TEXT, "args": OBJECT}
APPROVAL = record({"mayHaveRun": {"const": True}, **_DECIDED}, id=TEXT)
INTERRUPT = record(
    {
        "value": {},
        "namespace": list_of(TEXT),
        "response_schema": OBJECT,
        "approvals": list_of(record(tool_call_id=TEXT, approval=APPROVAL)),
        "tool_call_id": TEXT,
    },
    id=TEXT,
    node=TEXT,
)
