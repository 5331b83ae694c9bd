"""AI SDK: the body that `useChat` (ai 6.0.326, 7.0.173) posts, or an app in its place.

A body has the whole history in `messages`, or its end alone in `message`, as the app of
`prepareSendMessagesRequest` in the SDK's documentation has it; without `trigger` it submits. Only
the end is read, the server has the rest: a user's message, which is new, or an edit if `messageId`
is given; or the assistant's, which the client has added the outputs of calls to, and decisions on
calls that ask for an approval. All of that message come again each time, also those that the server
has. A `data-*` part of a user's message has no effect.
"""

from collections.abc import Mapping, MutableMapping
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from turnstream.server.formats import (
    app_context,
    body_schemas,
    content,
    fields,
    graph_values,
    tool_fields,
)
from turnstream.server.formats import metadata_schemas as meta
from turnstream.server.formats.body_schemas import NOTHING, Schema, choice, ref, some, variant
from turnstream.server.formats.fields import BodyLimits, CamelFields, read, shown, without_effect
from turnstream.server.formats.format import Parsed
from turnstream.server.formats.metadata_schemas import OBJECT, TEXT, any_of, list_of, record
from turnstream.server.turns import requests
from turnstream.server.turns.requests import ApprovalAnswer, Branch, InvalidRequest, ToolAnswer

_REMEDIES = {"client_tools": "send tools, by name"}
_OUTPUTS = ("output-available", "output-error")


class _File(CamelFields):
    kind: content.FileType = Field(alias="mediaType")


class FilePart(content.LinkedImage, _File):
    type: Literal["file"]
    alt: content.Alt = Field(None, alias="filename")


class DataPart(CamelFields):
    type: Annotated[
        Literal["data-*"],
        BeforeValidator(lambda _kind: "data-*"),
        WithJsonSchema({"type": "string", "pattern": "^data-"}),
    ]

    @property
    def content(self) -> None:
        return None


def _tag(part: Any) -> str | None:
    kind = fields.own_type(part)
    return "data-*" if kind and kind.startswith("data-") else kind


class LastUserMessage(CamelFields):
    role: Literal["user"]
    id: fields.NewMessageId | None = None
    parts: Annotated[content.Content, content.Said(content.TextPart, FilePart, DataPart, tag=_tag)]


class Output(CamelFields):
    state: Literal["output-available", "output-error"]
    tool_call_id: tool_fields.CallId
    output: fields.Json = None
    error_text: fields.Json = None

    @property
    def answer(self) -> ToolAnswer:
        is_error = self.state == "output-error"
        return ToolAnswer(self.tool_call_id, self.error_text if is_error else self.output, is_error)


class UiApproval(tool_fields.Decision):
    id: fields.Text | None = None


class DecidedCall(CamelFields):
    state: Literal["approval-responded"]
    tool_call_id: fields.Text
    approval: UiApproval

    @property
    def answer(self) -> ApprovalAnswer:
        return self.approval.on(self.tool_call_id, self.approval.id)


class LastAssistantMessage(CamelFields):
    role: Literal["assistant"]
    parts: Annotated[list[dict[str, Any]], fields.FirstFault()] = Field(
        description="The outputs of calls, and decisions on calls that wait for an approval, are "
        "taken from its tool parts."
    )


class AiSdkBody(graph_values.OfGraph):
    id: fields.ThreadId | None = Field(None, description="The thread's id.")
    thread_id: fields.ThreadId | None = Field(None, description="The same, if it is there.")
    messages: list[Any] | None = Field(
        None, description="The thread as the client has it. Only the last message is read."
    )
    message: dict[str, Any] | None = Field(None, description="The last message alone.")
    trigger: (
        Annotated[
            Literal["submit-message", "regenerate-message"], fields.Otherwise("invalid_trigger")
        ]
        | None
    ) = None
    message_id: fields.HeldMessageId | None = Field(None, alias="messageId")
    tools: tool_fields.ToolsByName | None = None
    system: Any = Field(None, description="A text of the app for the model.")


