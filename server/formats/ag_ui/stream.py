"""AG-UI: chunks to events (`@ag-ui/core` 1.0.0 and 0.0.59).

    run  = RUN_STARTED MESSAGES_SNAPSHOT* (part | other)* MESSAGES_SNAPSHOT* end
    part = TEXT_MESSAGE_START _CONTENT* _END
         | REASONING_START REASONING_MESSAGE_START _CONTENT* _END REASONING_END
         | TOOL_CALL_START _ARGS* _END
    other = TOOL_CALL_RESULT | STATE_SNAPSHOT | STATE_DELTA | CUSTOM
    end  = RUN_FINISHED | RUN_ERROR

No more than both versions accept: no null, no `[DONE]`, no steps (two of one name may not be open),
no `pendingToolCallIds`, no outcome but `interrupt`. The end is that of the run's last chunk, so who
has seen its id has seen all. A run that withdraws a step, or whose steps interleave, says at its
end what the thread has: a client cannot take back a message, nor move one.

Ahead of a run's first event the messages that a client has posted are compared with the thread by
turns, not by messages: a client may put the steps of a turn together, and write blanks between
them. What counts is who said what in which order, which calls were made, and which tool message
answers each.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from turnstream.server.formats.ag_ui.snapshot import (
    Message,
    StepMessages,
    open_interrupts,
    result_message,
    snapshot,
)
from turnstream.server.formats.format import StreamContext
from turnstream.server.formats.json_text import dumps, quote
from turnstream.server.formats.metadata import counts_json, ended_json, given, named_data
from turnstream.server.turns import chunks
from turnstream.server.turns.graph_state import GraphState, Values, merged
from turnstream.server.turns.messages import ToolCall, settle_call
from turnstream.server.turns.told_thread import ToldThread, calls_of

Payload = dict[str, Any]
_OpenPart = tuple[str, list[Payload]]
"""The payload of a delta, up to its text, and the events that end a text or a reasoning. A call
ends with its arguments."""
_CLEARED = {"id": "cleared", "role": "reasoning", "content": ""}


def _open(part: chunks.Part, id: str) -> tuple[list[Payload], _OpenPart]:
    """Begin a part of the message that has this id: return its first events, and the rest."""
    match part:
        case chunks.ToolCallPart(call_id, name):
            call = {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name}
            delta = _delta("TOOL_CALL_ARGS", "toolCallId", call_id)
            return [{**call, "parentMessageId": id}], (delta, [])
        case chunks.ReasoningPart():
            message = {**_edge("REASONING_MESSAGE_START", id), "role": "reasoning"}
            delta = _delta("REASONING_MESSAGE_CONTENT", "messageId", id)
            end = [_edge("REASONING_MESSAGE_END", id), _edge("REASONING_END", id)]
            return [_edge("REASONING_START", id), message], (delta, end)
    start = {**_edge("TEXT_MESSAGE_START", id), "role": "assistant"}
    delta = _delta("TEXT_MESSAGE_CONTENT", "messageId", id)
    return [start], (delta, [_edge("TEXT_MESSAGE_END", id)])


def _edge(type: str, id: str) -> Payload:
    return {"type": type, "messageId": id}


def _delta(type: str, key: str, id: str) -> str:
    # By hand, not with `dumps`: most chunks are of this kind.
    return f'{{"type":"{type}","{key}":{quote(id)},"delta":'


class AgUiEncoder:
    def __init__(self, context: StreamContext) -> None:
        self._context = context
        self._thread = ToldThread(context.turns, context.message_id)
        self._steps: dict[str, StepMessages] = {}
        self._open: dict[chunks.Path, _OpenPart] = {}
        self._calls: dict[chunks.Path, chunks.ToolCallPart] = {}
        self._earlier_calls = calls_of(context.turns)
        self._is_in_order = True
        """True while a client has the thread's messages, in the thread's order."""
        self._asked: list[chunks.Interrupt] = []
        self._last: dict[type[chunks.Chunk], Any] = {}
        """The last chunk of each type: several of them make the end."""
        self._payloads: Mapping[type[chunks.Chunk], Callable[[Any], list[Payload]]] = {
            chunks.StepStart: self._step_start,
            chunks.PartStart: self._part_start,
            chunks.ArgsFinish: self._args_finish,
            chunks.Result: self._result,
            chunks.PartFinish: lambda chunk: self._open.pop(chunk.path)[1],
            chunks.StepWithdrawn: self._disorder,
            chunks.MessagesRemoved: self._disorder,
            chunks.Interrupt: self._interrupt,
            chunks.ToolSettled: self._settled,
            chunks.ToolProgress: _custom,
            chunks.Custom: _custom,
            chunks.GraphState: AgUiState().take,
            chunks.Done: self._done,
        }

    def encode(self, chunk: chunks.Chunk) -> list[str]:
        self._thread.take(chunk)
        if type(chunk) is chunks.TextDelta:
            return [f"{self._open[chunk.path][0]}{quote(chunk.text)}}}"]
        self._last[type(chunk)] = chunk
        payloads = self._payloads.get(type(chunk))
        return [*map(dumps, payloads(chunk))] if payloads else []

    # parts

    def _step_start(self, chunk: chunks.StepStart) -> list[Payload]:
        self._steps[chunk.step_id] = StepMessages(chunk.step_id)
        return []

    def _part_start(self, chunk: chunks.PartStart) -> list[Payload]:
        messages = self._steps[chunk.step_id]
        if chunk.step_id != next(reversed(self._steps)):
            self._is_in_order = False
        if isinstance(chunk.part, chunks.ToolCallPart):
            self._calls[chunk.path] = chunk.part
        start, self._open[chunk.path] = _open(chunk.part, messages.of(chunk.part))
        return start

    def _args_finish(self, chunk: chunks.ArgsFinish) -> list[Payload]:
        return [{"type": "TOOL_CALL_END", "toolCallId": self._calls[chunk.path].tool_call_id}]

    def _result(self, chunk: chunks.Result) -> list[Payload]:
        part = self._calls[chunk.path]
        ended = {"end": chunk.end, "result": chunk.result, "result_id": chunk.result_id}
        return [result_of(ToolCall(part.tool_call_id, part.tool_name, "", None, **ended))]

    def _settled(self, chunk: chunks.ToolSettled) -> list[Payload]:
        """A client that lacks what the thread has from the beginning gets it ahead of the run."""
        call = self._earlier_calls.get(chunk.tool_call_id)
        return [] if call is None or call.end else [result_of(settle_call(call, chunk))]

    # the end

    def _disorder(self, _chunk: chunks.StepWithdrawn | chunks.MessagesRemoved) -> list[Payload]:
        self._is_in_order = False
        return []

    def _interrupt(self, chunk: chunks.Interrupt) -> list[Payload]:
        self._asked.append(chunk)
        return []

    def _done(self, _chunk: chunks.Done) -> list[Payload]:
        corrections = [] if self._is_in_order else [*replaced(snapshot(self._thread.turns()))]
        error = self._last.get(chunks.Error)
        return [*corrections, _failed(error) if error else self._finished()]

    def _finished(self) -> Payload:
        finish: chunks.MessageFinish = self._last[chunks.MessageFinish]
        ended, context = self._last.get(chunks.RunEnded), self._context
        # A run that was stopped may leave a question open: its call was approved, and did not end.
        waits = finish.reason != "stop"
        interrupts = open_interrupts(self._thread.turns(), self._asked) if waits else []
        outcome = {"type": "interrupt", "interrupts": interrupts} if interrupts else None
        return {
            **_edge_of_run("RUN_FINISHED", context),
            "usage": [counts_json(finish.usage)],
            "result": given(finishReason=finish.reason, ended=ended and ended_json(ended)),
            **given(outcome=outcome),
        }


def _custom(chunk: chunks.Chunk) -> list[Payload]:
    name, value = named_data(chunk)
    return [{"type": "CUSTOM", "name": name, "value": value}]


def _failed(error: chunks.Error) -> Payload:
    """The id of the log entry goes into the sentence: the event has no other place for it."""
    logged = f" ({error.error_id})" if error.error_id else ""
    return {"type": "RUN_ERROR", "message": f"{error.message}{logged}", "code": error.code}


def _edge_of_run(type: str, context: StreamContext) -> Payload:
    return {"type": type, "threadId": context.thread_id, "runId": context.run_id}


def idle(context: StreamContext) -> Iterator[Payload]:
    """An empty run: a client takes no stream without a run."""
    yield _edge_of_run("RUN_STARTED", context)
    if context.graph_state is not None:
        yield _state_snapshot(context.graph_state)
    yield _edge_of_run("RUN_FINISHED", context)


def prologue(context: StreamContext, posted: Sequence[Any] | None) -> Iterator[Payload]:
    """The run's start, and what the client lacks of the thread as the run begins. Of a client that
    has posted nothing it is not known what it has."""
    yield _edge_of_run("RUN_STARTED", context)
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


def _state_snapshot(values: Values) -> Payload:
    return {"type": "STATE_SNAPSHOT", "snapshot": values}


class AgUiState:
    """The graph's own state that clients see, as a snapshot and as JSON Patches (RFC 6902)."""

    def __init__(self) -> None:
        self._values: Values = {}

    def take(self, chunk: GraphState) -> list[Payload]:
        before, self._values = self._values, merged(self._values, chunk)
        if chunk.is_whole:
            return [_state_snapshot(self._values)]
        delta: list[Payload] = []
        for name, value in chunk.values.items():
            path = f"/{_token(name)}"
            change: list[Payload] = [{"op": "add", "path": path, "value": value}]
            if name in before:
                change = min(change, [*patch(before[name], value, path)], key=_size)
            delta += change
        return [{"type": "STATE_DELTA", "delta": delta}] if delta else []


