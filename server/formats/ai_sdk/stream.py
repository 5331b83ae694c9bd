"""AI SDK UI message stream v1 (checked on ai 5.0.277, 6.0.0, 6.0.326, 7.0.173): chunks to payloads.

Its parsers reject a null for a missing field, and some builds any key they do not know. Deliberate
departures:

1. The message's `start` is in the prologue, so that a replay can put the parts of earlier runs
   between it and the first event.
2. Arguments that are no JSON object are said once, when the call's error is known:
   `tool-input-error` carries its sentence. Until then the input is streaming.
3. `useChat` stops reading at `error`. The run's `finish` follows all the same, for other readers.
4. Version 5 has no approvals: it fails at `tool-approval-request`, and at `tool-output-denied`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from turnstream.server.formats.ai_sdk.tool_call import (
    approval_request,
    error_text,
    executed_by,
    input_available,
    input_delta,
    input_start,
    output,
)
from turnstream.server.formats.format import StreamContext
from turnstream.server.formats.json_text import DONE, dumps, quote
from turnstream.server.formats.metadata import (
    added_timing,
    custom_json,
    ended_json,
    interrupt_json,
    timing_json,
    tool_approval_json,
    total,
    total_timing,
    usage_json,
)
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Custom,
    Done,
    Error,
    GraphState,
    Interrupt,
    InterruptsDiscarded,
    MessageFinish,
    MessagesRemoved,
    Part,
    PartFinish,
    PartStart,
    Path,
    ReasoningPart,
    Result,
    RunEnded,
    StepFinish,
    StepStart,
    StepWithdrawn,
    TextDelta,
    ToolApproval,
    ToolCallPart,
    ToolProgress,
    ToolSettled,
    Usage,
)
from turnstream.server.turns.graph_state import Values, merged
from turnstream.server.turns.messages import (
    AssistantTurn,
    Reasoning,
    Text,
    ToolCall,
    settle_call,
    with_args,
)

Payload = dict[str, Any]


@dataclass(slots=True)
class _Withdrawal:
    id: str
    step_id: str
    place: int
    """The place of the data part in the message, counted from the stream's first part."""
    parts: list[int]

    def payload(self) -> Payload:
        back = [self.place - part for part in self.parts]
        data = {"step_id": self.step_id, "parts_back": back}
        return {"type": "data-step-withdrawn", "id": self.id, "data": data}


class PartPlaces:
    """The places of parts in the client's message, and the parts that were withdrawn.

    An append-only client keeps what it was told. `data-step-withdrawn` is a part of the message
    too, and says which parts ahead of it do not count: `parts_back` are their distances from it.

        {"type": "data-step-withdrawn", "id", "data": {"step_id", "parts_back": [4, 3]}}

    A client may know a tool call that is told again by its id, and keep its part (ai 5.0, 6.0.0),
    or give it another (6.0.326). So the same data part comes again, without the call, and takes the
    place of the first; of several parts of one call the last one counts.
    """

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._count = 0
        self._markers: dict[str, int] = {}
        """The place of a step's `step-start` part."""
        self._by_path: dict[Path, int] = {}
        """The place of each part in the message."""
        self._calls: dict[str, int] = {}
        self._withdrawn: list[_Withdrawal] = []
        self._open: set[str] = set()
        self._ending = 0

    @property
    def calls(self) -> Collection[str]:
        """The ids of the calls among the parts."""
        return self._calls

    def start(self, chunk: StepStart) -> list[Payload]:
        self._open.add(chunk.step_id)
        self._markers[chunk.step_id] = self._next()
        return [{"type": "start-step"}]

    def add(self, path: Path, part: Part) -> list[Payload]:
        """A part begins. Returns what it changes of what was taken back."""
        known = self._calls.get(part.tool_call_id) if isinstance(part, ToolCallPart) else None
        place = self._by_path[path] = self._next() if known is None else known
        if isinstance(part, ToolCallPart):
            self._calls[part.tool_call_id] = place
        return [] if known is None else self._keep(known)

    def _keep(self, place: int) -> list[Payload]:
        changed = [withdrawal for withdrawal in self._withdrawn if place in withdrawal.parts]
        for withdrawal in changed:
            withdrawal.parts.remove(place)
        return [withdrawal.payload() for withdrawal in changed]

    def finish(self, chunk: StepFinish) -> None:
        """A step has ended; one that ended before has only got another reason."""
        self._ending += chunk.step_id in self._open
        self._open.discard(chunk.step_id)

    def finish_steps(self) -> list[Payload]:
        """The ends of the steps that have ended since this was asked last."""
        ending, self._ending = self._ending, 0
        return [{"type": "finish-step"}] * ending

    def withdraw(self, chunk: StepWithdrawn) -> list[Payload]:
        parts = [
            self._markers[chunk.step_id],
            *(self._by_path[(number,)] for number in chunk.parts),
        ]
        # Unique in the message, which several runs may tell.
        id = f"{self._run_id}.{len(self._withdrawn)}"
        self._withdrawn.append(_Withdrawal(id, chunk.step_id, self._next(), parts))
        return [self._withdrawn[-1].payload()]

    def _next(self) -> int:
        place, self._count = self._count, self._count + 1
        return place


