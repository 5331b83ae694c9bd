"""AI SDK: the body that `useChat` (ai 6.0.326) posts.

It has the whole history. Only its end is read, the server has the rest: a user's message, which is
new, or an edit if `messageId` is given; or the assistant's, which the client has added the outputs
of calls to. All outputs of that message come again each time, also those that the server has.
Ignored: `system`, `config`, `callSettings`, `metadata`, and what else an app adds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from server.protocols.content import (
    PartReader,
    image_url,
    read_parts,
    text_part,
    unsupported,
)
from server.protocols.fields import (
    BodyLimits,
    held_message_id,
    mapping,
    message_id,
    sequence,
    shown,
    string,
    thread_id,
)
from server.protocols.format import Parsed
from server.protocols.tool_fields import tool_answer, tools_from_object
from server.turns.requests import (
    Branch,
    ImageContent,
    InvalidRequest,
    ToolAnswer,
    TurnRequest,
    UserContent,
    UserMessage,
)

_OUTPUTS = {"output-available": ("output", False), "output-error": ("errorText", True)}
"""The state of an answered call: where its answer is, and whether it is an error."""


def recognises(body: Mapping[str, Any]) -> bool:
    return isinstance(body.get("messages"), list) and "trigger" in body


def parse(body: Mapping[str, Any], limits: BodyLimits) -> Parsed:
    chat_id = body.get("id")
    return Parsed(
        TurnRequest(
            thread_id=None if chat_id is None else thread_id(chat_id),
            client_tools=tools_from_object(body.get("tools"), limits),
            **_turn(body, limits),
        )
    )


def _turn(body: Mapping[str, Any], limits: BodyLimits) -> dict[str, Any]:
    """The fields of the TurnRequest that say what is to be done."""
    trigger = body["trigger"]
    messages: Sequence[Any] = body["messages"]
    cut = body.get("messageId")
    cut = None if cut is None else held_message_id(cut, "messageId")
    if trigger == "regenerate-message":
        return (
            _regenerate(messages, limits) if cut is None else {"branch": Branch("regenerate", cut)}
        )
    if trigger != "submit-message":
        raise InvalidRequest(
            "invalid_trigger",
            f"trigger is {shown(trigger)}: send 'submit-message' or 'regenerate-message'.",
        )
    where = f"messages[{len(messages) - 1}]"
    match _last(messages):
        case {"role": "user"} as message:
            branch = None if cut is None else Branch("edit", cut)
            return {"message": _message(message, where, limits), "branch": branch}
        case {"role": "assistant"} as message:
            answers = _answers(message, where, limits)
            return {"answers": answers, "answers_are_copies": True}
        case message:
            raise InvalidRequest(
                "invalid_body",
                f"{where}.role is {shown(message.get('role'))}: end with a user's or an "
                "assistant's message.",
            )


def _last(messages: Sequence[Any]) -> Mapping[str, Any]:
    if not messages:
        raise InvalidRequest("empty_message", "messages is empty: send the user's message.")
    return mapping(messages[-1], f"messages[{len(messages) - 1}]")


def _regenerate(messages: Sequence[Any], limits: BodyLimits) -> dict[str, Any]:
    """`regenerate()` names no message: it leaves the question last, and that one is meant, not
    whatever the server has answered last. It is also how an app tries again when its post has
    failed; then the question comes here for the first time."""
    match messages:
        case [*_, {"role": "user", "id": str() as last} as question]:
            where = f"messages[{len(messages) - 1}]"
            branch = Branch("regenerate", held_message_id(last, f"{where}.id"))
            return {"branch": branch, "message": _message(question, where, limits)}
    return {"branch": Branch("regenerate", None)}


def _message(message: Mapping[str, Any], where: str, limits: BodyLimits) -> UserMessage:
    own_id = message.get("id")
    return UserMessage(
        read_parts(message.get("parts"), f"{where}.parts", _PARTS, limits),
        id=None if own_id is None else message_id(own_id, f"{where}.id"),
    )


def _file_part(part: Mapping[str, Any], where: str) -> UserContent:
    media_type = string(part.get("mediaType"), f"{where}.mediaType")
    if not media_type.startswith("image/"):
        raise unsupported(f"file ({media_type})", where, ("text", "file (image/...)"))
    return ImageContent(image_url(part.get("url"), f"{where}.url"))


_PARTS: Mapping[str, PartReader] = {"text": text_part, "file": _file_part}


def _answers(message: Mapping[str, Any], where: str, limits: BodyLimits) -> tuple[ToolAnswer, ...]:
    parts = enumerate(sequence(message.get("parts"), f"{where}.parts"))
    return tuple(
        _answer(part, f"{where}.parts[{index}]", limits)
        for index, part in parts
        if _is_answered_call(mapping(part, f"{where}.parts[{index}]"))
    )


def _is_answered_call(part: Mapping[str, Any]) -> bool:
    kind = str(part.get("type"))
    return (
        (kind.startswith("tool-") or kind == "dynamic-tool")
        and part.get("providerExecuted") is not True
        and part.get("state") in _OUTPUTS
    )


def _answer(part: Mapping[str, Any], where: str, limits: BodyLimits) -> ToolAnswer:
    key, is_error = _OUTPUTS[part["state"]]
    return tool_answer(part.get("toolCallId"), part.get(key), is_error, where, limits)
