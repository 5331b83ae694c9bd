"""Pure functions that keep a history such as every chat API accepts it.

The rules (OpenAI's, the strictest): each tool call has exactly one answer, directly behind its
message; no answer without a call; call ids unique; names of `[a-zA-Z0-9_-]{1,64}`.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from turnstream.graphs import stored, stored_user
from turnstream.graphs.answers import failed
from turnstream.graphs.calls import MAX_ID_CHARS, derived_id, safe_name
from turnstream.graphs.images import is_image
from turnstream.graphs.replay import acceptable_name, from_others, replayed, with_last_word
from turnstream.graphs.server_keys import size_of

CHARS_A_TOKEN = 4
IMAGE_TOKENS = 1000
"""About what providers count for one, whatever its bytes."""

_NAME = re.compile(r"[^\s<|\\/>]{1,64}")


def from_user(messages: Sequence[AnyMessage]) -> list[HumanMessage]:
    """Return the messages that the user wrote. A graph may write human messages of its own:
    critiques, summaries."""
    human = [
        message
        for message in messages
        if isinstance(message, HumanMessage) and "lc_source" not in message.additional_kwargs
    ]
    if not any(map(stored_user.is_users, human)):
        return human
    return [message for message in human if stored_user.is_users(message) or message is messages[0]]


def pending_calls(messages: Sequence[AnyMessage]) -> list[ToolCall]:
    """The tool calls that have no answer yet, in order."""
    answered, calling = set[str | None](), list[AIMessage]()
    for message in messages:
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage) and message.tool_calls:
            calling.append(message)
    return [
        call for message in calling for call in message.tool_calls if call["id"] not in answered
    ]


def close_pending(messages: Sequence[AnyMessage], code: str, sentence: str) -> list[ToolMessage]:
    """Answers, as cancelled, for all calls that have none."""
    return [failed(call, code, sentence, end="cancelled") for call in pending_calls(messages)]


def for_model(
    messages: Sequence[AnyMessage],
    system_prompt: str,
    max_tokens: int,
    provider: str | None = None,
) -> list[AnyMessage]:
    """Return the messages for a provider's model: the thread's newest whole turns, repaired, behind
    the system prompt.

    `max_tokens` is an estimate (four characters a token); the last turn is always whole.
    """
    room = max_tokens - (_tokens(system_prompt) if system_prompt else 0)
    first = _first_of_interest(messages, room)
    turns = _last_turns(list(_repaired(messages[first:], provider, first)), room)
    turns = with_last_word(turns, provider)
    return [SystemMessage(system_prompt), *turns] if system_prompt else turns


def _first_of_interest(messages: Sequence[AnyMessage], max_tokens: int) -> int:
    """Return the index at which the turns begin of which the newest fit: older ones of a long
    thread need no repair."""
    total, first = 0, len(messages)
    for place in range(len(messages) - 1, -1, -1):
        total += _least_tokens(messages[place])
        if total > max_tokens and first < len(messages):
            return first
        if isinstance(messages[place], HumanMessage) and messages[place].content:
            first = place
    return 0


def _least_tokens(message: AnyMessage) -> int:
    """Return the tokens of what is left of a message when it is repaired, for any provider."""
    text = message.content if isinstance(message.content, str) else ""
    if isinstance(message, HumanMessage):
        return _tokens(text) if message.content else 0
    return len(text.strip()) // CHARS_A_TOKEN if isinstance(message, AIMessage) else 0


def _repaired(
    messages: Sequence[AnyMessage], provider: str | None, first: int
) -> Iterator[AnyMessage]:
    """`first` is the place of the first in its thread."""
    presentable = [_presentable(message) for message in messages]
    answers: dict[str, deque[ToolMessage]] = {}
    for message in presentable:
        if isinstance(message, ToolMessage):
            answers.setdefault(message.tool_call_id, deque()).append(message)
    used: set[str] = set()
    for number, message in enumerate(presentable, first):
        if isinstance(message, AIMessage):
            yield from _with_answers(message, number, answers, used, provider)
        elif isinstance(message, HumanMessage):
            if message.content:
                yield from_others(message, provider)
        elif not isinstance(message, ToolMessage) and message.content != []:
            yield message


def _presentable(message: AnyMessage) -> AnyMessage:
    """The message without a name that providers refuse, and with no bare text among its blocks."""
    changes: dict[str, object] = {}
    if message.name and not isinstance(message, ToolMessage) and not _NAME.fullmatch(message.name):
        changes["name"] = None
    if message.content == [] and isinstance(message, ToolMessage):
        changes["content"] = ""
    if not isinstance(message.content, str) and any(isinstance(b, str) for b in message.content):
        changes["content"] = [
            {"type": "text", "text": block} if isinstance(block, str) else block
            for block in message.content
        ]
    return message.model_copy(update=changes) if changes else message


def _with_answers(
    message: AIMessage,
    number: int,
    answers: dict[str, deque[ToolMessage]],
    used: set[str],
    provider: str | None,
) -> Iterator[AnyMessage]:
    """A model's message and the answers to its calls; nothing at all if it says nothing."""
    calls: list[ToolCall] = []
    replies: list[ToolMessage] = []
    for position, given in enumerate(message.tool_calls):
        call = _acceptable(given, message.id or f"message-{number}", position, used, provider)
        found = answers.get(given["id"] or "")
        reply = found.popleft() if found else None
        if reply is None:
            reply = failed(call, "cancelled", "This call was never answered.", end="cancelled")
        elif call is not given:
            reply = reply.model_copy(update={"tool_call_id": call["id"], "name": call["name"]})
        calls.append(call)
        replies.append(reply)
    if calls or (message.text.strip() and not stored.only_ends_its_run(message)):
        pairs = zip(message.tool_calls, calls, strict=True)
        ids = {given["id"] or "": call["id"] or "" for given, call in pairs}
        yield replayed(message, calls, ids, provider)
        yield from replies


def _acceptable(
    call: ToolCall, message_id: str, position: int, used: set[str], provider: str | None
) -> ToolCall:
    id, name = call["id"] or "", acceptable_name(safe_name(call["name"]), provider)
    if not id or len(id) > MAX_ID_CHARS or id in used:
        id = derived_id(message_id, position)
    while id in used:
        id = derived_id(id, position)
    used.add(id)
    if id == call["id"] and name == call["name"]:
        return call
    return ToolCall(type="tool_call", id=id, name=name, args=call["args"])


def _last_turns(messages: list[AnyMessage], max_tokens: int) -> list[AnyMessage]:
    total, start = 0, len(messages)
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        total += _tokens(message.content) + size_of(message) // CHARS_A_TOKEN
        if isinstance(message, AIMessage) and message.tool_calls:
            total += _tokens(str(message.tool_calls))
        if total > max_tokens and start < len(messages):
            return messages[start:]
        if isinstance(message, HumanMessage):
            start = place
    return messages


def _tokens(content: object) -> int:
    if isinstance(content, list):
        return sum(IMAGE_TOKENS if is_image(block) else _tokens(block) for block in content)
    return len(content if isinstance(content, str) else str(content)) // CHARS_A_TOKEN + 4
