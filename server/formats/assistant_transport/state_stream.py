"""assistant-transport with state: each chunk's part payload, and the change that it makes to the
state (`turnstream.server.formats.assistant_transport.state`).

After every chunk the state is the snapshot of what has been said so far, but for empty messages in
the place of steps that were withdrawn: a list can lose some only by being sent whole, which is done
once, at the end, and only if nothing has taken their place. Nothing is appended to that the same
run has not `set`, so that a replay converges; no index leaves a gap, since clients run the
operations in strict mode.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from turnstream.server.formats.assistant_transport.state import (
    ai_message,
    approvals,
    call_json,
    snapshot,
)
from turnstream.server.formats.assistant_transport.stream import PartsEncoder
from turnstream.server.formats.format import StreamContext, View
from turnstream.server.formats.json_text import dumps, quote
from turnstream.server.formats.langchain_messages import block, tool_message
from turnstream.server.formats.metadata import approval_json
from turnstream.server.turns.chunks import (
    Approval,
    ArgsFinish,
    Chunk,
    Interrupt,
    MessageFinish,
    MessagesRemoved,
    Part,
    PartStart,
    Path,
    ReasoningPart,
    Result,
    StepStart,
    StepWithdrawn,
    TextDelta,
    ToolApproval,
    ToolCallPart,
    ToolSettled,
)
from turnstream.server.turns.graph_state import GraphState, Values, merged
from turnstream.server.turns.messages import (
    Reasoning,
    Text,
    ToolCall,
    Turn,
    settle_turn,
    with_args,
    without,
)

Operation = dict[str, Any]

REFUSED = frozenset({"__proto__", "constructor", "prototype"})
"""Names that the client takes in no path."""


def update(operations: list[Operation]) -> str:
    return dumps({"type": "update-state", "operations": operations, "path": []})


def set_at(path: Sequence[str | int], value: Any) -> Operation:
    return {"type": "set", "path": [str(segment) for segment in path], "value": value}


def append_to(path: Sequence[str | int]) -> str:
    """The payload of an `append-text` up to its value."""
    target = dumps([str(segment) for segment in path])
    return f'{{"type":"update-state","operations":[{{"type":"append-text","path":{target},"value":'


def from_first_difference(theirs: Sequence[Any], ours: Sequence[Any]) -> list[Operation]:
    pairs = zip(theirs, ours, strict=False)
    same = next((i for i, (their, our) in enumerate(pairs) if their != our), len(theirs))
    return [set_at(["messages", index], ours[index]) for index in range(same, len(ours))]


class StateApprovals:
    """The approvals in the client's state."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        """`turns` are the thread's as the run begins."""
        self._by_call = approvals(turns)

    def set(self, call_id: str, approval: Approval) -> list[Operation]:
        value = approval_json(approval)
        if self._by_call.get(call_id) == value:
            return []
        self._by_call[call_id] = value
        return self._whole() if call_id in REFUSED else [set_at(["approvals", call_id], value)]

    def remove(self, call_ids: Collection[str]) -> list[Operation]:
        """Remove the approvals of calls that left the thread."""
        left = {id: value for id, value in self._by_call.items() if id not in call_ids}
        if len(left) == len(self._by_call):
            return []
        self._by_call = left
        return self._whole()

    def _whole(self) -> list[Operation]:
        return [set_at(["approvals"], dict(self._by_call))]


class StateOfGraph:
    """The graph's own state in the client's state."""

    def __init__(self, before: Values | None) -> None:
        """`before` are its values as the run begins."""
        self._values: Values = before or {}

    def take(self, chunk: GraphState) -> list[Operation]:
        self._values = merged(self._values, chunk)
        if chunk.is_whole or not REFUSED.isdisjoint(chunk.values):
            return [set_at(["state"], self._values)]
        return [set_at(["state", name], value) for name, value in chunk.values.items()]


Json = dict[str, Any]
Segments = list[str | int]


@dataclass(slots=True)
class StatePart:
    """`place`: of its text in the message, which holds a text alone as a plain string."""

    part: Part
    position: int
    """Among the texts of its message, or among the calls."""
    texts: list[str] = field(default_factory=list)
    call: ToolCall | None = None
    append: str | None = None
    """The payload of an `append-text` up to its value; None: the part has moved since."""

    @property
    def text(self) -> str:
        if len(self.texts) > 1:
            self.texts = ["".join(self.texts)]
        return self.texts[0] if self.texts else ""

    def block(self) -> Json:
        reasons = isinstance(self.part, ReasoningPart)
        return block(Reasoning(self.text) if reasons else Text(self.text))

    def call_json(self) -> Json:
        assert self.call is not None
        return call_json(replace(self.call, args_text=self.text))


@dataclass(slots=True)
class StateStep:
    """The messages of one step in the client's state. `index` is that of the first."""

    step_id: str
    index: int
    spoken: list[StatePart] = field(default_factory=list)
    calls: list[StatePart] = field(default_factory=list)
    parts: dict[Path, StatePart] = field(default_factory=dict)
    """All of them, in the order in which they started."""
    results: dict[int, Json] = field(default_factory=dict)
    """By the position of their call."""

    @property
    def is_started(self) -> bool:
        return bool(self.spoken or self.calls)

    @property
    def size(self) -> int:
        """The number of its messages."""
        return self.is_started + len(self.results)

    @property
    def is_plain(self) -> bool:
        """True if the content is a string: the message has one text and nothing else."""
        return len(self.spoken) == 1 and not isinstance(self.spoken[0].part, ReasoningPart)

    def messages(self) -> list[Json]:
        if not self.is_started:
            return []
        calls = [call.call_json() for call in self.calls]
        results = [self.results[position] for position in sorted(self.results)]
        return [ai_message(self.step_id, self.content(), calls), *results]

    def content(self) -> str | list[Json]:
        if self.is_plain:
            return self.spoken[0].text
        return [part.block() for part in self.spoken] or ""

    def add(self, path: Path, part: Part) -> StatePart:
        if isinstance(part, ToolCallPart):
            call = ToolCall(part.tool_call_id, part.tool_name, "", None)
            added = StatePart(part, len(self.calls), call=call)
            self.calls.append(added)
        else:
            added = StatePart(part, len(self.spoken))
            self.spoken.append(added)
        self.parts[path] = added
        return added

    def forget_targets(self) -> None:
        """Its parts have moved."""
        for part in self.parts.values():
            part.append = None

    def finish_args(self, part: StatePart, chunk: ArgsFinish) -> None:
        assert part.call is not None
        part.call = with_args(part.call, chunk)

    def answer(self, part: StatePart, chunk: Result) -> int:
        """The tool messages stand in the order of their calls, in whatever order they come. Returns
        how many stand ahead of the new one."""
        assert part.call is not None
        ended = {"end": chunk.end, "result": chunk.result, "result_id": chunk.result_id}
        self.results[part.position] = tool_message(replace(part.call, **ended))
        return sorted(self.results).index(part.position)

    def target(self, part: StatePart) -> Segments:
        """Return the path in the state to which the part's text is appended."""
        message: Segments = ["messages", self.index]
        if part.call is not None:
            return [*message, "tool_calls", part.position, "partial_json"]
        if self.is_plain:
            return [*message, "content"]
        inside: Segments = ["summary", 0] if isinstance(part.part, ReasoningPart) else []
        return [*message, "content", part.position, *inside, "text"]


