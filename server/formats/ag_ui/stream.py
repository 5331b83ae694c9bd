"""AG-UI: chunks to events (`@ag-ui/core` 1.0.0 and 0.0.59).

    run  = RUN_STARTED MESSAGES_SNAPSHOT* (part | other)* MESSAGES_SNAPSHOT* end
    part = TEXT_MESSAGE_START _CONTENT* _END
         | REASONING_START REASONING_MESSAGE_START _CONTENT* _END REASONING_END
         | TOOL_CALL_START _ARGS* _END
    other = TOOL_CALL_RESULT | STATE_SNAPSHOT | STATE_DELTA | CUSTOM
          | SUBAGENT_STARTED | SUBAGENT_FINISHED | SUBAGENT_ERROR
    end  = RUN_FINISHED | RUN_ERROR

A client of 1.0 says so in its body. Clients before refuse a whole stream for a type or a key that
they do not know: they get no more than 0.0.59 accepts, which has no subagents, no
`pendingToolCallIds`, no outcome but `interrupt`, and no tokens of a run that failed. Nobody gets a
null, `[DONE]`, or steps (two of one name may not be open). The end is that of the run's last chunk,
so who has seen its id has seen all. A run that withdraws a step, or whose steps interleave, says at
its end what the thread has: a client cannot take back a message, nor move one.

Ahead of a run's first event the messages that a client has posted are compared with the thread by
turns, not by messages: a client may put the steps of a turn together, and write blanks between
them. What counts is who said what in which order, which calls were made, and which tool message
answers each.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from turnstream.server.formats.ag_ui.snapshot import (
    Message,
    open_interrupts,
    result_message,
    snapshot,
)
from turnstream.server.formats.ag_ui.subagents import (
    CallPlace,
    StepMessages,
    Subagent,
    Subagents,
    calls_below,
    owner,
)
from turnstream.server.formats.format import StreamContext
from turnstream.server.formats.json_text import dumps, quote
from turnstream.server.formats.metadata import counts_json, ended_json, given, named_data
from turnstream.server.turns import chunks
from turnstream.server.turns.graph_state import GraphState, Values, merged
from turnstream.server.turns.messages import ToolCall, ended_call, settle_call
from turnstream.server.turns.told_thread import ToldThread, calls_of

Payload = dict[str, Any]
_OpenPart = tuple[str, list[Payload]]
"""The payload of a delta, up to its text, and the events that end a text or a reasoning. A call
ends with its arguments."""
_CLEARED = {"id": "cleared", "role": "reasoning", "content": ""}


def _open(part: chunks.Part, id: str, speaker: Subagent | None) -> tuple[list[Payload], _OpenPart]:
    """Begin a part of the message that has this id: return its first events, and the rest."""
    whose = owner(speaker)
    match part:
        case chunks.ToolCallPart(call_id, name):
            call = {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name}
            delta = _delta("TOOL_CALL_ARGS", "toolCallId", call_id, whose)
            return [{**call, "parentMessageId": id, **whose}], (delta, [])
        case chunks.ReasoningPart():
            start = {**_edge("REASONING_MESSAGE_START", id), "role": "reasoning", **whose}
            delta = _delta("REASONING_MESSAGE_CONTENT", "messageId", id, whose)
            ends = ("REASONING_MESSAGE_END", "REASONING_END")
            end = [{**_edge(type, id), **whose} for type in ends]
            return [{**_edge("REASONING_START", id), **whose}, start], (delta, end)
    start = {**_edge("TEXT_MESSAGE_START", id), "role": "assistant", **whose}
    delta = _delta("TEXT_MESSAGE_CONTENT", "messageId", id, whose)
    return [start], (delta, [{**_edge("TEXT_MESSAGE_END", id), **whose}])


def _edge(type: str, id: str) -> Payload:
    return {"type": type, "messageId": id}


def _delta(type: str, key: str, id: str, whose: Payload) -> str:
    # By hand, not with `dumps`: most chunks are of this kind.
    about = "".join(f'"{name}":{quote(value)},' for name, value in {key: id, **whose}.items())
    return f'{{"type":"{type}",{about}"delta":'


class Said:
    """The parts of the answer, or of what runs under one tool call."""

    def __init__(self, subagents: Subagents) -> None:
        self._subagents = subagents
        self._steps: dict[str, StepMessages] = {}
        self._open: dict[chunks.Path, _OpenPart] = {}
        self._calls: dict[chunks.Path, chunks.ToolCallPart] = {}
        self._newest: dict[Subagent | None, str] = {}
        self._unanswered: dict[chunks.Path, str] = {}
        self._withdrawn: dict[chunks.Path, str] = {}
        """The calls of withdrawn steps that had no result."""
        self.is_in_order = True
        """True while a client has the messages in the thread's order."""

    @property
    def unanswered(self) -> list[str]:
        """The calls that have no result."""
        return [*self._unanswered.values()]

    @property
    def tallied(self) -> list[str]:
        """The same as a client counts them, which withdraws nothing."""
        return [*self._unanswered.values(), *self._withdrawn.values()]

    def delta(self, chunk: chunks.TextDelta) -> str:
        return f"{self._open[chunk.path][0]}{quote(chunk.text)}}}"

    def step_start(self, chunk: chunks.StepStart, speaker: Subagent | None = None) -> list[Payload]:
        self._steps[chunk.step_id] = StepMessages(chunk.step_id, speaker)
        self._newest[speaker] = chunk.step_id
        return [*self._subagents.announce(speaker)]

    def part_start(self, chunk: chunks.PartStart) -> list[Payload]:
        messages = self._steps[chunk.step_id]
        speaker, id = messages.speaker, messages.of(chunk.part)
        if chunk.step_id != self._newest[speaker]:
            self.is_in_order = False
        if isinstance(chunk.part, chunks.ToolCallPart):
            self._calls[chunk.path] = chunk.part
            call_id = self._unanswered[chunk.path] = chunk.part.tool_call_id
            self._subagents.make_call(CallPlace(call_id, chunk.part.tool_name, id, speaker))
        start, self._open[chunk.path] = _open(chunk.part, id, speaker)
        return start

    def args_finish(self, chunk: chunks.ArgsFinish) -> list[Payload]:
        call, speaker = self._calls[chunk.path], self._steps[chunk.step_id].speaker
        return [{"type": "TOOL_CALL_END", "toolCallId": call.tool_call_id, **owner(speaker)}]

    def result(self, chunk: chunks.Result) -> list[Payload]:
        part = self._calls[chunk.path]
        self._unanswered.pop(chunk.path, None)
        ended = {"end": chunk.end, "result": chunk.result, "result_id": chunk.result_id}
        call = ToolCall(part.tool_call_id, part.tool_name, "", None, **ended)
        return answered(self._subagents, call, self._steps[chunk.step_id].speaker)

    def part_finish(self, chunk: chunks.PartFinish) -> list[Payload]:
        return self._open.pop(chunk.path)[1]

    def withdraw(self, chunk: chunks.StepWithdrawn) -> list[Payload]:
        self.is_in_order = False
        for path in [(number,) for number in chunk.parts if (number,) in self._unanswered]:
            self._withdrawn[path] = self._unanswered.pop(path)
        return []

    def encode(self, chunk: chunks.StepChunk) -> list[Payload]:
        """The events of a chunk inside a step."""
        match chunk:
            case chunks.PartStart():
                return self.part_start(chunk)
            case chunks.ArgsFinish():
                return self.args_finish(chunk)
            case chunks.Result():
                return self.result(chunk)
            case chunks.PartFinish():
                return self.part_finish(chunk)
            case chunks.StepWithdrawn():
                return self.withdraw(chunk)
        return []


