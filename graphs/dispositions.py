"""The dispositions of a history's calls: read from the messages, never from a tool's name again."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from turnstream.graphs import stored
from turnstream.graphs.answers import was_refused
from turnstream.graphs.brought_tools import tools_in
from turnstream.tools.contract import Disposition

Answers = Mapping[str, ToolMessage]
"""The answers of a history, by call id."""

Fallback = Callable[[AIMessage, str], Disposition]
"""The disposition of a call whose message does not carry it, by the tool's name."""


_OF_SERVER = ("server", "approval")
CLIENT: Disposition = "client"


def by_state(
    fallback: Fallback,
    values: Mapping[str, Any],
    own: Collection[str],
    ui_tools: Mapping[str, Disposition],
) -> Fallback:
    """Return a fallback for the state of a graph of one's own: a call that `fallback` takes for the
    server's, with an approval or without, is the client's if the state has a tool of the client of
    that name, and the name is none of `own`, the tools that the graph runs. Those of its UI tools
    are as `ui_tools` says."""
    brought = {tool["name"] for tool in tools_in(values)}.difference(own)
    known: Mapping[str, Disposition] = {**dict.fromkeys(brought, CLIENT), **ui_tools}
    if not known:
        return fallback

    def of_name(message: AIMessage, name: str) -> Disposition:
        expected = fallback(message, name)
        return known.get(name, expected) if expected in _OF_SERVER else expected

    return of_name


def of_message(message: AIMessage, answers: Answers, fallback: Fallback) -> dict[str, Disposition]:
    """By call id."""
    carried = stored.dispositions(message)
    calls = [(call["id"] or "", call["name"]) for call in message.tool_calls]
    if carried is not None and len(carried) == len(calls):
        return {id: disposition for (id, _), disposition in zip(calls, carried, strict=True)}
    return {
        id: "invalid" if id in answers and was_refused(answers[id]) else fallback(message, name)
        for id, name in calls
    }


def of_history(
    messages: Iterable[AnyMessage], kept: Mapping[str, Disposition], fallback: Fallback
) -> dict[str, Disposition]:
    """By call id, for all calls of a history; `kept` are those that are stored elsewhere."""
    history = list(messages)
    answers = {m.tool_call_id: m for m in history if isinstance(m, ToolMessage)}
    calls: dict[str, Disposition] = {}
    for message in history:
        if isinstance(message, AIMessage) and message.tool_calls:
            calls |= of_message(message, answers, fallback)
    return calls | {id: kept[id] for id in kept.keys() & calls.keys()}


def all_carry(messages: Iterable[AnyMessage]) -> bool:
    """Check that no call of a history needs what is stored elsewhere."""
    return all(
        stored.dispositions(message) is not None or stored.is_format_1(message)
        for message in messages
        if isinstance(message, AIMessage) and message.tool_calls
    )
