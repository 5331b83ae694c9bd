"""Parallel calls of one `ToolNode` that stop to ask: an answer reaches the call that asked.

LangGraph counts the interrupts of a task and gives its answers out in that order. A `ToolNode` runs
all calls of a message in one task and at the same time, so the order is that of a race, and an
answer may reach another call, which then does what nobody allowed. Here each call counts alone:

- A question has an id of its call, and an answer goes to the call of its id, whatever else runs,
  fails or asks. Among the answers of its task it is kept as an `Interrupt` of that id, which no
  JSON of a client can be.
- Of several calls that ask, the first in their message asks first, when all calls have ended. The
  messages of the others are kept with the answers: what has ended is not run again.
- The subgraphs of a call are numbered by the call's place, not by when they start: LangGraph finds
  what a subgraph has saved, and asked, by that number.

Calls in tasks of their own (`Send`) are left to LangGraph. Read in LangGraph 1.2.22:
`types.interrupt`, `pregel._algo._scratchpad`, `PregelLoop.__init__`; prebuilt 1.1.2: `ToolNode`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import count, takewhile
from threading import Lock
from typing import Any

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.errors import GraphInterrupt
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolRuntime
from langgraph.types import Interrupt, _interrupt_id

_NAMESPACE = "checkpoint_ns"
_SCRATCHPAD = "__pregel_scratchpad"
_SEND = "__pregel_send"
_RESUME_MAP = "__pregel_resume_map"
_RESUME = "__resume__"
_CALL = "__turnstream_call"
_SUBGRAPHS = 10_000
"""So many numbers lie between those of the first and the second subgraph of a call."""
_MAX_QUESTIONS = 1_000

_run_one, _arun_one = ToolNode._run_one, ToolNode._arun_one
_invoke, _ainvoke = ToolNode.invoke, ToolNode.ainvoke

Runtime = ToolRuntime[Any, Any]


def is_asked_by_its_task(interrupt_id: str, namespace: str) -> bool:
    """Whether LangGraph itself counts the question; not of a sibling call, or a subgraph of a tool.

    `namespace` is that of the task.
    """
    return any(_interrupt_id(namespace, n) == interrupt_id for n in range(_MAX_QUESTIONS))


class _Call:
    """One of several calls: its questions and answers."""

    def __init__(self, siblings: "Siblings", call: ToolCall, place: int, subgraph: int) -> None:
        self._siblings = siblings
        self._name = f"{siblings.name}|call {place} {call['id']}"
        self._subgraphs = count(subgraph, _SUBGRAPHS)
        self.result_id = _interrupt_id(f"{self._name}|result", 0)
        self.call = call
        self.result: ToolMessage | None = siblings.kept.get(self.result_id)
        """What the call gave when another asked."""
        self.answers = [*self.kept()]
        next_id = self._id(len(self.answers))
        if next_id in siblings.resume_map:
            self.answers.append(siblings.resume_map[next_id])

    def _id(self, n: int) -> str:
        return _interrupt_id(self._name, n)

    def kept(self) -> Iterator[Any]:
        """The answers that the call has taken, in this run of its task or an earlier one."""
        known = self._siblings.kept
        ids = takewhile(known.__contains__, map(self._id, count()))
        return (known[id] for id in ids)

    @property
    def entries(self) -> int:
        """How many of the task's answers are of this call."""
        return len([*self.kept()]) + (self.result_id in self._siblings.kept)

    def ended(self, result: Any) -> Any:
        """Note what the call gave, and give it; anything but a message may not be kept."""
        self.result = result if isinstance(result, ToolMessage) else None
        return result

    @contextmanager
    def scope(self, runtime: Runtime) -> Iterator[Runtime]:
        """The runtime of the call, which counts alone; and so does middleware around its tool."""
        values = runtime.config["configurable"]
        scratchpad = replace(
            values[_SCRATCHPAD],
            interrupt_counter=count().__next__,
            subgraph_counter=self._subgraphs.__next__,
            resume=self.answers,
        )
        own = {_SCRATCHPAD: scratchpad, _SEND: self._send, _CALL: self._name}
        config: RunnableConfig = {**runtime.config, "configurable": {**values, **own}}
        token = var_child_runnable_config.set(config)
        try:
            yield replace(runtime, config=config)
        finally:
            var_child_runnable_config.reset(token)

    def _send(self, writes: Sequence[tuple[str, Any]]) -> None:
        for channel, value in writes:
            if channel == _RESUME:
                self._siblings.keep({self._id(n): answer for n, answer in enumerate(value)})
            else:
                self._siblings.send([(channel, value)])

    def asked(self, raised: GraphInterrupt) -> tuple[Interrupt, ...]:
        """What it asks, with the ids of the call; a subgraph's question has its own."""
        n = len(self.answers)
        counted = _interrupt_id(self._siblings.namespace, n)
        return tuple(
            Interrupt(one.value, id=self._id(n), response_schema=one.response_schema)
            if one.id == counted
            else one
            for one in raised.args[0]
        )