class AgUiEncoder:
    """`version` is that of the protocol that the client speaks; None: it is older than 1.0."""

    def __init__(self, context: StreamContext, version: str | None = None) -> None:
        self._context, self._version = context, version
        self._thread = ToldThread(context.turns, context.message_id)
        self._subagents = Subagents(context.turns, version)
        self._said = Said(self._subagents)
        self._below: dict[str, Said] = {}
        """The parts that run under tool calls, by call id."""
        self._earlier_calls = calls_of(context.turns)
        self._is_in_order = True
        """False once a message of an earlier run is gone."""
        self._asked: list[chunks.Interrupt] = []
        self._state = AgUiState()
        self._last: dict[type[chunks.Chunk], Any] = {}
        """The last chunk of each type: several of them make the end."""
        self._payloads: Mapping[type[chunks.Chunk], Callable[[Any], list[Payload]]] = {
            chunks.StepStart: self._said.step_start,
            chunks.PartStart: self._part_start,
            chunks.ArgsFinish: self._said.args_finish,
            chunks.Result: self._said.result,
            chunks.PartFinish: self._said.part_finish,
            chunks.StepWithdrawn: self._said.withdraw,
            chunks.MessagesRemoved: self._removed,
            chunks.Interrupt: self._interrupt,
            chunks.ToolSettled: self._settled,
            chunks.ToolProgress: _custom,
            chunks.Custom: _custom,
            chunks.GraphState: self._state.take,
            chunks.Done: self._done,
        }

    def encode(self, chunk: chunks.Chunk) -> list[str]:
        self._thread.take(chunk)
        if type(chunk) is chunks.TextDelta:
            return [self._said.delta(chunk)]
        if type(chunk) is chunks.Substep:
            return self._substep(chunk) if self._version else []
        self._last[type(chunk)] = chunk
        payloads = self._payloads.get(type(chunk))
        return [*map(dumps, payloads(chunk))] if payloads else []

    def _part_start(self, chunk: chunks.PartStart) -> list[Payload]:
        part, start = chunk.part, self._said.part_start(chunk)
        if isinstance(part, chunks.ToolCallPart) and part.predicts:
            return [*self._state.predict(part.tool_name, part.predicts), *start]
        return start

    def _substep(self, chunk: chunks.Substep) -> list[str]:
        id, inner = chunk.tool_call_id, chunk.chunk
        said = self._below.get(id) or self._below.setdefault(id, Said(self._subagents))
        if type(inner) is chunks.TextDelta:
            return [said.delta(inner)]
        if isinstance(inner, chunks.ToolSettled):
            call = ToolCall(inner.tool_call_id, "", "", None)
            caller = self._subagents.call(call.tool_call_id).caller
            events = answered(self._subagents, settle_call(call, inner), caller)
        elif isinstance(inner, chunks.StepStart):
            events = said.step_start(inner, Subagent(self._subagents.call(id), inner.agent))
        else:
            events = said.encode(inner)
        return [*map(dumps, events)]

    def _settled(self, chunk: chunks.ToolSettled) -> list[Payload]:
        """A client that lacks what the thread has from the beginning gets it ahead of the run."""
        call = self._earlier_calls.get(chunk.tool_call_id)
        if call is None or call.end:
            return []
        if self._version and call.substeps:
            self._subagents.take_earlier()
        return answered(self._subagents, settle_call(call, chunk), None)

    # the end

    def _removed(self, _chunk: chunks.MessagesRemoved) -> list[Payload]:
        self._is_in_order = False
        return []

    def _interrupt(self, chunk: chunks.Interrupt) -> list[Payload]:
        self._asked.append(chunk)
        return []

    def _done(self, _chunk: chunks.Done) -> list[Payload]:
        everything = (self._said, *self._below.values())
        is_in_order = self._is_in_order and all(said.is_in_order for said in everything)
        turns = () if is_in_order else self._thread.turns()
        corrections = [] if is_in_order else [*replaced(snapshot(turns, self._version))]
        corrections += self._state.correct()
        error = self._last.get(chunks.Error)
        if error is None:
            interrupts = self._interrupts()
            suspended = self._subagents.suspend(interrupts)
            return [*suspended, *corrections, self._finished(interrupts)]
        return [*corrections, {**_failed(error), **self._usage_of_failure()}]

    def _usage_of_failure(self) -> Payload:
        """A stream that has nothing of its run cannot tell it."""
        if not self._version or chunks.MessageFinish not in self._last:
            return {}
        return {"usage": [counts_json(self._finish.usage)]}

    @property
    def _finish(self) -> chunks.MessageFinish:
        finish: chunks.MessageFinish = self._last[chunks.MessageFinish]
        return finish

    def _interrupts(self) -> list[Payload]:
        """A run that was stopped may leave a question open: its call was approved, and did not
        end."""
        if self._finish.reason == "stop":
            return []
        return open_interrupts(self._thread.turns(), self._asked, self._version)

    def _finished(self, interrupts: Sequence[Payload]) -> Payload:
        ended, reason = self._last.get(chunks.RunEnded), self._finish.reason
        told = given(finishReason=reason, ended=ended and ended_json(ended))
        outcome: Payload | None = None
        about: Payload = {"result": told}
        if interrupts:
            outcome = {"type": "interrupt", "interrupts": interrupts}
        elif self._version and ended:
            # A run that was cut off has no result.
            outcome, about = {"type": "cancelled"}, {"metadata": told}
        elif self._version and (pending := self._pending()):
            outcome = {"type": "success", "pendingToolCallIds": pending}
        return {
            **_edge_of_run("RUN_FINISHED", self._context),
            "usage": [counts_json(self._finish.usage)],
            **about,
            **given(outcome=outcome),
        }

    def _pending(self) -> list[str]:
        """The calls that are left to the client, where it would count others: to `react-ag-ui` up
        to 0.0.57 a success that is said leaves none."""
        left = self._said.unanswered
        tallied = [id for said in (self._said, *self._below.values()) for id in said.tallied]
        return [] if left == tallied else left


