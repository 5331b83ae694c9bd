"""A thread's messages as the turns that every protocol shows: the very parts that were streamed."""

from collections.abc import Callable, Iterator, Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage

from graphs.answers import client_view, end_of
from graphs.calls import parse_args
from graphs.execution import DURATION_MS
from graphs.parts import StoredPart, stored_parts
from server.protocols.history import (
    AssistantTurn,
    MessagePart,
    Reasoning,
    Step,
    Text,
    Turn,
    UserTurn,
)
from server.protocols.history import ToolCall as ShownCall
from server.protocols.requests import ImageContent, TextContent, UserContent
from server.runs.finish import ended_mark, error_mark, is_mark, last_reason, timing_of, usage_of


def assistant_id(user_message_id: str) -> str:
    """The id of the assistant message that answers a user message, however many runs it takes."""
    return f"{user_message_id}.a"


def transcript(
    messages: Sequence[AnyMessage], awaits_client: Callable[[str], bool], *, running: bool = False
) -> tuple[Turn, ...]:
    """The turns of a thread; `running`: the last one has not ended yet."""
    answers = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
    turns: list[Turn] = []
    for human, said in _grouped(messages):
        if human is not None:
            turns.append(UserTurn(human.id or "", tuple(_user_content(human))))
        if said:
            goes_on = running and said[-1] is _last_said(messages)
            turns.append(_assistant_turn(human, said, answers, awaits_client, goes_on=goes_on))
    return tuple(turns)


def _last_said(messages: Sequence[AnyMessage]) -> AnyMessage | None:
    """The model's last message, if the user has said nothing since."""
    spoken = (m for m in reversed(messages) if isinstance(m, AIMessage | HumanMessage))
    return next(spoken, None)


def _grouped(
    messages: Sequence[AnyMessage],
) -> Iterator[tuple[HumanMessage | None, list[AIMessage]]]:
    human: HumanMessage | None = None
    said: list[AIMessage] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            if human or said:
                yield human, said
            human, said = message, []
        elif isinstance(message, AIMessage):
            said.append(message)
    if human or said:
        yield human, said


def _assistant_turn(
    human: HumanMessage | None,
    said: list[AIMessage],
    answers: dict[str, ToolMessage],
    awaits_client: Callable[[str], bool],
    *,
    goes_on: bool,
) -> AssistantTurn:
    last = said[-1]
    pending = any(call["id"] not in answers for call in last.tool_calls)
    reason = last_reason(last, pending=pending)
    steps = tuple(
        Step(
            step_id=message.id or "",
            parts=tuple(_part(part, answers, awaits_client) for part in stored_parts(message)),
            finish_reason=last_reason(message, pending=pending or goes_on or message is not last),
            usage=usage_of(message),
            timing=timing_of(message),
        )
        for message in said
        if not is_mark(message)
    )
    first_id = human.id if human else said[0].id
    id = assistant_id(first_id or "")
    if goes_on:
        return AssistantTurn(id, steps)
    return AssistantTurn(id, steps, reason, ended_mark(last), error_mark(last))


def _part(
    part: StoredPart, answers: dict[str, ToolMessage], awaits_client: Callable[[str], bool]
) -> MessagePart:
    if part.call is not None:
        return _call(part.call, part.text, answers, awaits_client)
    return Text(part.text) if part.kind == "text" else Reasoning(part.text)


def _call(
    call: ToolCall,
    args_text: str,
    answers: dict[str, ToolMessage],
    awaits_client: Callable[[str], bool],
) -> ShownCall:
    id, found = call["id"] or "", answers.get(call["id"] or "")
    return ShownCall(
        tool_call_id=id,
        tool_name=call["name"],
        args_text=args_text,
        args=parse_args(args_text),
        awaits_client=awaits_client(call["name"]),
        end=end_of(found) if found else None,
        result=client_view(found) if found else None,
        result_id=found.id if found else None,
        duration_ms=found.response_metadata.get(DURATION_MS) if found else None,
    )


def _user_content(message: HumanMessage) -> Iterator[UserContent]:
    if isinstance(message.content, str):
        yield TextContent(message.content)
        return
    for block in message.content:
        if isinstance(block, str):
            yield TextContent(block)
        elif block.get("type") == "text":
            yield TextContent(block["text"])
        elif block.get("type") == "image_url":
            yield ImageContent(block["image_url"]["url"])
