"""What the endpoint is told to answer: a reply is a row of steps.

    reply = (delta | Pause | Delay)* [Finish | Cut | CloseClean | Break] (Pause | Delay | Cut)*

A reply that names no end finishes by itself, with `tool_calls` if it called and `stop` if not.
Deltas that stand side by side leave in one write; nothing leaves before the first of them, the
HTTP headers included, so a reply that begins with a Pause has not even begun to answer.
"""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.support.endpoint.refusal import Body

FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]


@dataclass(frozen=True, slots=True)
class Usage:
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    """Of the prompt's."""
    reasoning_tokens: int = 0
    """Of the completion's."""


@dataclass(frozen=True, slots=True)
class Say:
    """A delta of content; may be empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """A delta of reasoning: `reasoning_content` in OpenAI's wire, as some compatible servers have
    it; elsewhere a thought in the provider's own form, signed where it signs."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """The first delta of a tool call; an id or a name that is None is left out."""

    index: int
    id: str | None
    name: str | None
    args: str = ""
    """Raw text: whole, a first fragment, or not JSON at all.

    Gemini and Ollama send calls whole: fragments are put together, and what is no JSON object
    then ends the reply as those two end it."""


@dataclass(frozen=True, slots=True)
class Args:
    """One more fragment of a call's arguments."""

    index: int
    fragment: str


@dataclass(frozen=True, slots=True)
class Together:
    """Several calls, or fragments, in one delta."""

    calls: tuple[Call | Args, ...]


@dataclass(frozen=True, slots=True)
class Raw:
    """A delta with keys of one server; in OpenAI's wire alone."""

    delta: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Nothing:
    """A delta with no key at all."""


Delta = Say | Think | Call | Args | Together | Raw | Nothing


@dataclass(frozen=True, slots=True)
class Pause:
    """Hold the reply until the test sets `event`."""

    event: asyncio.Event
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when all that stands before the pause has been sent."""


@dataclass(frozen=True, slots=True)
class Delay:
    """For pacing; a test orders things with Pause."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Finish:
    """The finish reason, then the usage if it was asked for; `[DONE]` ends the reply."""

    reason: FinishReason | None = None
    """None: `tool_calls` if the reply called a tool, else `stop`."""
    usage: Usage | None = None
    """None: counted."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection closes in the middle of the body."""


@dataclass(frozen=True, slots=True)
class CloseClean:
    """The body ends as HTTP wants it, with no finish reason."""

    done: bool = False
    """Send `[DONE]` all the same."""


@dataclass(frozen=True, slots=True)
class Break:
    """An error in place of the next delta; the body ends after it, without `[DONE]`."""

    message: str = "The server had an error while processing your request."
    code: str | None = None
    type: str = "server_error"


Step = Delta | Pause | Delay | Finish | Cut | CloseClean | Break


@dataclass(frozen=True, slots=True)
class Reply:
    steps: tuple[Step, ...] = ()

    @property
    def calls(self) -> bool:
        raw = (step.delta for step in self.steps if isinstance(step, Raw))
        return any(isinstance(step, Call | Together) for step in self.steps) or any(
            "tool_calls" in delta for delta in raw
        )

    @property
    def finish_reason(self) -> FinishReason:
        """Of a Finish that names none."""
        return "tool_calls" if self.calls else "stop"

    @property
    def complete_steps(self) -> tuple[Step, ...]:
        """With the end that goes without saying."""
        ends = any(isinstance(step, Finish | Cut | CloseClean | Break) for step in self.steps)
        return self.steps if ends else (*self.steps, Finish())


@dataclass(frozen=True, slots=True)
class Fail:
    """An error status in place of a reply; `failures` has the usual ones."""

    status: int
    message: str
    code: str | None = None
    type: str = "invalid_request_error"
    headers: Mapping[str, str] = field(default_factory=dict)


Turn = Reply | Fail
Scripted = Turn | Callable[[Body], Turn]
"""A turn, or what makes one of the request's body."""


def reply(*steps: Step) -> Reply:
    return Reply(steps)


def text_reply(text: str) -> Reply:
    """A word a delta."""
    return Reply(tuple(Say(word) for word in _words(text)))


def call_reply(*calls: tuple[str, str], ids: tuple[str, ...] = ()) -> Reply:
    """Calls of `(name, raw argument text)`, each in one delta.

    Without `ids` every call gets one that no other call of this process has.
    """
    given = iter(ids)
    return Reply(
        tuple(
            Call(index, next(given, None) or f"call_{next(_NUMBERS)}", name, args)
            for index, (name, args) in enumerate(calls)
        )
    )


_NUMBERS = itertools.count(1)


def _words(text: str) -> list[str]:
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:]
