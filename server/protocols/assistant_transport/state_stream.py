"""assistant-transport with state: each chunk's part payload, and the change that it makes to the
state (`turnstream.server.protocols.assistant_transport.state`).

After every chunk the state is the snapshot of what has been said so far, but for empty messages in
the place of steps that were withdrawn: a list can lose some only by being sent whole, which is done
once, at the end, and only if nothing has taken their place. Nothing is appended to that the same
run has not `set`, so that a replay converges; no index leaves a gap, since clients run the
operations in strict mode.
"""

from collections.abc import Callable, Mapping
from typing import Any

from turnstream.server.protocols.assistant_transport import state_operations
from turnstream.server.protocols.assistant_transport.state import ai_message, approvals, snapshot
from turnstream.server.protocols.assistant_transport.state_approvals import StateApprovals
from turnstream.server.protocols.assistant_transport.state_graph import StateOfGraph
from turnstream.server.protocols.assistant_transport.state_operations import (
    Operation,
    append_to,
    from_first_difference,
    set_at,
    update,
)
from turnstream.server.protocols.assistant_transport.state_step import StatePart, StateStep
from turnstream.server.protocols.assistant_transport.stream import PartsEncoder
from turnstream.server.protocols.format import StreamContext, View
from turnstream.server.protocols.json_text import quote
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    GraphState,
    Interrupt,
    MessageFinish,
    MessagesRemoved,
    PartStart,
    Result,
    StepStart,
    StepWithdrawn,
    TextDelta,
    ToolApproval,
    ToolSettled,
)
from turnstream.server.turns.messages import ToolCall, settle_turn, without


class StateEncoder:
    def __init__(self, context: StreamContext) -> None:
        self._parts = PartsEncoder()
        self._before: list[Operation] = snapshot(context.turns, context.thread_id)["messages"]
        self._turns, self._thread_id = context.turns, context.thread_id
        self._approvals = StateApprovals(context.turns)
        self._steps: dict[str, StateStep] = {}
        self._latest: StateStep | None = None
        self._slots = len(self._before)
        """The length of the client's list."""
        self._blanks = 0
        self._told: list[tuple[StateStep, StatePart]] = []
        """By the number in a part's path."""
        self._append: dict[int, str] = {}
        """The payload of an `append-text` up to its value, by part."""
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
        number = chunk.path[0]
        step, part = self._told[number]
        part.texts.append(chunk.text)
        target = self._append.get(number)
        if target is None:
            target = self._append[number] = append_to(step.target(part))
        return f'{target}{quote(chunk.text)}}}],"path":[]}}'

    def _step_start(self, chunk: StepStart) -> list[Operation]:
        self._latest = self._steps[chunk.step_id] = StateStep(chunk.step_id, self._end)
        return []

    def _part_start(self, chunk: PartStart) -> list[Operation]:
        step = self._latest if chunk.step_id is None else self._steps[chunk.step_id]
        assert step is not None, "a part belongs to a step"
        is_new, was_plain = not step.is_started, step.is_plain
        part = step.add(chunk.part)
        self._told.append((step, part))
        if is_new and step is not self._latest:
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
            self._forget_targets(step)
        if was_plain or part.position == 0:
            return [*operations, set_at(content, step.content())]
        return [*operations, set_at([*content, part.position], part.block())]

    def _forget_targets(self, *steps: StateStep) -> None:
        """Their parts have moved."""
        moved = {id(step) for step in steps}
        for number, (step, _) in enumerate(self._told):
            if id(step) in moved:
                self._append.pop(number, None)

    def _args_finish(self, chunk: ArgsFinish) -> list[Operation]:
        step, part = self._told[chunk.path[0]]
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
        """Those behind a new tool message move up."""
        step, part = self._told[chunk.path[0]]
        rank = step.answer(part, chunk)
        if step is not self._latest:
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
            for message in step.messages():
                operations.append(set_at(["messages", index], message))
                index += 1
        self._forget_targets(*steps)
        left = range(index, self._slots)
        self._take_slots()
        return operations + [self._blank(place) for place in left]

    @property
    def _end(self) -> int:
        return self._latest.index + self._latest.size if self._latest else len(self._before)

    def _take_slots(self) -> None:
        self._slots = max(self._slots, self._end)

    def _blank(self, index: int) -> Operation:
        self._blanks += 1
        return set_at(["messages", index], ai_message(f"withdrawn-{self._blanks}", "", []))

    def _withdrawn(self, chunk: StepWithdrawn) -> list[Operation]:
        step = self._steps.pop(chunk.step_id)
        if step is self._latest:
            self._latest = next(reversed(self._steps.values()), None)
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
            messages += step.messages()
        self._forget_targets(*self._steps.values())
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
    """What takes a client from the state that it posted to the state before the first chunk."""
    state = snapshot(context.turns, context.thread_id, context.graph_state)
    operations = state_operations.catch_up(posted, state)
    return [update(operations)] if operations else []
