"""JSON Schemas: the body that assistant-ui posts, and the messages of a loaded thread."""

from collections.abc import MutableMapping
from typing import get_args

from turnstream.server.formats import metadata_schemas as meta
from turnstream.server.formats.assistant_transport.body import CommandsBody
from turnstream.server.formats.body_schemas import (
    NOTHING,
    Schema,
    choice,
    nullable,
    refused,
    variant,
)
from turnstream.server.formats.fields import keys
from turnstream.server.formats.metadata_schemas import OBJECT, TEXT, any_of, list_of, record
from turnstream.server.turns.terms import Disposition, End, FinishReason

MODELS = (CommandsBody,)


def bodies(found: MutableMapping[str, Schema]) -> dict[str, Schema]:
    """By name: without commands a body asks for the thread's live run, or brings `resume`."""
    whole = variant(found.pop(CommandsBody.__name__), (), **refused(keys(CommandsBody)))
    commands = whole["properties"]["commands"]
    none: Schema = {"type": "array", "maxItems": 0}
    answers: Schema = {"not": NOTHING}
    # The names in a body that begins no run are not looked up.
    names = dict.fromkeys(("graph", "model"), nullable(TEXT))
    values = dict.fromkeys(("context", "configurable", "input"), nullable(OBJECT))
    return {
        "CommandsBody": variant(whole, (), commands={**commands, "minItems": 1}, resume=NOTHING),
        "CommandsResumeBody": variant(whole, ["resume"], commands=none, resume=answers),
        "AttachBody": variant(whole, (), commands=none, resume=NOTHING, **names, **values),
    }


_TEXT = record(type="text", text=TEXT)
_REASONING = record(type="reasoning", text=TEXT)
_IMAGE = record({"alt": TEXT}, type="image", image=TEXT)
_CALL = record(
    {"approval": meta.APPROVAL, "result": {}, "isError": {"type": "boolean"}},
    type="tool-call",
    toolCallId=TEXT,
    toolName=TEXT,
    argsText=TEXT,
    args=OBJECT,
    state=choice("pending", *get_args(End)),
    disposition=choice(*get_args(Disposition)),
)
_REASON = choice(*get_args(FinishReason))
_SUMS: dict[str, Schema] = {"usage": meta.USAGE, "timing": meta.TIMING}
_END: dict[str, Schema] = {"ended": meta.ENDED, "error": meta.ERROR, **meta.VERSIONS}
_STEP = record(_SUMS, stepId=TEXT, finishReason=nullable(_REASON))


def components() -> dict[str, Schema]:
    """The schema of a message of a loaded thread, by name; see `stream.py`."""
    message = any_of(
        record(
            {**meta.VERSIONS, "createdAt": {**TEXT, "format": "date-time"}},
            id=TEXT,
            role="user",
            parts=list_of(any_of(_TEXT, _IMAGE)),
        ),
        record(
            {"finishReason": _REASON, **_SUMS, **_END},
            id=TEXT,
            role="assistant",
            parts=list_of(any_of(_TEXT, _REASONING, _CALL)),
            steps=list_of(_STEP),
        ),
    )
    return {"Message.assistant-transport": message}
