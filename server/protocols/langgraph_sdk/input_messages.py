"""LangGraph SDK: the messages of a run's `input`.

    {"type": "human", "content": string | [block], "id"?}
    {"type": "tool", "tool_call_id", "content", "status"?, "id"?}
    a bare string                       the user's message

    block = {"type": "text", "text"} | {"type": "image_url", "image_url": url | {"url"}}
          | {"type": "image", "url"} | {"type": "image", "data", "mime_type" | "mimeType"}
An image's `metadata` may have its `name`, or its `alt`.

`role` may stand for `type`, with OpenAI's names. Messages of the model are read only for their ids.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnstream.server.protocols.content import (
    PartReader,
    checked,
    image,
    joined,
    named_in,
    read_parts,
    text_part,
)
from turnstream.server.protocols.fields import BodyLimits, mapping, message_id, shown, string
from turnstream.server.protocols.tool_fields import tool_answer
from turnstream.server.turns.requests import (
    InvalidRequest,
    TextContent,
    ToolAnswer,
    UserContent,
    UserMessage,
)
from turnstream.tools import strict_json

MADE_UP = "do-not-render-"
"""How the ids of tool messages begin with which agent-chat-ui closes calls."""
_TYPES = {"user": "human", "assistant": "ai"}
_CANCELLED = {"cancelled": True}


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
        """What the user says that the thread does not have: these are the ids of what it has.

        Raises InvalidRequest.
        """
        new = [one for one in self.given if one.id is None or one.id not in known]
        for one in new:
            if one.kind not in ("human", "tool"):
                raise InvalidRequest(
                    "unsupported_message",
                    f"{one.where} is of the type {shown(one.kind)}: send human and tool messages.",
                )
        said = [one for one in new if one.kind == "human"]
        if not said:
            return None
        contents = [_content(one, self.limits) for one in said]
        last_id, where = said[-1].id, f"{said[-1].where}.id"
        own_id = None if last_id is None else message_id(last_id, where)
        together = joined(contents, "The messages together", self.limits)
        return UserMessage(together.content, own_id)

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
                answer = _answer(one, self.limits)
                if not (beside_message and answer.is_error and answer.result == _CANCELLED):
                    answers.append(answer)
        return tuple(answers)


def input_messages(given: Sequence[Any], limits: BodyLimits) -> InputMessages:
    """Raises InvalidRequest."""
    return InputMessages(
        [_message(value, f"input.messages[{index}]") for index, value in enumerate(given)], limits
    )


def _message(value: Any, where: str) -> _Message:
    if isinstance(value, str):
        return _Message("human", None, {"content": value}, where)
    fields = mapping(value, where)
    kind = string(fields.get("type", fields.get("role")), f"{where}.type")
    id = fields.get("id")
    return _Message(
        _TYPES.get(kind, kind), None if id is None else string(id, f"{where}.id"), fields, where
    )


def _content(message: _Message, limits: BodyLimits) -> tuple[UserContent, ...]:
    content, where = message.fields.get("content"), f"{message.where}.content"
    if isinstance(content, str):
        return checked([TextContent(string(content, where))], where, limits)
    return read_parts(content, where, _BLOCKS, limits)


def _image_url_block(block: Mapping[str, Any], where: str) -> UserContent:
    url = block.get("image_url")
    inner = url.get("url") if isinstance(url, dict) else url
    return _named(block, inner, f"{where}.image_url", where)


def _image_block(block: Mapping[str, Any], where: str) -> UserContent:
    """LangChain's own block, in the forms of its versions 0.3 and 1."""
    data = block.get("base64") if block.get("data") is None else block["data"]
    if data is None:
        return _named(block, block.get("url"), f"{where}.url", where)
    kind = string(block.get("mime_type") or block.get("mimeType"), f"{where}.mime_type")
    url = f"data:{kind};base64,{string(data, f'{where}.data')}"
    return _named(block, url, where, where)


def _named(block: Mapping[str, Any], url: Any, url_where: str, where: str) -> UserContent:
    alt = named_in(block.get("metadata"))
    return image(url, url_where, alt, f"{where}.metadata")


_BLOCKS: Mapping[str, PartReader] = {
    "text": text_part,
    "image_url": _image_url_block,
    "image": _image_block,
}


def _answer(message: _Message, limits: BodyLimits) -> ToolAnswer:
    fields = message.fields
    is_error = fields.get("status") == "error"
    result = _result(fields.get("content"))
    return tool_answer(fields["tool_call_id"], result, is_error, message.where, limits)


def _result(content: Any) -> Any:
    """A tool message's content is text; clients write what is no text as JSON."""
    if not isinstance(content, str):
        return content
    try:
        return strict_json.read(content)
    except ValueError:
        return content