class Siblings:
    """The calls that a ToolNode makes at once in a task."""

    def __init__(self, calls: Sequence[ToolCall], values: dict[str, Any]) -> None:
        self.namespace: str = values[_NAMESPACE]
        self.name = f"{values.get(_CALL, '')}{self.namespace}"
        self.resume_map: dict[str, Any] = values.get(_RESUME_MAP) or {}
        self.send: Callable[[Sequence[tuple[str, Any]]], None] = values[_SEND]
        self._scratchpad = values[_SCRATCHPAD]
        self._answers: list[Any] = self._scratchpad.resume
        kept = (one for one in self._answers if isinstance(one, Interrupt))
        self.kept = {one.id: one.value for one in kept}
        """The answers of calls by the id of the question, and results."""
        first = [self._scratchpad.subgraph_counter() for _ in calls]
        self._calls = [_Call(self, call, place, first[place]) for place, call in enumerate(calls)]
        self._waiting = [*self._calls]
        self._left = len(calls)
        self._all_ended = asyncio.Event()
        self._asked: dict[_Call, tuple[Interrupt, ...]] = {}
        self._lock = Lock()

    def claim(self, call: ToolCall) -> _Call:
        """The first of equal calls that has not begun."""
        with self._lock:
            found = next(one for one in self._waiting if one.call == call)
            self._waiting.remove(found)
            return found

    def keep(self, answers: dict[str, Any]) -> None:
        """Keep what a call has taken, or given, among the answers of the task."""
        with self._lock:
            new = {id: answer for id, answer in answers.items() if id not in self.kept}
            self.kept.update(new)
            self._answers += [Interrupt(answer, id=id) for id, answer in new.items()]
            self.send([(_RESUME, [*self._answers])])

    async def run(self, call: _Call, made: Callable[[], Awaitable[Any]]) -> Any:
        """Make a call; if it asks, raise the first question of all calls when all have ended."""
        try:
            return call.result or call.ended(await made())
        except GraphInterrupt as raised:
            self._asked[call] = call.asked(raised)
        finally:
            self._left -= 1
            if not self._left:
                self._all_ended.set()
        await self._all_ended.wait()
        raise GraphInterrupt(next(self._asked[one] for one in self._calls if one in self._asked))

    def keep_results(self) -> None:
        """Keep what calls have given, since the task stops to ask."""
        self.keep({one.result_id: one.result for one in self._calls if one.result is not None})

    def end(self) -> None:
        """Let the questions that the task asks next be counted behind what the calls keep."""
        for _ in range(sum(call.entries for call in self._calls)):
            self._scratchpad.interrupt_counter()


_siblings: ContextVar[Siblings | None] = ContextVar("turnstream_siblings", default=None)


def keep_answers_apart() -> None:
    """Let the parallel calls of every ToolNode of this process count alone."""
    node: Any = ToolNode
    node.invoke, node.ainvoke = _invoke_apart, _ainvoke_apart
    node._run_one, node._arun_one = _run_sibling, _arun_sibling


def _invoke_apart(
    self: ToolNode, input: Any, config: RunnableConfig | None = None, **more: Any
) -> Any:
    with _as_siblings(self, input, config):
        return _invoke(self, input, config, **more)


async def _ainvoke_apart(
    self: ToolNode, input: Any, config: RunnableConfig | None = None, **more: Any
) -> Any:
    with _as_siblings(self, input, config):
        return await _ainvoke(self, input, config, **more)


@contextmanager
def _as_siblings(node: ToolNode, input: Any, config: RunnableConfig | None) -> Iterator[None]:
    calls = node._parse_input(input)[0]
    values = ensure_config(config).get("configurable", {})
    are_several = len(calls) > 1 and _SCRATCHPAD in values
    siblings = Siblings(calls, values) if are_several else None
    token = _siblings.set(siblings)
    try:
        yield
    except GraphInterrupt:
        if siblings:
            siblings.keep_results()
        raise
    finally:
        _siblings.reset(token)
    if siblings:
        siblings.end()


def _run_sibling(self: ToolNode, call: ToolCall, input_type: Any, runtime: Runtime) -> Any:
    siblings = _siblings.get()
    if siblings is None:
        return _run_one(self, call, input_type, runtime)
    one = siblings.claim(call)
    if one.result is not None:
        return one.result
    try:
        with one.scope(runtime) as own:
            return one.ended(_run_one(self, call, input_type, own))
    except GraphInterrupt as raised:
        raise GraphInterrupt(one.asked(raised)) from None


async def _arun_sibling(self: ToolNode, call: ToolCall, input_type: Any, runtime: Runtime) -> Any:
    siblings = _siblings.get()
    if siblings is None:
        return await _arun_one(self, call, input_type, runtime)
    one = siblings.claim(call)
    with one.scope(runtime) as own:
        return await siblings.run(one, lambda: _arun_one(self, call, input_type, own))