def _size(operations: list[Payload]) -> int:
    return len(dumps(operations))


def patch(before: Any, after: Any, path: str) -> Iterator[Payload]:
    """Turn one JSON value into another at a path. Items of a list are compared place by place, also
    behind a change."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_object(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_list(before, after, path)
    elif type(before) is not type(after) or before != after:
        yield {"op": "replace", "path": path, "value": after}


def _of_object(before: dict[str, Any], after: dict[str, Any], path: str) -> Iterator[Payload]:
    for name in before.keys() - after.keys():
        yield {"op": "remove", "path": f"{path}/{_token(name)}"}
    for name, value in after.items():
        place = f"{path}/{_token(name)}"
        if name in before:
            yield from patch(before[name], value, place)
        else:
            yield {"op": "add", "path": place, "value": value}


def _of_list(before: list[Any], after: list[Any], path: str) -> Iterator[Payload]:
    for place, (old, new) in enumerate(zip(before, after, strict=False)):
        yield from patch(old, new, f"{path}/{place}")
    for place in range(len(before) - 1, len(after) - 1, -1):
        yield {"op": "remove", "path": f"{path}/{place}"}
    for value in after[len(before) :]:
        yield {"op": "add", "path": f"{path}/-", "value": value}


def _token(name: str) -> str:
    """A part of a JSON Pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")
