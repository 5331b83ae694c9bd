"""Subagents of AG-UI 1.0: what runs under a tool call has the `subagentRunId` of its agent.

    SUBAGENT_STARTED {"subagentRunId", "name", "parentToolCallId", "parentMessageId"?,
                      "parentSubagentRunId"?}
    SUBAGENT_FINISHED {"subagentRunId", "outcome"?: {"type": "suspended", "interruptIds"?}}
    SUBAGENT_ERROR {"subagentRunId", "message", "code"?}

An id is that of the call, with the agent's name if it has one: two agents under one call are two,
and a call that goes on in a later run has the ids that it had. The ids of their messages begin with
it, since an agent may hand its messages to the one that called it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from turnstream.server.formats.metadata import given
from turnstream.server.turns.chunks import Part, ReasoningPart, ToolCallPart
from turnstream.server.turns.messages import AssistantTurn, Reasoning, Step, Text, ToolCall, Turn

Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallPlace:
    """A tool call, and the message that makes it."""

    id: str
    tool_name: str
    message_id: str | None = None
    """None: it is not known."""
    caller: "Subagent | None" = None
    """None: the answer makes it."""

    @property
    def around(self) -> "Iterator[CallPlace]":
        """The calls under which it is made, the nearest first."""
        caller = self.caller
        while caller is not None:
            yield caller.call
            caller = caller.call.caller


@dataclass(frozen=True, slots=True)
class Subagent:
    """An agent at work under a call."""

    call: CallPlace
    agent: str | None

    @property
    def id(self) -> str:
        return f"{self.call.id}/{self.agent}" if self.agent else self.call.id

    def started(self) -> Payload:
        caller = self.call.caller
        return {
            "type": "SUBAGENT_STARTED",
            "subagentRunId": self.id,
            "name": self.agent or self.call.tool_name,
            "parentToolCallId": self.call.id,
            **given(
                parentMessageId=self.call.message_id,
                parentSubagentRunId=caller.id if caller else None,
            ),
        }


def owner(speaker: Subagent | None) -> Payload:
    """Name the subagent in an event or a message; the answer has no name."""
    return {} if speaker is None else {"subagentRunId": speaker.id}


def message_id(id: str, speaker: Subagent | None) -> str:
    return id if speaker is None else f"{speaker.id}/{id}"


class StepMessages:
    """The ids of one step's messages, in the order of its parts. The same parts give the same ids
    whether they are streamed or loaded.

    A step is one message under the step's own id: a text, then any number of calls. A reasoning is
    a message of its own. A text that does not come first, and a call that follows a reasoning,
    begin another message: a client adds whatever has the id of a message to that message, so the
    order would be lost.
    """

    def __init__(self, step_id: str, speaker: Subagent | None = None) -> None:
        self.speaker = speaker
        self._id = message_id(step_id, speaker)
        self._positions = count()
        self._is_named = False
        """True once a message has the step's id."""
        self._latest: str | None = None
        """The message that a call joins."""

    def of(self, part: Part | Text | Reasoning | ToolCall) -> str:
        """Return the id of the message that the next part belongs to."""
        numbered = f"{self._id}.{next(self._positions)}"
        match part:
            case ReasoningPart() | Reasoning():
                self._latest = None
                return numbered
            case ToolCallPart() | ToolCall() if self._latest is not None:
                return self._latest
        self._latest = numbered if self._is_named else self._id
        self._is_named = True
        return self._latest


def calls_of_step(step: Step, speaker: Subagent | None) -> Iterator[tuple[ToolCall, CallPlace]]:
    """The calls of a step that this subagent has made, or the answer."""
    ids = StepMessages(step.step_id, speaker)
    for part in step.said:
        id = ids.of(part)
        if isinstance(part, ToolCall):
            yield part, CallPlace(part.tool_call_id, part.tool_name, id, speaker)


def below(step: Step, speaker: Subagent | None = None) -> Iterator[tuple[Step, Subagent]]:
    """The steps under the calls of a step, at any depth, each behind the one that it is under."""
    for call, place in calls_of_step(step, speaker):
        for substep in call.substeps:
            under = Subagent(place, substep.agent)
            yield substep, under
            yield from below(substep, under)


