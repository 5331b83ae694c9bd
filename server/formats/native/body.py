"""The native body.

It does exactly one of its actions, but `tool_results` may go with `message` or with `approvals`,
and `input` may go alone: it runs the graph without a message. An unknown key is an error, since a
mistyped one would otherwise be ignored.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

from turnstream.server.formats import content, fields, graph_values, tool_fields
from turnstream.server.formats.body_schemas import NOTHING, Schema, choice, some, variant
from turnstream.server.formats.fields import BodyLimits, ClosedFields, Fault, Fields, read
from turnstream.server.formats.format import Parsed
from turnstream.server.turns.requests import Branch, TextContent, UserMessage

ACTIONS = ("message", "tool_results", "approvals", "continue", "regenerate", "edit", "resume")
TOGETHER = (["message", "tool_results"], ["tool_results", "approvals"])


def _is_true(value: bool) -> bool:
    if not value:
        raise ValueError
    return value


_TRUE = (AfterValidator(_is_true), WithJsonSchema({"const": True}))
"""A literal of pydantic takes 1 for true."""


def _form(message: Any) -> str | None:
    if isinstance(message, str):
        return "<text>"
    return "<parts>" if isinstance(message, dict) else None


class WholeMessage(ClosedFields):
    parts: Annotated[content.Content, content.PARTS]
    id: fields.NewMessageId | None = None


Message = Annotated[
    Annotated[content.MessageText, Tag("<text>")] | Annotated[WholeMessage, Tag("<parts>")],
    Discriminator(
        _form,
        custom_error_type="invalid_body",
        custom_error_message='send a string or {"parts": [...]}',
    ),
]
Answer = Annotated[
    Annotated[
        bool, *_TRUE, fields.Otherwise("invalid_body", "send true or a message's id"), Tag("<true>")
    ]
    | Annotated[fields.HeldMessageId, Tag("<id>")],
    Discriminator(lambda answer: "<id>" if isinstance(answer, str) else "<true>"),
]


class OwnTool(tool_fields.NamedTool, ClosedFields):
    pass


class OwnResult(tool_fields.ToolResult, ClosedFields):
    result: fields.Json

    @classmethod
    def check_keys(cls, value: Mapping[str, Any]) -> None:
        super().check_keys(value)
        if "result" not in value:
            raise Fault("invalid_body", "has no result: send one, null if need be.")


class OwnDecision(tool_fields.DecisionOnCall, ClosedFields):
    pass


class Edit(ClosedFields):
    message_id: fields.HeldMessageId
    message: Message


class _Actions(Fields):
    message: Message | None = None
    tool_results: Annotated[list[OwnResult], fields.FirstFault()] | None = None
    approvals: Annotated[list[OwnDecision], fields.FirstFault()] | None = None
    goes_on: Annotated[bool, *_TRUE, fields.Otherwise("invalid_body", "send true")] | None = Field(
        None, alias="continue"
    )
    regenerate: Answer | None = Field(None, description="The last answer, or the one of this id.")
    edit: Edit | None = None
    thread_id: fields.ThreadId | None = None
    client_tools: tool_fields.ToolList[OwnTool] | None = None


class NativeBody(ClosedFields, graph_values.OfGraph, _Actions):
    @classmethod
    def check_keys(cls, value: Mapping[str, Any]) -> None:
        super().check_keys(value)
        actions = [key for key in ACTIONS if value.get(key) is not None]
        if not any(value[key] != [] for key in actions) and not value.get("input"):
            raise Fault("missing_action", f"asks for nothing: send one of {', '.join(ACTIONS)}.")
        if len(actions) > 1 and actions not in TOGETHER:
            raise Fault(
                "conflicting_actions",
                f"has {' and '.join(actions)}: send one of them (only tool_results go together "
                "with message or approvals).",
            )


def parse(body: Mapping[str, Any], limits: BodyLimits) -> Parsed:
    asked = read(NativeBody, body, limits)
    branch, message = None, asked.message
    if asked.edit:
        branch, message = Branch("edit", asked.edit.message_id), asked.edit.message
    if asked.regenerate is not None:
        named = asked.regenerate if isinstance(asked.regenerate, str) else None
        branch = Branch("regenerate", named)
    request = asked.request(
        thread_id=asked.thread_id,
        message=None if message is None else user_message(message),
        answers=tuple(one.answer for one in asked.tool_results or ()),
        approvals=tuple(one.answer for one in asked.approvals or ()),
        continue_=bool(asked.goes_on),
        branch=branch,
        client_tools=tool_fields.listed_tools(asked.client_tools),
        needs_tools=bool(asked.client_tools),
    )
    return Parsed(request)


def user_message(message: str | WholeMessage) -> UserMessage:
    if isinstance(message, str):
        return UserMessage((TextContent(message),))
    return UserMessage(message.parts, message.id)


class DecisionBody(tool_fields.DecisionWithArgs, ClosedFields):
    """A decision on a call that the address names."""


def _has(key: str) -> Schema:
    """The schema of an object with a value of this key that is not null."""
    return {"required": [key], "properties": {key: {"not": NOTHING}}}


class QueuedChangeBody(ClosedFields):
    """A change of a request that waits for its turn: another message, another place, or both."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [_has("message"), _has("place")]})

    message: Message | None = None
    place: (
        Annotated[
            int,
            Field(ge=1),
            fields.WHOLE,
            fields.Otherwise("invalid_body", "send a whole number from 1 on"),
        ]
        | None
    ) = None
    """Among those that wait; 1: it is the next one."""

    @classmethod
    def check_keys(cls, value: Mapping[str, Any]) -> None:
        super().check_keys(value)
        if value.get("message") is None and value.get("place") is None:
            raise Fault("missing_action", "asks for nothing: send a message or a place.")


MODELS = (NativeBody, DecisionBody, QueuedChangeBody)
_ASKED: dict[str, Sequence[str]] = {
    "MessageBody": ("message", "tool_results"),
    "ToolResultsBody": ("tool_results", "approvals"),
    "ApprovalsBody": ("approvals", "tool_results"),
    "ContinueBody": ("continue",),
    "RegenerateBody": ("regenerate",),
    "EditBody": ("edit",),
    "ResumeBody": ("resume",),
}
"""By name: the action of a body, and the one that may go with it."""


def bodies(found: MutableMapping[str, Schema]) -> dict[str, Schema]:
    """By name."""
    whole = found.pop(NativeBody.__name__)
    return {name: _asks(whole, *actions) for name, actions in _ASKED.items()}


def components() -> dict[str, Schema]:
    """Return nothing: the body is answered in another format."""
    return {}


def _asks(whole: Schema, action: str, *beside: str) -> Schema:
    asked = whole["properties"][action]
    wanted = {**asked, "not": choice(None, [])} if action == "resume" else some(asked)
    least: Schema = {"minItems": 1} if wanted.get("type") == "array" else {}
    others = {name: NOTHING for name in ACTIONS if name not in (action, *beside)}
    return variant(whole, [action], **others, **{action: {**wanted, **least}})