@dataclass(slots=True)
class _OpenText:
    """`delta`: the payload of a delta up to its text; `end`: what closes the part."""

    delta: str
    end: Payload


@dataclass(slots=True)
class _OpenCall:
    delta: str
    call: ToolCall
    texts: list[str]


class UIMessageStreamEncoder:
    def __init__(self, context: StreamContext) -> None:
        earlier = context.continued
        self._message_id = context.message_id
        self._first = 0 if earlier is None else len(earlier.parts)
        self._usage = total(earlier) or Usage(0, 0)
        self._timing = total_timing(() if earlier is None else earlier.steps)
        self._earlier_calls = _calls(earlier)
        self._open: dict[Path, _OpenText | _OpenCall] = {}
        self._places = PartPlaces(context.run_id)
        self._ended: RunEnded | None = None
        self._payloads: Mapping[type[Chunk], Callable[[Any], list[Payload]]] = {
            StepStart: self._places.start,
            PartStart: self._part_start,
            ArgsFinish: self._args_finish,
            Result: self._result,
            PartFinish: self._part_finish,
            StepFinish: self._step_finish,
            StepWithdrawn: self._places.withdraw,
            MessagesRemoved: _messages_removed_data,
            Interrupt: self._interrupt,
            InterruptsDiscarded: _interrupts_discarded_data,
            RunEnded: self._run_ended,
            ToolSettled: self._settled,
            ToolApproval: self._approval,
            ToolProgress: self._progress,
            Custom: _custom_data,
            GraphState: _GraphStates().take,
            Error: _error,
            MessageFinish: self._message_finish,
        }

    def encode(self, chunk: Chunk) -> list[str]:
        if type(chunk) is TextDelta:
            return [self._text_delta(chunk)]
        if type(chunk) is Done:
            return [DONE]
        return [dumps(payload) for payload in self._payloads[type(chunk)](chunk)]

    def _text_delta(self, chunk: TextDelta) -> str:
        part = self._open[chunk.path]
        if type(part) is _OpenCall:
            part.texts.append(chunk.text)
        return f"{part.delta}{quote(chunk.text)}}}"

    def _part_start(self, chunk: PartStart) -> list[Payload]:
        told_again = self._places.add(chunk.path, chunk.part)
        if isinstance(chunk.part, ToolCallPart):
            return self._start_call(chunk.path, chunk.part) + told_again
        kind = "reasoning" if isinstance(chunk.part, ReasoningPart) else "text"
        id = part_id(self._message_id, self._first + chunk.path[0])
        delta = f'{{"type":"{kind}-delta","id":{quote(id)},"delta":'
        self._open[chunk.path] = _OpenText(delta, end={"type": f"{kind}-end", "id": id})
        return [{"type": f"{kind}-start", "id": id}]

    def _start_call(self, path: Path, part: ToolCallPart) -> list[Payload]:
        call = ToolCall(part.tool_call_id, part.tool_name, "", None, part.disposition)
        known = f'"toolCallId":{quote(part.tool_call_id)}'
        delta = f'{{"type":"tool-input-delta",{known},"inputTextDelta":'
        self._open[path] = _OpenCall(delta, call, texts=[])
        return [input_start(call)]

    def _args_finish(self, chunk: ArgsFinish) -> list[Payload]:
        part = self._call(chunk.path)
        part.call = with_args(replace(part.call, args_text="".join(part.texts)), chunk)
        return [] if chunk.args is None else [input_available(part.call)]

    def _result(self, chunk: Result) -> list[Payload]:
        part = self._call(chunk.path)
        part.call = replace(part.call, end=chunk.end, result=chunk.result)
        return [output(part.call)]

    def _part_finish(self, chunk: PartFinish) -> list[Payload]:
        part = self._open.pop(chunk.path)
        if isinstance(part, _OpenText):
            return [part.end, *self._finish_steps()]
        return _approval_requests(part.call)

    def _step_finish(self, chunk: StepFinish) -> list[Payload]:
        self._places.finish(chunk)
        return self._finish_steps()

    def _finish_steps(self) -> list[Payload]:
        """At `finish-step` the client lets go of all open texts, those of other steps too."""
        if any(isinstance(part, _OpenText) for part in self._open.values()):
            return []
        return self._places.finish_steps()

    def _call(self, path: Path) -> _OpenCall:
        part = self._open[path]
        assert isinstance(part, _OpenCall), f"part {path} is no tool call"
        return part

    def _run_ended(self, chunk: RunEnded) -> list[Payload]:
        self._ended = chunk
        return []

    def _settled(self, chunk: ToolSettled) -> list[Payload]:
        # The client throws at an output for a call of any message but this one.
        call = self._earlier_calls.get(chunk.tool_call_id)
        return [] if call is None else [output(settle_call(call, chunk))]

    def _approval(self, chunk: ToolApproval) -> list[Payload]:
        """Ask again for an approval. A decision needs no event: the end of the call shows it."""
        call = self._earlier_calls.get(chunk.tool_call_id)
        requests = [] if call is None else _approval_requests(settle_call(call, chunk))
        return [*requests, *_tool_approval_data(chunk)]

    def _interrupt(self, chunk: Interrupt) -> list[Payload]:
        requests = [
            approval_request(id, question)
            for id, question in chunk.approvals.items()
            if id in self._earlier_calls or id in self._places.calls
        ]
        return [*requests, *_interrupt_data(chunk)]

    def _progress(self, chunk: ToolProgress) -> list[Payload]:
        """An interim output, of a call that runs: elsewhere it would pass for its answer."""
        return [
            {**output(replace(call, end="result", result=chunk.data)), "preliminary": True}
            for call in (part.call for part in self._open.values() if isinstance(part, _OpenCall))
            if call.tool_call_id == chunk.tool_call_id and _is_running(call)
        ]

    def _message_finish(self, chunk: MessageFinish) -> list[Payload]:
        metadata: Payload = {
            "usage": usage_json(self._usage + chunk.usage),
            **timing_json(*added_timing(self._timing, chunk.timing, chunk.tool_ms)),
        }
        finish = {"type": "finish", "finishReason": chunk.reason, "messageMetadata": metadata}
        if self._ended is None:
            return [finish]
        metadata["ended"] = ended_json(self._ended)
        return [{"type": "abort"}, finish]