def _steps(turns: Iterable[Turn]) -> Iterator[Step]:
    return (step for turn in turns if isinstance(turn, AssistantTurn) for step in turn.steps)


def announced(turns: Iterable[Turn]) -> list[Payload]:
    """The subagents of a loaded thread, each as the event that began it."""
    found = {under.id: under for step in _steps(turns) for _, under in below(step)}
    return [subagent.started() for subagent in found.values()]


def calls_below(turns: Iterable[Turn]) -> set[str]:
    """The ids of the calls that subagents have made."""
    return {
        call.tool_call_id
        for step in _steps(turns)
        for substep, under in below(step)
        for call, _ in calls_of_step(substep, under)
    }


def asking(turns: Iterable[Turn]) -> dict[str, Subagent]:
    """The subagents that have stopped to ask, by the id of the interrupt."""
    return {
        id: under
        for step in _steps(turns)
        for substep, under in below(step)
        for id in substep.interrupt_ids
    }


class Subagents:
    """The subagents of a run, as its stream tells them; `turns` are those before the run, `version`
    is that of the protocol that the client speaks."""

    def __init__(self, turns: Iterable[Turn], version: str | None) -> None:
        self._turns, self.version = turns, version
        self._calls: dict[str, CallPlace] = {}
        self._has_earlier = False
        self._active: dict[str, Subagent] = {}
        self._ended: set[str] = set()
        self._unanswered: dict[str, CallPlace] = {}
        """The calls of subagents that have no result."""

    def make_call(self, call: CallPlace) -> None:
        self._calls[call.id] = call
        if call.caller is not None:
            self._unanswered[call.id] = call

    def call(self, id: str) -> CallPlace:
        if id not in self._calls:
            self.take_earlier()
        return self._calls.get(id) or CallPlace(id, "subagent")

    def take_earlier(self) -> None:
        """Take the calls of earlier runs, which few runs need."""
        if self._has_earlier:
            return
        self._has_earlier = True
        for step in _steps(self._turns):
            for place in (place for _, place in calls_of_step(step, None)):
                self._calls.setdefault(place.id, place)
            for substep, under in below(step):
                for call, place in calls_of_step(substep, under):
                    if place.id not in self._calls and call.end is None:
                        self._unanswered[place.id] = place
                    self._calls.setdefault(place.id, place)

    def announce(self, subagent: Subagent | None) -> Iterator[Payload]:
        """Begin a subagent that says something, unless it has begun, behind those around it."""
        if subagent is None or subagent.id in self._active or subagent.id in self._ended:
            return
        yield from self.announce(subagent.call.caller)
        self._active[subagent.id] = subagent
        yield subagent.started()

    def unanswered_below(self, call_id: str) -> list[CallPlace]:
        """Return the calls below one that has its end: they have theirs with it."""
        around = self._unanswered.values()
        return [one for one in around if any(place.id == call_id for place in one.around)]

    def answer(self, call_id: str, error: Mapping[str, Any] | None) -> Iterator[Payload]:
        """End the subagents of a call that has its result, or has failed with this error."""
        self._unanswered.pop(call_id, None)
        for id in [id for id, one in self._active.items() if one.call.id == call_id]:
            self._end(id)
            if error is None:
                yield {"type": "SUBAGENT_FINISHED", "subagentRunId": id}
            else:
                said = {"message": str(error.get("message", "The call failed."))}
                code = given(code=error.get("code"))
                yield {"type": "SUBAGENT_ERROR", "subagentRunId": id, **said, **code}

    def suspend(self, interrupts: Iterable[Mapping[str, Any]]) -> Iterator[Payload]:
        """End those whose calls have no result as the run ends, with the interrupts of each: a
        later run goes on with them."""
        asked: dict[str, list[str]] = {}
        for interrupt in interrupts:
            asked.setdefault(interrupt.get("subagentRunId", ""), []).append(interrupt["id"])
        for id in [*self._active]:
            self._end(id)
            outcome = {"type": "suspended", **given(interruptIds=asked.get(id))}
            yield {"type": "SUBAGENT_FINISHED", "subagentRunId": id, "outcome": outcome}

    def _end(self, id: str) -> None:
        del self._active[id]
        self._ended.add(id)
