"""AG-UI: what goes ahead of a run's first event, and the snapshots that set a client right.

The messages that a client has posted are compared with the thread by turns, not by messages: a
client may put the steps of a turn together, and write blanks between them. What counts is who said
what in which order, which calls were made, and which tool message answers each.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from turnstream.server.formats.ag_ui.snapshot import Message, result_message, snapshot
from turnstream.server.formats.ag_ui.state import Payload, state_snapshot
from turnstream.server.formats.format import StreamContext
from turnstream.server.turns.messages import ToolCall
from turnstream.server.turns.told_thread import calls_of

_CLEARED = {"id": "cleared", "role": "reasoning", "content": ""}


def _started(context: StreamContext) -> Payload:
    return {"type": "RUN_STARTED", "threadId": context.thread_id, "runId": context.run_id}


def idle(context: StreamContext) -> Iterator[Payload]:
    """An empty run: a client takes no stream without a run."""
    yield _started(context)
    if context.graph_state is not None:
        yield state_snapshot(context.graph_state)
    yield {**_started(context), "type": "RUN_FINISHED"}


def prologue(context: StreamContext, posted: Sequence[Any] | None) -> Iterator[Payload]:
    """The run's start, and what the client lacks of the thread as the run begins. Of a client that
    has posted nothing it is not known what it has."""
    yield _started(context)
    messages = snapshot(context.turns)
    if posted is None:
        yield from replaced(messages)
        return
    (held, held_results), (truth, results) = _outline(posted), _outline(messages)
    if held == truth and held_results.items() <= results.items():
        missing = results.keys() - held_results.keys()
        calls = calls_of(context.turns)
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
    yield _messages([_CLEARED])
    yield _messages([_CLEARED, {"id": _CLEARED["id"], "role": "assistant"}])
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


def _outline(messages: Sequence[Any]) -> tuple[list[list[str]], dict[str, str]]:
    """The turns, and the ids of the tool messages by call id, of messages as they come: what is not
    one of AG-UI's is passed over.

    A user's turn is `user`, the message's id, the words. Another is `assistant`, the words of its
    texts and the ids of its calls, in order.
    """
    turns: list[list[str]] = []
    results: dict[str, str] = {}
    for message in messages:
        match message:
            case {"role": "user"}:
                turns.append(["user", str(message.get("id")), *_words(message.get("content"))])
            case {"role": "assistant"}:
                if not turns or turns[-1][0] == "user":
                    turns.append(["assistant"])
                turns[-1] += [*_words(message.get("content")), *_calls(message.get("toolCalls"))]
            case {"role": "tool"}:
                results.setdefault(str(message.get("toolCallId")), str(message.get("id")))
    return [turn for turn in turns if turn != ["assistant"]], results


def _words(content: Any) -> list[str]:
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    words: list[str] = []
    for part in parts:
        match part:
            case {"type": "text", "text": str(text)}:
                words += text.split()
    return words


def _calls(calls: Any) -> list[str]:
    listed = calls if isinstance(calls, list) else ()
    return [str(call["id"]) for call in listed if isinstance(call, dict) and "id" in call]


def keeps_order(posted: Sequence[Any], messages: Sequence[Message]) -> bool:
    """True if a client that holds `posted` has these messages, in their order, once it has got them
    as one snapshot.

    It keeps those that it knows where they are, appends the others, and drops the rest; but not
    reasoning, unless the snapshot has some.
    """
    roles = {str(m.get("id")): m.get("role") for m in posted if isinstance(m, dict)}
    ids = dict.fromkeys(message["id"] for message in messages)
    merged = [*(id for id in roles if id in ids), *(id for id in ids if id not in roles)]
    has_reasoning = any(message["role"] == "reasoning" for message in messages)
    leaves = any(role == "reasoning" for id, role in roles.items() if id not in ids)
    return merged == [*ids] and (has_reasoning or not leaves)