def _error(chunk: Error) -> list[Payload]:
    error = {"message": chunk.message, "id": chunk.error_id}
    return [{"type": "error", "errorText": error_text(error)}]


def _approval_requests(call: ToolCall) -> list[Payload]:
    if call.approval is None or not call.awaits_approval:
        return []
    return [approval_request(call.tool_call_id, call.approval)]


def _is_running(call: ToolCall) -> bool:
    return call.args is not None and call.end is None and call.disposition == "server"


def part_id(message_id: str, position: int) -> str:
    """`position`: of the part in the whole message, over all its runs."""
    return f"{message_id}.{position}"


def _calls(turn: AssistantTurn | None) -> Mapping[str, ToolCall]:
    parts = turn.parts if turn else ()
    return {part.tool_call_id: part for part in parts if isinstance(part, ToolCall)}


# Data chunks that are no part of a message, for the app's `onData`. A client that loads the thread
# finds open interrupts and the graph's state beside the messages, or on their parts; custom events
# are not kept.


def _custom_data(chunk: Custom) -> list[Payload]:
    return _transient("custom", custom_json(chunk))


def _messages_removed_data(chunk: MessagesRemoved) -> list[Payload]:
    return _transient("messages-removed", {"ids": chunk.ids})


def _interrupt_data(chunk: Interrupt) -> list[Payload]:
    return _transient("interrupt", interrupt_json(chunk))


