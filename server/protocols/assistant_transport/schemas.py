"""JSON Schemas: the body that assistant-ui posts, and the messages of a loaded thread."""

from typing import get_args

from turnstream.server.protocols.body_schemas import (
    CALL_ID,
    IMAGE_PART,
    MESSAGE_ID,
    NOTHING,
    Schema,
    Served,
    an_object,
    choice,
    closed_object,
    content,
    decision,
    every_body,
    nullable,
    ref,
    text_part,
    tools_by_name,
)
from turnstream.server.protocols.fields import BodyLimits
from turnstream.server.protocols.metadata_schemas import (
    APPROVAL,
    ENDED,
    ERROR,
    TIMING,
    USAGE,
    VERSIONS,
)
from turnstream.server.turns.terms import Disposition, End, FinishReason

_TEXT = {"type": "string"}


def body(served: Served) -> dict[str, Schema]:
    """By name: without commands a body asks for the thread's live run, or brings `resume`."""
    commands: Schema = {"type": "array", "items": ref("Command")}
    none: Schema = {"type": "array", "maxItems": 0}
    read = {"tools": tools_by_name(served.limits), "state": {"type": ["object", "null"]}}
    shared = {**read, **every_body(served)}
    return {
        "CommandsBody": an_object(
            ["commands"], commands={**commands, "minItems": 1}, resume=NOTHING, **shared
        ),
        "CommandsResumeBody": an_object(
            ["commands", "resume"], commands=none, resume={"not": NOTHING}, **shared
        ),
        "AttachBody": an_object(["commands"], commands=none, resume=NOTHING, **read),
    }


def parts(limits: BodyLimits) -> dict[str, Schema]:
    """What these bodies are made of, by name."""
    message = an_object(
        ["role", "parts"],
        role={"const": "user"},
        parts=content([text_part(limits), IMAGE_PART], ("image",), limits),
    )
    return {
        "Command": {
            "anyOf": [
                an_object(
                    ["type", "message"],
                    type={"const": "add-message"},
                    message=message,
                    sourceId=nullable(MESSAGE_ID),
                ),
                an_object(
                    ["type", "toolCallId"],
                    type={"const": "add-tool-result"},
                    toolCallId=CALL_ID,
                    result={},
                    isError={"type": ["boolean", "null"]},
                ),
                an_object(
                    ["type", "toolCallId", "approved"],
                    type={"const": "tool-approval"},
                    toolCallId={"type": "string"},
                    approvalId={"type": ["string", "null"]},
                    **decision(limits),
                ),
            ]
        }
    }


def message() -> Schema:
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