class StateEncoder:
    def __init__(self, context: StreamContext) -> None:
        self._parts = PartsEncoder()
        self._before: list[Operation] = snapshot(context.turns, context.thread_id)["messages"]
        self._turns, self._thread_id = context.turns, context.thread_id
        self._approvals = StateApprovals(context.turns)
        self._steps: dict[str, StateStep] = {}
        """In the order of their messages."""
        self._slots = len(self._before)
        """The length of the client's list."""
        self._blanks = 0
        self._operations: Mapping[type[Chunk], Callable[[Any], list[Operation]]] = {
            StepStart: self._step_start,
            PartStart: self._part_start,
            ArgsFinish: self._args_finish,
            Result: self._result,
            StepWithdrawn: self._withdrawn,
            MessagesRemoved: self._removed,
            MessageFinish: self._finished,
            ToolSettled: self._settled,
            ToolApproval: self._approval,
            Interrupt: self._interrupt,
            GraphState: StateOfGraph(context.graph_state).take,
        }

    def encode(self, chunk: Chunk) -> list[str]:
        payloads = self._parts.encode(chunk)
        if type(chunk) is TextDelta:
            payloads.append(self._text_delta(chunk))
        elif (change := self._operations.get(type(chunk))) and (operations := change(chunk)):
            payloads.append(update(operations))
        return payloads

    def _text_delta(self, chunk: TextDelta) -> str:
        step, part = self._place_of(chunk)
        part.texts.append(chunk.text)
        if part.append is None:
            part.append = append_to(step.target(part))
        return f'{part.append}{quote(chunk.text)}}}],"path":[]}}'

    def _place_of(self, chunk: TextDelta | ArgsFinish | Result) -> tuple[StateStep, StatePart]:
        step = self._steps[chunk.step_id]
        return step, step.parts[chunk.path]

    def _step_start(self, chunk: StepStart) -> list[Operation]:
        self._steps[chunk.step_id] = StateStep(chunk.step_id, self._end)
        return []

    def _part_start(self, chunk: PartStart) -> list[Operation]:
        step = self._steps[chunk.step_id]
        is_new, was_plain = not step.is_started, step.is_plain
        part = step.add(chunk.path, chunk.part)
        if is_new and step is not self._last:
            return self._again(step)
        operations = []
        self._take_slots()
        if is_new:
            operations.append(set_at(["messages", step.index], ai_message(step.step_id, "", [])))
        if part.call is not None:
            target: list[str | int] = ["messages", step.index, "tool_calls", part.position]
            return [*operations, set_at(target, part.call_json())]
        content: list[str | int] = ["messages", step.index, "content"]
        if step.is_plain:
            return operations
        if was_plain:
            step.forget_targets()
        if was_plain or part.position == 0:
            return [*operations, set_at(content, step.content())]
        return [*operations, set_at([*content, part.position], part.block())]

    def _args_finish(self, chunk: ArgsFinish) -> list[Operation]:
        step, part = self._place_of(chunk)
        step.finish_args(part, chunk)
        if chunk.args is None or part.call is None:
            return []
        args: list[str | int] = ["messages", step.index, "tool_calls", part.position, "args"]
        return [set_at(args, chunk.args), *self._asked(part.call)]

    def _asked(self, call: ToolCall) -> list[Operation]:
        if call.approval is None:
            return []
        return self._approvals.set(call.tool_call_id, call.approval)

    def _result(self, chunk: Result) -> list[Operation]:
        """Insert a tool message. The tool messages behind it move up."""
        step, part = self._place_of(chunk)
        rank = step.answer(part, chunk)
        if step is not self._last:
            return self._again(step)
        self._take_slots()
        messages = step.messages()
        first = 1 + rank
        return [
            set_at(["messages", step.index + place], message)
            for place, message in enumerate(messages[first:], start=first)
        ]

    def _again(self, first: StateStep) -> list[Operation]:
        """A step's messages and all behind it, which have moved."""
        steps = [*self._steps.values()]
        steps = steps[steps.index(first) :]
        index, operations = first.index, list[Operation]()
        for step in steps:
            step.index = index
            step.forget_targets()
            for message in step.messages():
                operations.append(set_at(["messages", index], message))
                index += 1
        left = range(index, self._slots)
        self._take_slots()
        return operations + [self._blank(place) for place in left]

    @property
    def _last(self) -> StateStep | None:
        return next(reversed(self._steps.values()), None)

    @property
    def _end(self) -> int:
        last = self._last
        return last.index + last.size if last else len(self._before)

    def _take_slots(self) -> None:
        self._slots = max(self._slots, self._end)

    def _blank(self, index: int) -> Operation:
        self._blanks += 1
        return set_at(["messages", index], ai_message(f"withdrawn-{self._blanks}", "", []))

    def _withdrawn(self, chunk: StepWithdrawn) -> list[Operation]:
        step = self._steps.pop(chunk.step_id)
        blanks = [self._blank(step.index + place) for place in range(step.size)]
        calls = [part.call.tool_call_id for part in step.calls if part.call]
        return [*blanks, *self._approvals.remove(calls)]

    def _finished(self, _: MessageFinish) -> list[Operation]:
        told = len(self._before) + sum(step.size for step in self._steps.values())
        return self._whole() if told < self._slots else []

    def _whole(self) -> list[Operation]:
        """All messages: a list can lose some in no other way."""
        messages = list(self._before)
        for step in self._steps.values():
            step.index = len(messages)
            step.forget_targets()
            messages += step.messages()
        self._slots = len(messages)
        return [set_at(["messages"], messages)]

    def _removed(self, chunk: MessagesRemoved) -> list[Operation]:
        known = approvals(self._turns)
        self._turns = tuple(without(self._turns, chunk.ids))
        self._before = snapshot(self._turns, self._thread_id)["messages"]
        gone = known.keys() - approvals(self._turns).keys()
        return [*self._whole(), *self._approvals.remove(gone)]

    def _approval(self, chunk: ToolApproval) -> list[Operation]:
        return self._approvals.set(chunk.tool_call_id, chunk.approval)

    def _interrupt(self, chunk: Interrupt) -> list[Operation]:
        asked = chunk.approvals.items()
        return [op for id, question in asked for op in self._approvals.set(id, question)]

    def _settled(self, chunk: ToolSettled) -> list[Operation]:
        """The end of a call of an earlier run: its tool message comes before all that this run
        says."""
        before = self._before
        self._turns = tuple(settle_turn(turn, chunk) for turn in self._turns)
        self._before = snapshot(self._turns, self._thread_id)["messages"]
        if any(step.is_started for step in self._steps.values()):
            return self._whole() if self._before != before else []
        for step in self._steps.values():
            step.index = len(self._before)
        self._slots = max(self._slots, len(self._before))
        return from_first_difference(before, self._before)


def catch_up(context: StreamContext, posted: View) -> list[str]:
    """Bring a client from the state that it posted to the state before the first chunk."""
    state = snapshot(context.turns, context.thread_id, context.graph_state)
    operations = _catch_up(posted, state)
    return [update(operations)] if operations else []


def _catch_up(posted: Mapping[str, Any], state: Operation) -> list[Operation]:
    """Return the changes from the client's state to the server's: the whole state, or for the same
    thread the messages from the first that differs, the approvals, and the graph's own state if
    clients see any. What else the app keeps in it stays."""
    theirs = posted.get("messages")
    if posted.get("thread_id") != state["thread_id"] or type(theirs) is not list:
        return [set_at([], state)]
    ours, asked = state["messages"], state.get("approvals", {})
    same = posted.get("approvals", {}) == asked
    others = [] if same else [set_at(["approvals"], asked)]
    if "state" in state and posted.get("state") != state["state"]:
        others.append(set_at(["state"], state["state"]))
    if len(theirs) > len(ours):
        return [set_at(["messages"], ours), *others]
    return [*from_first_difference(theirs, ours), *others]