def parse(body: Mapping[str, Any], limits: BodyLimits) -> Parsed:
    asked = read(AiSdkBody, body, limits)
    graph_values.refuse_native(body, fields.keys(AiSdkBody), _REMEDIES)
    if asked.message and asked.messages is not None:
        raise InvalidRequest(
            "conflicting_actions", "The body has message and messages: send one of them."
        )
    end: Any = asked.message
    where = "message"
    if asked.messages is not None:
        end, where = (asked.messages or [None])[-1], f"messages[{len(asked.messages) - 1}]"
    said = chain(app_context.of_text(asked.system), app_context.of_messages(asked.messages))
    texts, passed_over = app_context.taken(said, limits)
    turn = asked.request(
        has_history=True,
        thread_id=graph_values.one_thread(asked.id, asked.thread_id),
        client_tools=tool_fields.named_tools(asked.tools),
        app_context=texts,
        **_turn(asked, end, where, limits),
    )
    ignored = [*without_effect(body, AiSdkBody), *passed_over]
    match end:
        case {"role": "user", "parts": list(parts)}:
            ignored += without_effect(end, LastUserMessage, "messages.")
            ignored += {f"messages.parts.{one['type']}" for one in parts if _tag(one) == "data-*"}
    return Parsed(turn, ignored=ignored)


def _turn(asked: AiSdkBody, end: Any, where: str, limits: BodyLimits) -> dict[str, Any]:
    """The fields of the TurnRequest that say what is to be done."""
    cut = asked.message_id
    match asked.trigger, end:
        case "regenerate-message", _ if cut is not None:
            return {"branch": Branch("regenerate", cut)}
        case "regenerate-message", {"role": "user", "id": str()}:
            # `regenerate()` names no message: it leaves the question last, and that one is meant,
            # not whatever the server has answered last. It is also how an app tries again when its
            # post has failed; then the question comes here for the first time.
            message = _message(end, where, limits)
            return {"message": message, "branch": Branch("regenerate", message.id)}
        case "regenerate-message", _:
            return {"branch": Branch("regenerate", None)}
        case _, {"role": "user"}:
            branch = None if cut is None else Branch("edit", cut)
            return {"message": _message(end, where, limits), "branch": branch}
        case _, {"role": "assistant"}:
            return _answers(end, where, limits)
    if asked.messages == []:
        raise InvalidRequest("empty_message", "messages is empty: send the user's message.")
    role = shown(fields.an_object(end, where).get("role"))
    remedy = "end with a user's or an assistant's message"
    raise InvalidRequest("invalid_body", f"{where}.role is {role}: {remedy}.")


def _message(end: Any, where: str, limits: BodyLimits) -> requests.UserMessage:
    message = read(LastUserMessage, end, limits, where)
    return requests.UserMessage(message.parts, message.id)


def _answers(end: Any, where: str, limits: BodyLimits) -> dict[str, Any]:
    answers: list[ToolAnswer] = []
    decisions: dict[str, ApprovalAnswer] = {}
    for place, part in enumerate(read(LastAssistantMessage, end, limits, where).parts):
        kind, state, named = str(part.get("type")), part.get("state"), f"{where}.parts[{place}]"
        if not kind.startswith("tool-") and kind != "dynamic-tool":
            continue
        if state in _OUTPUTS and part.get("providerExecuted") is not True:
            answers.append(read(Output, part, limits, named).answer)
        elif state == "approval-responded":
            decision = read(DecidedCall, part, limits, named).answer
            # The client may keep both parts of a call that was emitted again.
            decisions[decision.tool_call_id] = decision
    return {
        "answers": tuple(answers),
        "approvals": tuple(decisions.values()),
        "answers_are_copies": True,
    }


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
    asked = variant(whole, [key, *required], **own, **body_schemas.refused(fields.keys(AiSdkBody)))
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
    record(type="file", url=TEXT, mediaType=TEXT),
    record({"title": TEXT}, type="source-url", sourceId=TEXT, url=TEXT),
)
_FILE = record({"filename": TEXT}, type="file", mediaType=TEXT, url=TEXT)


def components() -> dict[str, Schema]:
    """The schema of a message of a loaded thread, by name; see `stream.py`."""
    message = any_of(
        record(
            {"metadata": record(meta.OF_ANY_TURN)},
            id=TEXT,
            role="user",
            parts=list_of(any_of(record(type="text", text=TEXT), _FILE)),
        ),
        record(
            {"metadata": record({**meta.SUMS, **meta.END})},
            id=TEXT,
            role="assistant",
            parts=list_of(any_of(*_PARTS)),
        ),
    )
    return {"Message.ui-message-stream": message}
