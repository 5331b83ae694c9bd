"""JSON Schemas: the body that assistant-ui posts, and the messages of a loaded thread."""

from collections.abc import MutableMapping
from typing import get_args

from turnstream.server.formats.assistant_transport.body import CommandsBody
from turnstream.server.formats.body_schemas import (
    NOTHING,
    Schema,
    choice,
    closed_object,
    nullable,
    refused,
    variant,
)
from turnstream.server.formats.fields import keys
from turnstream.server.formats.metadata_schemas import (
    APPROVAL,
    ENDED,
    ERROR,
    TIMING,
    USAGE,
    VERSIONS,
)
from turnstream.server.turns.terms import Disposition, End, FinishReason

MODELS = (CommandsBody,)
_TEXT = {"type": "string"}


def bodies(found: MutableMapping[str, Schema]) -> dict[str, Schema]:
    """By name: without commands a body asks for the thread's live run, or brings `resume`."""
    whole = variant(found.pop(CommandsBody.__name__), (), **refused(keys(CommandsBody)))
    commands = whole["properties"]["commands"]
    none: Schema = {"type": "array", "maxItems": 0}
    answers: Schema = {"not": NOTHING}
    # The names in a body that begins no run are not looked up.
    names = dict.fromkeys(("graph", "model"), nullable(_TEXT))
    values = dict.fromkeys(("context", "configurable", "input"), nullable({"type": "object"}))
    return {
        "CommandsBody": variant(whole, (), commands={**commands, "minItems": 1}, resume=NOTHING),
        "CommandsResumeBody": variant(whole, ["resume"], commands=none, resume=answers),
        "AttachBody": variant(whole, (), commands=none, resume=NOTHING, **names, **values),
    }


def components() -> dict[str, Schema]:
    """The schemas of answers, by name."""
    return {"Message.assistant-transport": _of_message()}


def _of_message() -> Schema:
    """A message of a loaded thread; see `snapshot.py`."""
    text = closed_object(["type", "text"], type={"const": "text"}, text=_TEXT)
    image = closed_object(["type", "image"], type={"const": "image"}, image=_TEXT, alt=_TEXT)
    reasoning = closed_object(["type", "text"], type={"const": "reasoning"}, text=_TEXT)
    user = closed_object(
        ["id", "role", "parts"],
        id=_TEXT,
        role={"const": "user"},
        parts={"type": "array", "items": {"anyOf": [text, image]}},
        **VERSIONS,
        createdAt={**_TEXT, "format": "date-time"},
    )
    assistant = closed_object(
        ["id", "role", "parts", "steps"],
        id=_TEXT,
        role={"const": "assistant"},
        parts={"type": "array", "items": {"anyOf": [text, reasoning, _tool_call()]}},
        steps={"type": "array", "items": _step()},
        finishReason=choice(*get_args(FinishReason)),
        usage=USAGE,
        timing=TIMING,
        ended=ENDED,
        error=ERROR,
        **VERSIONS,
    )
    return {"anyOf": [user, assistant]}


def _tool_call() -> Schema:
    return closed_object(
        ["type", "toolCallId", "toolName", "argsText", "args", "state", "disposition"],
        type={"const": "tool-call"},
        toolCallId=_TEXT,
        toolName=_TEXT,
        argsText=_TEXT,
        args={"type": "object"},
        state=choice("pending", *get_args(End)),
        disposition=choice(*get_args(Disposition)),
        approval=APPROVAL,
        result={},
        isError={"type": "boolean"},
    )


def _step() -> Schema:
    return closed_object(
        ["stepId", "finishReason"],
        stepId=_TEXT,
        finishReason=nullable(choice(*get_args(FinishReason))),
        usage=USAGE,
        timing=TIMING,
    )
