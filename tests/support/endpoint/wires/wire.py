"""What an answer in any wire can do, and what several of them need of a script."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Protocol

from tests.support.endpoint.refusal import Body, Refusal
from tests.support.endpoint.script import (
    Args,
    Break,
    Call,
    Delta,
    Fail,
    Finish,
    Reply,
    Step,
    Think,
    Together,
    Usage,
)
from tests.support.endpoint.wires.asked import Asked


class Wire(Protocol):
    """One answer in one wire; it counts and remembers, so each answer has its own."""

    content_type: ClassVar[str]

    def __init__(self, asked: Asked, number: int) -> None: ...

    @staticmethod
    def refusal(asked: Asked) -> Refusal | None:
        """The first thing wrong with a request body; None if the provider would take it."""

    @staticmethod
    def failure(failure: Fail | Refusal) -> tuple[int, Mapping[str, Any]]:
        """Status and body of an error in the place of a reply."""

    def steps(self, reply: Reply) -> tuple[Step, ...]:
        """The steps as the wire can say them."""

    def delta(self, step: Delta) -> bytes: ...

    def finish(self, step: Finish, reply: Reply) -> bytes: ...

    def broken(self, step: Break) -> bytes:
        """An error in mid-stream."""

    @property
    def done(self) -> bytes:
        """What stands behind the last event."""


def flat(reply: Reply) -> Iterator[Step]:
    """Several calls in one delta are several deltas."""
    for step in reply.complete_steps:
        if isinstance(step, Together):
            yield from step.calls
        else:
            yield step


def grouped(reply: Reply) -> tuple[Step, ...]:
    """Each call with all of its fragments behind it: a call is said to its end before the next."""
    steps: list[Step] = []
    ends: dict[int, int] = {}
    for step in flat(reply):
        if isinstance(step, Args) and step.index in ends:
            place = ends[step.index] + 1
            steps.insert(place, step)
            ends = {index: end + (end >= place) for index, end in ends.items()}
            ends[step.index] = place
        else:
            steps.append(step)
            if isinstance(step, Call):
                ends[step.index] = len(steps) - 1
    return tuple(steps)


def whole_calls(reply: Reply) -> tuple[Step, ...]:
    """Each call in one piece."""
    whole: list[Step] = []
    for step in grouped(reply):
        last = whole[-1] if whole else None
        if isinstance(step, Args):
            assert isinstance(last, Call), "fragments follow their call"
            whole[-1] = Call(last.index, last.id, last.name, last.args + step.fragment)
        else:
            whole.append(step)
    return tuple(whole)


def args_of(call: Call) -> dict[str, Any] | None:
    """None if they are not one JSON object."""
    try:
        args = json.loads(call.args or "{}")
    except ValueError:
        return None
    return args if isinstance(args, dict) else None


def usage_of(reply: Reply, body: Body) -> Usage:
    """As its Finish tells, or counted: a token a delta, a token every four letters of the body."""
    told = next((step.usage for step in reply.steps if isinstance(step, Finish)), None)
    deltas = [step for step in reply.steps if isinstance(step, Delta)]
    thoughts = sum(isinstance(step, Think) for step in deltas)
    return told or Usage(len(dumps(body)) // 4, len(deltas), reasoning_tokens=thoughts)


def dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def is_blank(text: object) -> bool:
    return not isinstance(text, str) or not text.strip()
