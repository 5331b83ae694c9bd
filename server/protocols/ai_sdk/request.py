"""AI SDK: the body that `useChat` (ai 6.0.326, 7.0.173) posts.

It has the whole history. Only its end is read, the server has the rest: a user's message, which is
new, or an edit if `messageId` is given; or the assistant's, which the client has added the outputs
of calls to, and decisions on calls that ask for an approval. All of that message come again each
time, also those that the server has.
Ignored: `system`, `config`, `callSettings`, `metadata`, and what else an app adds.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnstream.server.protocols.content import (
    PartReader,
    image,
    read_parts,
    text_part,
    unsupported,
)
from turnstream.server.protocols.fields import (
    BodyLimits,
    held_message_id,
    mapping,
    message_id,
    sequence,
    shown,
    string,
    thread_id,
)
from turnstream.server.protocols.format import Parsed
from turnstream.server.protocols.tool_fields import approval_answer, tool_answer, tools_from_object
from turnstream.server.turns.requests import (
    ApprovalAnswer,
    Branch,
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
            return {
                "answers": _answers(message, where, limits),
                "approvals": _approvals(message, where, limits),
                "answers_are_copies": True,
            }
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
    return image(part.get("url"), f"{where}.url", part.get("filename"), f"{where}.filename")


_PARTS: Mapping[str, PartReader] = {"text": text_part, "file": _file_part}


def _answers(message: Mapping[str, Any], where: str, limits: BodyLimits) -> tuple[ToolAnswer, ...]:
    return tuple(
        _answer(part, named, limits)
        for part, named in _calls(message, where)
        if str(part.get("state")) in _OUTPUTS and part.get("providerExecuted") is not True
    )


def _approvals(
    message: Mapping[str, Any], where: str, limits: BodyLimits
) -> tuple[ApprovalAnswer, ...]:
    """One for each call: of a call that was told again the client may keep both parts."""
    answers = [
        _approval(part, named, limits)
        for part, named in _calls(message, where)
        if part.get("state") == "approval-responded"
    ]
    return tuple({answer.tool_call_id: answer for answer in answers}.values())


def _calls(message: Mapping[str, Any], where: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The message's tool calls, each with its name in an error's sentence."""
    for index, value in enumerate(sequence(message.get("parts"), f"{where}.parts")):
        named = f"{where}.parts[{index}]"
        part = mapping(value, named)
        kind = str(part.get("type"))
        if kind.startswith("tool-") or kind == "dynamic-tool":
            yield part, named


def _answer(part: Mapping[str, Any], where: str, limits: BodyLimits) -> ToolAnswer:
    key, is_error = _OUTPUTS[part["state"]]
    return tool_answer(part.get("toolCallId"), part.get(key), is_error, where, limits)


def _approval(part: Mapping[str, Any], where: str, limits: BodyLimits) -> ApprovalAnswer:
    approval = mapping(part.get("approval"), f"{where}.approval")
    decision = {key: approval.get(key) for key in ("approved", "reason")}
    return approval_answer(
        part.get("toolCallId"),
        decision,
        f"{where}.approval",
        limits,
        approval_id=approval.get("id"),
    )