def answered(subagents: Subagents, call: ToolCall, caller: Subagent | None) -> list[Payload]:
    """The result of a call; ahead of it the ends of the subagents below it, and of their calls."""
    left = [
        (ended_call(ToolCall(place.id, place.tool_name, "", None)), place.caller)
        for place in subagents.unanswered_below(call.tool_call_id)
    ]
    events: list[Payload] = []
    for one, speaker in (*reversed(left), (call, caller)):
        begun = subagents.announce(speaker)
        events += [*begun, *_end(subagents, one), _result(one, speaker, subagents.version)]
    return events


def _end(subagents: Subagents, call: ToolCall) -> Iterator[Payload]:
    error = call.result.get("error") if call.is_error and isinstance(call.result, dict) else None
    failed = error if isinstance(error, dict) else {}
    return subagents.answer(call.tool_call_id, failed if call.is_error else None)


def _custom(chunk: chunks.Chunk) -> list[Payload]:
    name, value = named_data(chunk)
    return [{"type": "CUSTOM", "name": name, "value": value}]


def _failed(error: chunks.Error) -> Payload:
    """The id of the log entry goes into the sentence: the event has no other place for it."""
    logged = f" ({error.error_id})" if error.error_id else ""
    return {"type": "RUN_ERROR", "message": f"{error.message}{logged}", "code": error.code}


