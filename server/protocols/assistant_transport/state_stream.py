"""assistant-transport with state: each chunk's part payload, and the change that it makes to the
state of `langchain_state`.

After every chunk the state is the snapshot of what has been said so far. Nothing is appended to
that the same run has not `set`, so that a replay converges; no index leaves a gap, since clients
run the operations in strict mode.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from server.protocols.assistant_transport.state import (
    ai_message,
    block,
    call_json,
    snapshot,
    tool_message,
)
from server.protocols.assistant_transport.stream import PartsEncoder
from server.protocols.format import StreamContext, View
from server.protocols.json_text import dumps, quote
from server.turns.chunks import (
    ArgsFinish,
    Chunk,
    PartStart,
    ReasoningPart,
    Result,
    StepStart,
    TextDelta,
    TextPart,
    ToolCallPart,
    ToolSettled,
)
from server.turns.messages import Reasoning, Text, ToolCall, settle_turn

Operation = dict[str, Any]


@dataclass(slots=True)
class _Call:
    """A tool call of the running step. `position`: in the ai message's `tool_calls`."""

    position: int
    part: ToolCallPart


@dataclass(slots=True)
class _Step:
    """The running step. `index`: of its ai message in the state."""

    step_id: str
    index: int
    started: bool = False
    spoken: int = 0
    calls: dict[int, _Call] = field(default_factory=dict)
    results: dict[int, Operation] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.index + self.started + len(self.results)


class StateEncoder:
    def __init__(self, context: StreamContext) -> None:
        self._parts = PartsEncoder()
        self._state = snapshot(context.turns, context.thread_id)
        self._turns, self._thread_id = context.turns, context.thread_id
        self._step = _Step("", index=len(self._state["messages"]))
        self._started = 0
        self._append: dict[int, str] = {}
        self._plain_path: int | None = None
        """The part whose text is the whole `content`, which is a string as long as there is one."""
        self._plain_texts: list[str] = []
        self._operations: Mapping[type[Chunk], Callable[[Any], list[Operation]]] = {
            StepStart: self._step_start,
            PartStart: self._part_start,
            ArgsFinish: self._args_finish,
            Result: self._result,
            ToolSettled: self._settled,
        }

    def encode(self, chunk: Chunk) -> list[str]:
        payloads = self._parts.encode(chunk)
        if type(chunk) is TextDelta:
            payloads.append(self._text_delta(chunk))
        elif (change := self._operations.get(type(chunk))) and (operations := change(chunk)):
            payloads.append(_update(operations))
        return payloads

    def _text_delta(self, chunk: TextDelta) -> str:
        path = chunk.path[0]
        if path == self._plain_path:
            self._plain_texts.append(chunk.text)
        return f'{self._append[path]}{quote(chunk.text)}}}],"path":[]}}'

    def _step_start(self, chunk: StepStart) -> list[Operation]:
        self._step = _Step(chunk.step_id, index=self._step.end)
        self._plain_path = None
        return []

    def _part_start(self, chunk: PartStart) -> list[Operation]:
        path, step = self._started, self._step
        self._started += 1
        operations = []
        if not step.started:
            step.started = True
            operations.append(_set(["messages", step.index], ai_message(step.step_id, "", [])))
        match chunk.part:
            case ToolCallPart() as part:
                return operations + self._start_call(path, part)
            case TextPart() | ReasoningPart() as part:
                return operations + self._start_spoken(path, part)

    def _start_call(self, path: int, part: ToolCallPart) -> list[Operation]:
        call = _Call(len(self._step.calls), part)
        self._step.calls[path] = call
        target = [*self._message, "tool_calls", call.position]
        self._append[path] = _append_to([*target, "partial_json"])
        return [_set(target, call_json(ToolCall(part.tool_call_id, part.tool_name, "", None)))]

    def _start_spoken(self, path: int, part: TextPart | ReasoningPart) -> list[Operation]:
        position, self._step.spoken = self._step.spoken, self._step.spoken + 1
        content = [*self._message, "content"]
        if position == 0 and isinstance(part, TextPart):
            self._append[path] = _append_to(content)
            self._plain_path, self._plain_texts = path, []
            return []
        new, target = _EMPTY[type(part)]
        self._append[path] = _append_to([*content, position, *target])
        if position == 0:
            return [_set(content, [block(new)])]
        if self._plain_path is None:
            return [_set([*content, position], block(new))]
        return [_set(content, [self._plain_block(content), block(new)])]

    def _plain_block(self, content: list[str | int]) -> Operation:
        """Content ceases to be a string: what there is of it, as the first block."""
        assert self._plain_path is not None
        self._append[self._plain_path] = _append_to([*content, 0, "text"])
        self._plain_path = None
        return block(Text("".join(self._plain_texts)))

    def _args_finish(self, chunk: ArgsFinish) -> list[Operation]:
        if chunk.args is None:
            return []
        call = self._step.calls[chunk.path[0]]
        return [_set([*self._message, "tool_calls", call.position, "args"], chunk.args)]

    def _result(self, chunk: Result) -> list[Operation]:
        """The tool messages stand in the order of their calls, in whatever order they come: those
        behind a new one move up."""
        step, call = self._step, self._step.calls[chunk.path[0]]
        step.results[call.position] = tool_message(
            ToolCall(
                call.part.tool_call_id,
                call.part.tool_name,
                args_text="",
                args=None,
                end=chunk.end,
                result=chunk.result,
                result_id=chunk.result_id,
            )
        )
        return [
            _set(["messages", step.index + 1 + rank], step.results[position])
            for rank, position in enumerate(sorted(step.results))
            if position >= call.position
        ]

    def _settled(self, chunk: ToolSettled) -> list[Operation]:
        """The end of a call of an earlier run: its tool message comes before all that this run
        says, and so is told before it says anything."""
        if self._step.started:
            return []
        before = self._state["messages"]
        self._turns = tuple(settle_turn(turn, chunk) for turn in self._turns)
        self._state = snapshot(self._turns, self._thread_id)
        after = self._state["messages"]
        self._step.index += len(after) - len(before)
        return _from_first_difference(before, after)

    @property
    def _message(self) -> list[str | int]:
        return ["messages", self._step.index]


