"""LangGraph SDK: the messages of a run's `input`.

A message is an object, or a bare string, which is the user's. `role` may stand for `type`, with
OpenAI's names. Messages of the model are read only for their ids.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from turnstream.server.formats import content, fields
from turnstream.server.formats.fields import BodyLimits, Fields, read, shown
from turnstream.server.formats.tool_fields import CallId, value_of
from turnstream.server.turns.requests import InvalidRequest, ToolAnswer, UserMessage

MADE_UP = "do-not-render-"
"""Prefix of the ids of tool messages with which agent-chat-ui closes calls."""
_TYPES = {"user": "human", "assistant": "ai"}
_CANCELLED = {"cancelled": True}
_DATA, _KINDS = ("data", "base64"), ("mime_type", "mimeType")
"""The keys of an image that a block holds, in LangChain's versions 1 and 0.3."""
_TEXT = {"type": "string"}
_LINK = {"type": "object", "required": ["url"], "properties": {"url": content.IMAGE_URL}}
_FORMS: list[Any] = [
    {"required": ["url"], "properties": {key: {"type": "null"} for key in _DATA}},
    *(
        {"required": [data, kind], "properties": {data: _TEXT, kind: content.IMAGE_TYPE}}
        for data in _DATA
        for kind in _KINDS
    ),
]


class _Block(content.LinkedImage):
    alt: content.AltOfMetadata = Field(None, alias="metadata")


def _linked(link: Any) -> Any:
    return link.get("url") if isinstance(link, dict) else link


class ImageUrlBlock(_Block):
    type: Literal["image_url"]
    url: Annotated[
        content.ImageUrl,
        BeforeValidator(_linked),
        WithJsonSchema({"anyOf": [content.IMAGE_URL, _LINK]}),
    ] = Field(alias="image_url")


class ImageBlock(_Block):
    """LangChain's own block."""

    model_config = ConfigDict(json_schema_extra={"required": ["type"], "anyOf": _FORMS})
    type: Literal["image"]

    @model_validator(mode="before")
    @classmethod
    def _with_url(cls, block: Any) -> Any:
        return content.with_url(block, _DATA, _KINDS)


class AnyMessage(Fields):
    type: fields.Text
    id: fields.Text | None = None


class HumanMessage(Fields):
    content: Annotated[
        content.Content, content.Said(content.TextPart, ImageUrlBlock, ImageBlock, text=True)
    ]
    id: fields.NewMessageId | None = None


class CallAnswer(Fields):
    tool_call_id: CallId
    content: Annotated[Any, AfterValidator(value_of), fields.FITTING_JSON] = None
    status: Any = None

    @property
    def answer(self) -> ToolAnswer:
        return ToolAnswer(self.tool_call_id, self.content, self.status == "error")


@dataclass(frozen=True, slots=True)
class _Message:
    kind: str
    id: str | None
    fields: Mapping[str, Any]
    where: str


@dataclass(frozen=True, slots=True)
class InputMessages:
    given: Sequence[_Message]
    limits: BodyLimits

    def message(self, known: Collection[str]) -> UserMessage | None:
        """Return the user's new message; `known` are the ids of the thread's messages.

        Raises InvalidRequest.
        """
        new = [one for one in self.given if one.id is None or one.id not in known]
        for one in new:
            if one.kind not in ("human", "tool"):
                raise InvalidRequest(
                    "unsupported_message",
                    f"{one.where} is of the type {shown(one.kind)}: send human and tool messages.",
                )
        said = [
            read(HumanMessage, one.fields, self.limits, one.where)
            for one in new
            if one.kind == "human"
        ]
        if not said:
            return None
        together = content.one_message([one.content for one in said], self.limits)
        return UserMessage(together.content, said[-1].id)

    def answers(self, pending: Collection[str], *, beside_message: bool) -> tuple[ToolAnswer, ...]:
        """To calls that wait for the client. Beside a message, which closes what is left, an answer
        that only cancels says nothing.

        Raises InvalidRequest.
        """
        answers = []
        for one in self.given:
            if one.kind != "tool" or (one.id or "").startswith(MADE_UP):
                continue
            call_id = one.fields.get("tool_call_id")
            if isinstance(call_id, str) and call_id in pending:
                answer = read(CallAnswer, one.fields, self.limits, one.where).answer
                if not (beside_message and answer.is_error and answer.result == _CANCELLED):
                    answers.append(answer)
        return tuple(answers)


def input_messages(given: Sequence[Any], limits: BodyLimits) -> InputMessages:
    """Raises InvalidRequest."""
    return InputMessages(
        [_message(one, f"input.messages[{n}]", limits) for n, one in enumerate(given)], limits
    )


def _message(value: Any, where: str, limits: BodyLimits) -> _Message:
    if isinstance(value, str):
        return _Message("human", None, {"content": value}, where)
    named = (
        {"type": value["role"], **value} if isinstance(value, dict) and "role" in value else value
    )
    message = read(AnyMessage, named, limits, where)
    return _Message(_TYPES.get(message.type, message.type), message.id, value, where)
