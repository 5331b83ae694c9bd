"""AG-UI: the `RunAgentInput` that an `HttpAgent` posts (1.0.0, 0.0.59).

It has all messages that the client holds. Only their end is read, the server has the rest: a user's
message, and the tool messages ahead of it or in its place. A message whose id the thread has is
asked again, or, if it says something else now, an edit; so is one beside `edit`, the id of the
message that it replaces. `resume` answers what the last run has stopped to ask.

    forwardedProps   what any body may say of the graph (see `graph_values`); `edit`

assistant-ui puts an app's own values into its `runConfig`: they count as if they were beside it.
Ignored: `runId`, `parentRunId`, `protocolVersion`, `state`, `context`, and what else an app adds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from turnstream.server.protocols.ag_ui.interrupts import read_resume
from turnstream.server.protocols.content import (
    PartReader,
    image,
    image_url,
    named_in,
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
from turnstream.server.protocols.tool_fields import tool_answer, tools_from_object
from turnstream.server.turns.requests import (
    Branch,
    ClientTool,
    InvalidRequest,
    Resume,
    ToolAnswer,
    TurnRequest,
    UserContent,
    UserMessage,
)
from turnstream.tools import strict_json

_PASSED_OVER = ("activity", "developer", "reasoning", "system")
"""Roles that say nothing new at the end of the messages."""
_NO_PARAMETERS = {"type": "object", "properties": {}}


def parse(body: Mapping[str, Any], limits: BodyLimits) -> Parsed:
    """The view is the messages that the client holds."""
    messages = sequence(body.get("messages"), "messages")
    message, answers = _end(messages, limits)
    approvals, values = read_resume(body.get("resume"), limits, has_message=message is not None)
    given, edited = body.get("threadId"), of_graph(body).get("edit")
    request = TurnRequest(
        thread_id=None if given is None else thread_id(given),
        answers=answers,
        approvals=approvals,
        answers_are_copies=True,
        client_tools=_tools(body.get("tools"), limits),
        resume=Resume(values) if values else None,
    )
    # Beside a resume the last message is the one that led to the question.
    if message is not None and not (approvals or values):
        request = replace(request, message=message, branch=_branch(message, edited))
    return Parsed(request, messages)


def of_graph(body: Mapping[str, Any]) -> Mapping[str, Any]:
    props = body.get("forwardedProps")
    if not isinstance(props, dict):
        return {}
    config = props.get("runConfig")
    return {**props, **config} if isinstance(config, dict) else props


def _branch(message: UserMessage, edited: Any) -> Branch | None:
    if edited is not None:
        return Branch("edit", held_message_id(edited, "edit"))
    return Branch("regenerate", message.id) if message.id else None


def _end(
    messages: Sequence[Any], limits: BodyLimits
) -> tuple[UserMessage | None, tuple[ToolAnswer, ...]]:
    """The user's message that ends the messages, and the tool messages right ahead of it."""
    message, answers = None, list[ToolAnswer]()
    for index in reversed(range(len(messages))):
        where = f"messages[{index}]"
        item = mapping(messages[index], where)
        role = string(item.get("role"), f"{where}.role")
        if role == "tool":
            answers.insert(0, _answer(item, where, limits))
        elif role == "user" and message is None and not answers:
            message = _message(item, where, limits)
        elif role not in _PASSED_OVER:
            break
    return message, tuple(answers)


def _message(message: Mapping[str, Any], where: str, limits: BodyLimits) -> UserMessage:
    content, own_id = message.get("content"), message.get("id")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return UserMessage(
        read_parts(parts, f"{where}.content", _PARTS, limits),
        id=None if own_id is None else message_id(own_id, f"{where}.id"),
    )


def _image(part: Mapping[str, Any], where: str) -> UserContent:
    """`metadata` may be anything; assistant-ui's has the file's name."""
    source = mapping(part.get("source"), f"{where}.source")
    alt = named_in(part.get("metadata"))
    return image(_url(source, f"{where}.source"), f"{where}.source", alt, f"{where}.metadata")


def _binary(part: Mapping[str, Any], where: str) -> UserContent:
    """The part of 0.0.59 and before for a file of any type; one that is named by an `id` alone lies
    in a store that is not ours."""
    kind = string(part.get("mimeType"), f"{where}.mimeType")
    if not kind.startswith("image/"):
        raise unsupported(f"binary ({kind})", where, ("text", "image", "binary (image/...)"))
    data, alt = part.get("data"), part.get("filename")
    url = part.get("url")
    if data is not None:
        url = f"data:{kind};base64,{string(data, f'{where}.data')}"
    return image(url, where, alt, f"{where}.filename")


def _url(source: Mapping[str, Any], where: str) -> str:
    kind, value = source.get("type"), string(source.get("value"), f"{where}.value")
    if kind == "data":
        mime_type = string(source.get("mimeType"), f"{where}.mimeType")
        return image_url(f"data:{mime_type};base64,{value}", where)
    if kind != "url":
        raise InvalidRequest(
            "invalid_image", f"{where}.type is {shown(kind)}: send 'data' or 'url'."
        )
    return image_url(value, f"{where}.value")


_PARTS: Mapping[str, PartReader] = {"text": text_part, "image": _image, "binary": _binary}


def _answer(message: Mapping[str, Any], where: str, limits: BodyLimits) -> ToolAnswer:
    content, error = string(message.get("content"), f"{where}.content"), message.get("error")
    answer = tool_answer(
        message.get("toolCallId"), _value(content), error is not None, where, limits
    )
    return ToolAnswer(answer.tool_call_id, answer.result, answer.is_error, is_any_copy=True)


def _value(content: str) -> Any:
    """The JSON that a tool message holds; other text is a string."""
    try:
        return strict_json.read(content)
    except ValueError:
        return content


def _tools(value: Any, limits: BodyLimits) -> tuple[ClientTool, ...]:
    tools: dict[str, Mapping[str, Any]] = {}
    for index, item in enumerate([] if value is None else sequence(value, "tools")):
        where = f"tools[{index}]"
        tool = mapping(item, where)
        name = string(tool.get("name"), f"{where}.name")
        if name in tools:
            raise InvalidRequest(
                "invalid_tool", f"{where} has the name {shown(name)} again: give it once."
            )
        tools[name] = {**tool, "parameters": tool.get("parameters", _NO_PARAMETERS)}
    return tools_from_object(tools, limits)
