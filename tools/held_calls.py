"""Calls that wait on their tool's server for a person's answer, held open from one run of a thread
to the next.

A call that asks raises LangGraph's interrupt, and its task is run again when the answer is there.
The mark among the answers of the task, which is saved with the thread, says that the call was made:
it is taken up again, or ended with an error, and never made twice.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from langchain_core.runnables.config import var_child_runnable_config

MAX_HELD, MAX_HELD_OF_THREAD = 200, 8
_MARK = "turnstream_held_call"
_SCRATCHPAD = "__pregel_scratchpad"


def answers_of_task(config: Mapping[str, Any] | None = None) -> list[Any] | None:
    """The answers that the task has so far, a mark among them; None outside of a graph."""
    config = config or var_child_runnable_config.get() or {}
    scratchpad = config.get("configurable", {}).get(_SCRATCHPAD)
    return None if scratchpad is None else scratchpad.resume


def mark_of(answers: list[Any] | None, tool_call_id: str | None) -> Mapping[str, Any] | None:
    """The mark that an earlier run of the task has left of the call."""
    for answer in answers or ():
        if isinstance(answer, dict) and _MARK in answer and answer.get("call") == tool_call_id:
            return answer
    return None


@dataclass(eq=False, slots=True)
class HeldCall:
    """One call; `cancel` ends it on its server too."""

    thread: str
    tool_call_id: str | None
    cancel: Callable[[], None]
    call: Any = None
    id: str = field(default_factory=lambda: uuid4().hex)
    is_waiting: bool = False
    """True if it waits for an answer to a question that the thread has."""
    expiry: asyncio.TimerHandle | None = None

    @property
    def mark(self) -> dict[str, Any]:
        return {_MARK: self.id, "call": self.tool_call_id}


class HeldCalls:
    """The calls of a server, by the thread under which the checkpointer keeps them."""

    def __init__(self) -> None:
        self._held: dict[str, HeldCall] = {}

    def __len__(self) -> int:
        return len(self._held)

    def has_room(self, thread: str) -> bool:
        return len(self._held) < MAX_HELD and len(self._of(thread)) < MAX_HELD_OF_THREAD

    def hold(self, held: HeldCall, seconds: float) -> None:
        """Keep a call that is about to ask; it is cancelled if no answer comes in time."""
        self._held[held.id] = held
        held.is_waiting = True
        self._stop_clock(held)
        loop = asyncio.get_running_loop()
        held.expiry = loop.call_later(seconds, self._end, held)

    def take(self, mark: Mapping[str, Any]) -> HeldCall | None:
        """The call of a mark, whose task runs again; None if it is held no longer."""
        held = self._held.get(mark[_MARK])
        if held is not None:
            held.is_waiting = False
            self._stop_clock(held)
        return held

    def begin_run(self, thread: str, *, goes_on: bool) -> None:
        """Cancel the calls of a thread, unless the run goes on where it stopped to ask."""
        for held in self._of(thread):
            held.is_waiting = False
            if not goes_on:
                self._end(held)

    def end_run(self, thread: str) -> None:
        """Cancel the calls that the run has neither ended nor asked for again."""
        for held in self._of(thread):
            if not held.is_waiting:
                self._end(held)

    def abandon(self, thread: str) -> None:
        """Cancel the calls of a thread; answers that come later find none."""
        for held in self._of(thread):
            self._end(held)

    def _of(self, thread: str) -> list[HeldCall]:
        return [held for held in self._held.values() if held.thread == thread]

    def _end(self, held: HeldCall) -> None:
        self._held.pop(held.id, None)
        self._stop_clock(held)
        held.cancel()

    def _stop_clock(self, held: HeldCall) -> None:
        if held.expiry is not None:
            held.expiry.cancel()
            held.expiry = None
