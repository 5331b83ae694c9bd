"""JSON Schemas: the body that `useChat` posts, and `UIMessage[]` of a loaded thread."""

from collections.abc import MutableMapping

from turnstream.server.formats import metadata_schemas as meta
from turnstream.server.formats.ai_sdk.body import AiSdkBody, LastAssistantMessage, LastUserMessage
from turnstream.server.formats.body_schemas import (
    NOTHING,
    Schema,
    choice,
    ref,
    refused,
    some,
    variant,
)
from turnstream.server.formats.fields import keys
from turnstream.server.formats.metadata_schemas import OBJECT, TEXT, any_of, list_of, record

MODELS = (AiSdkBody, LastUserMessage, LastAssistantMessage)


def bodies(found: MutableMapping[str, Schema]) -> dict[str, Schema]:
    """By name. Only the last of `messages` is read: that it is a `LastMessage`, a schema cannot
    say."""
    found["LastMessage"] = any_of(ref("LastUserMessage"), ref("LastAssistantMessage"))
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


_STATES = (
    *("input-streaming", "input-available", "approval-requested", "approval-responded"),
    *("output-available", "output-error", "output-denied"),
)
_TOOL = record(
    {
        "input": OBJECT,
        "rawInput": TEXT,
        "output": {},
        "errorText": TEXT,
        "providerExecuted": {"const": True},
        "approval": record({"approved": {"type": "boolean"}, "reason": TEXT}, id=TEXT),
    },
    type={"type": "string", "pattern": "^tool-"},
    toolCallId=TEXT,
    state=choice(*_STATES),
)
_PARTS = (
    record(type="step-start"),
    record(type="text", text=TEXT, state="done"),
    record(type="reasoning", id=TEXT, text=TEXT, state="done"),
    _TOOL,
)
_FILE = record({"filename": TEXT}, type="file", mediaType=TEXT, url=TEXT)
_SUMS: dict[str, Schema] = {"usage": meta.USAGE, "timing": meta.TIMING}
_END: dict[str, Schema] = {"ended": meta.ENDED, "error": meta.ERROR, **meta.VERSIONS}


def components() -> dict[str, Schema]:
    """The schema of a message of a loaded thread, by name; see `stream.py`."""
    message = any_of(
        record(
            {"metadata": record(meta.VERSIONS)},
            id=TEXT,
            role="user",
            parts=list_of(any_of(record(type="text", text=TEXT), _FILE)),
        ),
        record(
            {"metadata": record({**_SUMS, **_END})},
            id=TEXT,
            role="assistant",
            parts=list_of(any_of(*_PARTS)),
        ),
    )
    return {"Message.ui-message-stream": message}
