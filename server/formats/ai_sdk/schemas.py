"""JSON Schemas: the body that `useChat` posts, and `UIMessage[]` of a loaded thread."""

from collections.abc import MutableMapping

from turnstream.server.formats.ai_sdk.body import (
    AiSdkBody,
    LastAssistantMessage,
    LastUserMessage,
)
from turnstream.server.formats.body_schemas import (
    NOTHING,
    Schema,
    choice,
    closed_object,
    ref,
    refused,
    some,
    variant,
)
from turnstream.server.formats.fields import keys
from turnstream.server.formats.metadata_schemas import ENDED, ERROR, TIMING, USAGE, VERSIONS

MODELS = (AiSdkBody, LastUserMessage, LastAssistantMessage)
_TEXT = {"type": "string"}
_STATES = (
    *("input-streaming", "input-available", "approval-requested", "approval-responded"),
    *("output-available", "output-error", "output-denied"),
)


def bodies(found: MutableMapping[str, Schema]) -> dict[str, Schema]:
    """By name. Only the last of `messages` is read: that it is a `LastMessage`, a schema cannot
    say."""
    found["LastMessage"] = {
        "anyOf": [ref(model.__name__) for model in (LastUserMessage, LastAssistantMessage)]
    }
    whole = found.pop(AiSdkBody.__name__)
    history, one = (some(whole["properties"][key]) for key in ("messages", "message"))
    submits, again = choice("submit-message", None), choice("regenerate-message")
    last = {"contains": ref("LastMessage")}
    return {
        "SubmitBody": _asks(whole, "messages", {**history, "minItems": 1, **last}, submits),
        "SubmitMessageBody": _asks(whole, "message", ref("LastMessage"), submits),
        "RegenerateMessageBody": _asks(whole, "messages", history, again, "trigger"),
        "RegenerateLastBody": _asks(
            whole, "message", {**one, "required": ["role"]}, again, "trigger"
        ),
    }


def _asks(whole: Schema, key: str, said: Schema, trigger: Schema, *required: str) -> Schema:
    """A body whose history, or its end, stands in `key`."""
    other = "message" if key == "messages" else "messages"
    # A body with a list of commands is assistant-ui's.
    own = {key: said, other: NOTHING, "trigger": trigger, "commands": {"not": {"type": "array"}}}
    has_own_key = [{"required": ["id"]}, {"required": ["trigger"]}]
    asked = variant(whole, [key, *required], **own, **refused(keys(AiSdkBody)))
    return {**asked, "anyOf": has_own_key}


def components() -> dict[str, Schema]:
    """The schemas of answers, by name."""
    return {"Message.ui-message-stream": _of_message()}


def _of_message() -> Schema:
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