def _interrupts_discarded_data(chunk: InterruptsDiscarded) -> list[Payload]:
    return _transient("interrupts-discarded", {"ids": chunk.ids})


def _tool_approval_data(chunk: ToolApproval) -> list[Payload]:
    return _transient("tool-approval", tool_approval_json(chunk))


class _GraphStates:
    """The graph's state, the whole each time: the app replaces what it has."""

    def __init__(self) -> None:
        self._values: Values = {}

    def take(self, chunk: GraphState) -> list[Payload]:
        self._values = merged(self._values, chunk)
        return _transient("state", self._values)


def _transient(name: str, data: Mapping[str, Any]) -> list[Payload]:
    return [{"type": f"data-{name}", "data": data, "transient": True}]


def prologue(context: StreamContext, *, replay: bool) -> list[str]:
    """The message's `start`, and for a replay the parts of earlier runs."""
    earlier = context.continued if replay else None
    start = {"type": "start", "messageId": context.message_id}
    return [dumps(payload) for payload in (start, *(_replay(earlier) if earlier else ()))]


def _replay(turn: AssistantTurn) -> Iterator[Payload]:
    """The parts of a message from earlier runs, each in one piece."""
    position = 0
    for step in turn.steps:
        yield {"type": "start-step"}
        for part in step.parts:
            match part:
                case Text(text):
                    yield from _whole("text", part_id(turn.id, position), text)
                case Reasoning(text):
                    yield from _whole("reasoning", part_id(turn.id, position), text)
                case ToolCall():
                    yield from _whole_call(part)
            position += 1
        yield {"type": "finish-step"}


def _whole(kind: str, part_id: str, text: str) -> Iterator[Payload]:
    yield {"type": f"{kind}-start", "id": part_id}
    yield {"type": f"{kind}-delta", "id": part_id, "delta": text}
    yield {"type": f"{kind}-end", "id": part_id}


def _whole_call(call: ToolCall) -> Iterator[Payload]:
    """An answered question comes without `tool-input-available`, at which the client would call the
    app's `onToolCall`: the app has answered it. No chunk says that a call was approved: it is shown
    as one that runs. A declined one gets its `approval` by the request."""
    if call.args is not None and call.end is not None and not executed_by(call):
        yield input_start(call)
        yield input_delta(call)
    elif call.args is not None:
        yield input_available(call)
    elif call.end is None:
        yield input_start(call)
    if call.approval is not None and (call.awaits_approval or call.end == "declined"):
        yield approval_request(call.tool_call_id, call.approval)
    if call.end is not None:
        yield output(call)