def _edge_of_run(type: str, context: StreamContext) -> Payload:
    run_id = context.client_run_id or context.run_id
    return {"type": type, "threadId": context.thread_id, "runId": run_id}


def _started(context: StreamContext, version: str | None) -> Payload:
    return {**_edge_of_run("RUN_STARTED", context), **given(protocolVersion=version)}


def idle(context: StreamContext, version: str | None = None) -> Iterator[Payload]:
    """An empty run: a client takes no stream without a run."""
    yield _started(context, version)
    if context.graph_state is not None:
        yield _state_snapshot(context.graph_state)
    yield _edge_of_run("RUN_FINISHED", context)


def prologue(
    context: StreamContext, posted: Sequence[Any] | None, version: str | None = None
) -> Iterator[Payload]:
    """The run's start, and what the client lacks of the thread as the run begins. Of a client that
    has posted nothing it is not known what it has.

    The messages of subagents are not compared: a client may leave them out of what it posts, or
    post their calls as those of the answer.
    """
    yield _started(context, version)
    messages = snapshot(context.turns, version)
    if posted is None:
        yield from replaced(messages)
        return
    others = calls_below(context.turns) if version else set[str]()
    (held, held_results), (truth, results) = (_outline(all, others) for all in (posted, messages))
    if held == truth and held_results.items() <= results.items():
        missing = results.keys() - held_results.keys()
        calls = calls_of(context.turns)
        yield from (_result(call, None, version) for id, call in calls.items() if id in missing)
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


