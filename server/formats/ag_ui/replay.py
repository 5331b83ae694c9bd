"""AG-UI: what goes ahead of a run's first event, and the snapshots that set a client right."""

from collections.abc import Iterator, Sequence
from typing import Any

from turnstream.server.formats.ag_ui.posted import keeps_order, outline
from turnstream.server.formats.ag_ui.snapshot import Message, result_message, snapshot
from turnstream.server.formats.format import StreamContext
from turnstream.server.turns.messages import ToolCall
from turnstream.server.turns.told_thread import calls_of

Payload = dict[str, Any]

_CLEARED = "cleared"


def started(context: StreamContext) -> Payload:
    return {"type": "RUN_STARTED", "threadId": context.thread_id, "runId": context.run_id}


def prologue(context: StreamContext, posted: Sequence[Any] | None) -> Iterator[Payload]:
    """The run's start, and what the client lacks of the thread as the run begins. Of a client that
    has posted nothing it is not known what it has."""
    yield started(context)
    messages = snapshot(context.turns)
    if posted is None:
        yield from replaced(messages)
        return
    held, truth = outline(posted), outline(messages)
    if held.lacks_results(truth):
        calls = calls_of(context.turns)
        missing = truth.results.keys() - held.results.keys()
        yield from (result_of(call) for id, call in calls.items() if id in missing)
    elif keeps_order(posted, messages):
        yield _messages(messages)
    else:
        yield from replaced(messages)


def replaced(messages: Sequence[Message]) -> Iterator[Payload]:
    """These messages in the place of all that a client may hold, in their order.

    A client merges a snapshot into what it has, in that order, and keeps its reasoning if the
    snapshot has none. So the first leaves it one reasoning alone. The second makes another message
    of that: it names it twice, the last counts. The third drops this one too.
    """
    reasoning = {"id": _CLEARED, "role": "reasoning", "content": ""}
    yield _messages([reasoning])
    yield _messages([reasoning, {"id": _CLEARED, "role": "assistant"}])
    yield _messages(messages)


def _messages(messages: Sequence[Message]) -> Payload:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def result_of(call: ToolCall) -> Payload:
    """The end of a call. The event has no place for an error: `role` is left out of one, since a
    client takes it for a success."""
    message = result_message(call)
    role = {} if call.is_error else {"role": "tool"}
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": message["id"],
        "toolCallId": call.tool_call_id,
        "content": message["content"],
        **role,
    }
