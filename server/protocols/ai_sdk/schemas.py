"""JSON Schemas: the body that `useChat` posts, and `UIMessage[]` of a loaded thread."""

from turnstream.server.protocols.body_schemas import (
    IMAGE_ALT,
    IMAGE_URL,
    MESSAGE_ID,
    NEW_MESSAGE_ID,
    THREAD_ID,
    Schema,
    Served,
    an_object,
    choice,
    closed_object,
    content,
    every_body,
    nullable,
    ref,
    text_part,
    tools_by_name,
)
from turnstream.server.protocols.fields import BodyLimits
from turnstream.server.protocols.metadata_schemas import ENDED, ERROR, TIMING, USAGE, VERSIONS

_TEXT = {"type": "string"}
_STATES = (
    *("input-streaming", "input-available", "approval-requested", "approval-responded"),
    *("output-available", "output-error", "output-denied"),
)


def body(served: Served) -> dict[str, Schema]:
    """By name. A body has the whole history, and only the last of `messages` is read: that it is
    one of these, a schema cannot say."""
    history: Schema = {
        "type": "array",
        "description": "The thread as the client has it. Only the last message is read.",
    }
    shared = {
        # A body with a list of commands is assistant-ui's.
        "commands": {"not": {"type": "array"}},
        "id": {**nullable(THREAD_ID), "description": "The thread's id."},
        "messageId": nullable(MESSAGE_ID),
        "tools": tools_by_name(served.limits),
        "resume": {},
        **every_body(served),
    }
    return {
        "SubmitBody": an_object(
            ["messages", "trigger"],
            trigger={"const": "submit-message"},
            messages={**history, "minItems": 1, "contains": ref("LastMessage")},
            **shared,
        ),
        "RegenerateMessageBody": an_object(
            ["messages", "trigger"],
            trigger={"const": "regenerate-message"},
            messages=history,
            **shared,
        ),
    }


def parts(limits: BodyLimits) -> dict[str, Schema]:
    """What these bodies are made of, by name."""
    image = an_object(
        ["type", "mediaType", "url"],
        type={"const": "file"},
        mediaType={"type": "string", "pattern": "^image/"},
        url=IMAGE_URL,
        filename=IMAGE_ALT,
    )
    user = an_object(
        ["role", "parts"],
        role={"const": "user"},
        id=nullable(NEW_MESSAGE_ID),
        parts=content([text_part(limits), image], ("file",), limits),
    )
    read = ("toolCallId", "state", "output", "errorText", "approval", "providerExecuted")
    kind: Schema = {"type": "string", "pattern": "^(tool-.*|dynamic-tool)$"}
    call = an_object(["type", "state"], type=kind, **{key: {} for key in read})
    answered = an_object(
        ["role", "parts"],
        role={"const": "assistant"},
        parts={
            "type": "array",
            "items": {"anyOf": [call, {"type": "object"}]},
            "description": "The outputs of calls, and decisions on calls that wait for an "
            "approval, are taken from its tool parts.",
        },
    )
    return {"LastMessage": {"anyOf": [user, answered]}}


def message() -> Schema:
    """A message of a loaded thread; see `snapshot.py`."""
    text = closed_object(["type", "text"], type={"const": "text"}, text=_TEXT)
    file = closed_object(
        ["type", "mediaType", "url"],
        type={"const": "file"},
        mediaType=_TEXT,
        filename=_TEXT,
        url=_TEXT,
    )
    user = closed_object(
        ["id", "role", "parts"],
        id=_TEXT,
        role={"const": "user"},
        parts={"type": "array", "items": {"anyOf": [text, file]}},
        metadata=closed_object((), **VERSIONS),
    )
    metadata = closed_object((), usage=USAGE, timing=TIMING, ended=ENDED, error=ERROR, **VERSIONS)
    assistant = closed_object(
        ["id", "role", "parts"],
        id=_TEXT,
        role={"const": "assistant"},
        parts={"type": "array", "items": {"anyOf": _parts()}},
        metadata=metadata,
    )
    return {"anyOf": [user, assistant]}


def _parts() -> list[Schema]:
    done: Schema = {"const": "done"}
    tool = closed_object(
        ["type", "toolCallId", "state"],
        type={"type": "string", "pattern": "^tool-"},
        toolCallId=_TEXT,
        state=choice(*_STATES),
        input={"type": "object"},
        rawInput=_TEXT,
        output={},
        errorText=_TEXT,
        providerExecuted={"const": True},
        approval=closed_object(["id"], id=_TEXT, approved={"type": "boolean"}, reason=_TEXT),
    )
    return [
        closed_object(["type"], type={"const": "step-start"}),
        closed_object(["type", "text", "state"], type={"const": "text"}, text=_TEXT, state=done),
        closed_object(
            ["type", "id", "text", "state"],
            type={"const": "reasoning"},
            id=_TEXT,
            text=_TEXT,
            state=done,
        ),
        tool,
    ]