_EMPTY: Mapping[type[TextPart | ReasoningPart], tuple[Text | Reasoning, list[str | int]]] = {
    TextPart: (Text(""), ["text"]),
    ReasoningPart: (Reasoning(""), ["summary", 0, "text"]),
}
"""An empty block, and where in it the text goes."""


def catch_up(context: StreamContext, posted: View) -> list[str]:
    """What takes a client from the state that it posted to the state before the first chunk."""
    operations = _catch_up(posted, snapshot(context.turns, context.thread_id))
    return [_update(operations)] if operations else []


def _catch_up(posted: Mapping[str, Any], state: Operation) -> list[Operation]:
    """What takes the client's state to the server's: the whole, unless it is of the same thread,
    then the messages from the first that differs. What else the app keeps in it stays."""
    theirs = posted.get("messages")
    if posted.get("thread_id") != state["thread_id"] or type(theirs) is not list:
        return [_set([], state)]
    ours = state["messages"]
    if len(theirs) > len(ours):
        return [_set(["messages"], ours)]
    return _from_first_difference(theirs, ours)


def _from_first_difference(theirs: Sequence[Any], ours: Sequence[Any]) -> list[Operation]:
    pairs = zip(theirs, ours, strict=False)
    same = next((i for i, (their, our) in enumerate(pairs) if their != our), len(theirs))
    return [_set(["messages", index], ours[index]) for index in range(same, len(ours))]


def _update(operations: list[Operation]) -> str:
    return dumps({"type": "update-state", "operations": operations, "path": []})


def _set(path: list[str | int], value: Any) -> Operation:
    return {"type": "set", "path": [str(segment) for segment in path], "value": value}


def _append_to(path: list[str | int]) -> str:
    """The payload of an `append-text` up to its value."""
    target = dumps([str(segment) for segment in path])
    return f'{{"type":"update-state","operations":[{{"type":"append-text","path":{target},"value":'