def _result(call: ToolCall, caller: Subagent | None, version: str | None) -> Payload:
    """The end of a call. The event has no place for an error: `role` is left out of one, since a
    client takes it for a success."""
    message = result_message(call, caller, version)
    role = {} if call.is_error else {"role": "tool"}
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": message["id"],
        "toolCallId": call.tool_call_id,
        "content": message["content"],
        **role,
        **owner(caller),
    }


def _outline(
    messages: Sequence[Any], others: Collection[str]
) -> tuple[list[list[str]], dict[str, str]]:
    """The turns, and the ids of the tool messages by call id, of messages as they come: what is not
    one of AG-UI's is passed over, and so are subagents and their calls, which are the others.

    A user's turn is `user`, the message's id, the words. Another is `assistant`, the words of its
    texts and the ids of its calls, in order.
    """
    turns: list[list[str]] = []
    results: dict[str, str] = {}
    for message in messages:
        match message:
            case {"subagentRunId": _}:
                continue
            case {"role": "user"}:
                turns.append(["user", str(message.get("id")), *_words(message.get("content"))])
            case {"role": "assistant"}:
                if not turns or turns[-1][0] == "user":
                    turns.append(["assistant"])
                calls = [id for id in _calls(message.get("toolCalls")) if id not in others]
                turns[-1] += [*_words(message.get("content")), *calls]
            case {"role": "tool"} if str(message.get("toolCallId")) not in others:
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
    """The graph's own state that clients see, as a snapshot and as JSON Patches (RFC 6902). A patch
    of a value that a client has predicted has the whole value."""

    def __init__(self) -> None:
        self._values: Values = {}
        self._predictions: dict[tuple[str, str], str | None] = {}
        """The arguments whose values clients take for those of the state, by tool and key."""

    def predict(self, tool: str, keys: Mapping[str, str | None]) -> list[Payload]:
        """Say which state the arguments of a call predict: CopilotKit shows it while they stream.
        An event stands for all of the run, since the calls of a step may interleave."""
        new = {(tool, key): argument for key, argument in keys.items()}
        if new.items() <= self._predictions.items():
            return []
        self._predictions |= new
        value = [
            {"tool": tool, "state_key": key, **given(tool_argument=argument)}
            for (tool, key), argument in self._predictions.items()
        ]
        return [{"type": "CUSTOM", "name": "PredictState", "value": value}]

    def correct(self) -> list[Payload]:
        """The state as the run ends, whatever has come of its predictions."""
        return [_state_snapshot(self._values)] if self._predictions else []

    def take(self, chunk: GraphState) -> list[Payload]:
        before, self._values = self._values, merged(self._values, chunk)
        if chunk.is_whole:
            return [_state_snapshot(self._values)]
        delta: list[Payload] = []
        predicted = {key for _, key in self._predictions}
        for name, value in chunk.values.items():
            path = f"/{_token(name)}"
            change: list[Payload] = [{"op": "add", "path": path, "value": value}]
            if name in before and name not in predicted:
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
