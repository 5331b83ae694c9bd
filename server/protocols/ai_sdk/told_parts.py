"""The parts that a client's message gets from a stream, and which of them are taken back.

An append-only client keeps what it was told. `data-step-withdrawn` is a part of the message too,
and says which parts ahead of it do not count: `parts_back` are their distances from it.

    {"type": "data-step-withdrawn", "id", "data": {"step_id", "parts_back": [4, 3]}}

A client may know a tool call that is told again by its id, and keep its part (ai 5.0, 6.0.0), or
give it another (6.0.326). So the same data part comes again, without the call, and takes the place
of the first; of several parts of one call the last one counts.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from turnstream.server.turns.chunks import Part, StepFinish, StepStart, StepWithdrawn, ToolCallPart

Payload = dict[str, Any]


@dataclass(slots=True)
class _Withdrawal:
    id: str
    step_id: str
    place: int
    """Of the data part in the message, counted from the stream's first part."""
    parts: list[int]

    def payload(self) -> Payload:
        back = [self.place - part for part in self.parts]
        data = {"step_id": self.step_id, "parts_back": back}
        return {"type": "data-step-withdrawn", "id": self.id, "data": data}


class ToldParts:
    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._count = 0
        self._markers: dict[str, int] = {}
        """The place of a step's `step-start` part."""
        self._places: dict[int, int] = {}
        """Of the parts, by the number in their path."""
        self._calls: dict[str, int] = {}
        self._withdrawn: list[_Withdrawal] = []
        self._latest = ""
        self._open: set[str] = set()
        self._ending = 0

    @property
    def calls(self) -> Collection[str]:
        """The ids of the calls among the parts."""
        return self._calls

    def start(self, chunk: StepStart) -> list[Payload]:
        self._latest = chunk.step_id
        self._open.add(chunk.step_id)
        self._markers[chunk.step_id] = self._next()
        return [{"type": "start-step"}]

    def add(self, number: int, part: Part) -> list[Payload]:
        """A part begins. Returns what it changes of what was taken back."""
        known = self._calls.get(part.tool_call_id) if isinstance(part, ToolCallPart) else None
        place = self._places[number] = self._next() if known is None else known
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
        step_id = chunk.step_id or self._latest
        self._ending += step_id in self._open
        self._open.discard(step_id)

    def finish_steps(self) -> list[Payload]:
        """The ends of the steps that have ended since this was asked last."""
        ending, self._ending = self._ending, 0
        return [{"type": "finish-step"}] * ending

    def withdraw(self, chunk: StepWithdrawn) -> list[Payload]:
        parts = [self._markers[chunk.step_id], *(self._places[number] for number in chunk.parts)]
        # Unique in the message, which several runs may tell.
        id = f"{self._run_id}.{len(self._withdrawn)}"
        self._withdrawn.append(_Withdrawal(id, chunk.step_id, self._next(), parts))
        return [self._withdrawn[-1].payload()]

    def _next(self) -> int:
        place, self._count = self._count, self._count + 1
        return place
