"""Give each of a `ToolNode`'s parallel calls the answers to its own interrupts.

LangGraph counts the interrupts of a task and gives its answers out in that order. A `ToolNode` runs
all calls of a message in one task and at the same time, so the order is that of a race, and an
answer may reach another call, which then runs without approval. Here each call counts alone:

- A question has an id of its call, and an answer goes to the call of its id, whatever else runs,
  fails or asks. Among the answers of its task it is kept as an `Interrupt` of that id, which a
  client cannot send as JSON.
- The id names the task, the calls of the message with their ids, names and arguments, and how often
  the task has made these calls since it started. A task that makes several messages' calls (a loop
  in a node, an `@entrypoint`) asks for each, even if a model server repeats the ids of calls.
- Of several calls that ask, the first in their message asks first, when all calls that have begun
  have ended. Their messages are kept with the answers: a call that has ended is not run again.
- The subgraphs of a call are numbered by the call's place, not by when they start: LangGraph finds
  what a subgraph has saved, and asked, by that number.

Calls in tasks of their own (`Send`) are left to LangGraph. Read in LangGraph 1.2.22:
`types.interrupt`, `pregel._algo._scratchpad`, `pregel._retry._reset_interrupt_counter`,
`PregelLoop.__init__`; prebuilt 1.1.2: `ToolNode`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import cache, wraps
from hashlib import sha256
from itertools import count, takewhile
from pprint import saferepr
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

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
"""The distance between the numbers of the first and the second subgraph of a call."""
_MAX_QUESTIONS = 1_000
PATIENCE_SECONDS = 60.0
"""A question waits no longer for calls beside it, which may themselves wait for its answer."""

Runtime = ToolRuntime[Any, Any]


def is_asked_by_its_task(interrupt_id: str, namespace: str) -> bool:
    """Tell a question that LangGraph counts from one of a sibling call or of a tool's subgraph.

    `namespace` is that of the task.
    """
    return any(_interrupt_id(namespace, n) == interrupt_id for n in range(_MAX_QUESTIONS))


class _Ordinals:
    """Number the occurrences of equal texts, from 0."""

    def __init__(self) -> None:
        self._counts: dict[str, Iterator[int]] = {}

    def numbered(self, text: str) -> str:
        return f"{text} {next(self._counts.setdefault(text, count()))}"


_starts: WeakKeyDictionary[Any, dict[Any, _Ordinals]] = WeakKeyDictionary()
"""The calls that a task has made, by each start of the task: LangGraph gives a start a counter of
interrupts of its own, and a scratchpad keeps one `get_null_resume` through all starts."""
_starts_lock = Lock()


def _ordinals(scratchpad: Any) -> _Ordinals:
    with _starts_lock:
        starts = _starts.setdefault(scratchpad.get_null_resume, {})
        return starts.setdefault(scratchpad.interrupt_counter, _Ordinals())


def _digest(calls: Sequence[ToolCall]) -> str:
    return sha256(saferepr(calls).encode()).hexdigest()


class _Call:
    """One of several calls: its questions and answers."""

    def __init__(self, siblings: "Siblings", call: ToolCall, subgraph: int) -> None:
        self._siblings = siblings
        self._name = f"{siblings.name}|{siblings.ordinals.numbered(_digest([call]))}"
        self._subgraphs = count(subgraph, _SUBGRAPHS)
        self.result_id = _interrupt_id(f"{self._name}|result", 0)
        self.call = call
        self.result: ToolMessage | None = siblings.kept.get(self.result_id)
        """The call's result from an earlier run of the task, in which another call interrupted."""
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
        """The number of the task's answers that belong to this call."""
        return len([*self.kept()]) + (self.result_id in self._siblings.kept)

    def ended(self, result: Any) -> Any:
        """Record the call's result and return it. Only a ToolMessage is kept."""
        self.result = result if isinstance(result, ToolMessage) else None
        return result

    @contextmanager
    def scope(self, runtime: Runtime) -> Iterator[Runtime]:
        """The runtime of the call, which counts alone; and so does middleware around its tool."""
        scratchpad = replace(
            self._siblings.scratchpad,
            interrupt_counter=count().__next__,
            subgraph_counter=self._subgraphs.__next__,
            resume=self.answers,
        )
        own = {_SCRATCHPAD: scratchpad, _SEND: self._send, _CALL: self._name}
        values = {**runtime.config.get("configurable", {}), **own}
        config: RunnableConfig = {**runtime.config, "configurable": values}
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
        """Rename its questions to the ids of the call; a subgraph's question keeps its own id."""
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
        self.scratchpad = values[_SCRATCHPAD]
        calls_made = _ordinals(self.scratchpad).numbered(_digest(calls))
        self.name = f"{values.get(_CALL, '')}{self.namespace}|calls {calls_made}"
        self.ordinals = _Ordinals()
        self.resume_map: dict[str, Any] = values.get(_RESUME_MAP) or {}
        self.send: Callable[[Sequence[tuple[str, Any]]], None] = values[_SEND]
        self._answers: list[Any] = self.scratchpad.resume
        kept = (one for one in self._answers if isinstance(one, Interrupt))
        self.kept = {one.id: one.value for one in kept}
        """The answers of calls by the id of the question, and results."""
        self._calls: list[_Call] = []
        for call in calls:
            self._add(call)
        self._waiting = [*self._calls]
        self._running = 0
        self._none_runs = asyncio.Event()
        self._asked: dict[_Call, tuple[Interrupt, ...]] = {}
        self._lock = Lock()

    def _add(self, call: ToolCall) -> _Call:
        self._calls.append(_Call(self, call, self.scratchpad.subgraph_counter()))
        return self._calls[-1]

    def claim(self, call: ToolCall) -> _Call:
        """Find the call of the message that begins.

        A subclass of ToolNode may change the arguments of a call, leave calls out, repeat them or
        add others: a call of its own counts alone too.
        """
        with self._lock:
            same_id = [one for one in self._waiting if one.call["id"] == call["id"]]
            if not same_id:
                return self._add(call)
            found = next((one for one in same_id if one.call == call), same_id[0])
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
        """Make a call; if it asks, raise the first question of the calls that run beside it when
        these have ended."""
        if call.result is not None:
            return call.result
        self._running += 1
        self._none_runs.clear()
        try:
            return call.ended(await made())
        except GraphInterrupt as raised:
            self._asked[call] = call.asked(raised)
        finally:
            self._running -= 1
            if not self._running:
                self._none_runs.set()
        await self._others_end()
        raise GraphInterrupt(next(self._asked[one] for one in self._calls if one in self._asked))

    async def _others_end(self) -> None:
        """Wait for the calls that have begun. A ToolNode may begin one when another has ended."""
        await asyncio.sleep(0)  # `gather` begins the calls of a message one after the other.
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._none_runs.wait()

    def keep_results(self) -> None:
        """Keep the results of calls, since the task stops to ask."""
        self.keep({one.result_id: one.result for one in self._calls if one.result is not None})

    def end(self) -> None:
        """Advance the task's interrupt counter past the entries of the calls."""
        for _ in range(sum(call.entries for call in self._calls)):
            self.scratchpad.interrupt_counter()


_siblings: ContextVar[Siblings | None] = ContextVar("turnstream_siblings", default=None)


@cache
def keep_answers_apart() -> None:
    """Patch ToolNode, once and for the whole process, to count each parallel call's interrupts
    separately."""
    node: Any = ToolNode
    for name, apart in (
        ("invoke", _invoking),
        ("ainvoke", _ainvoking),
        ("_run_one", _running_one),
        ("_arun_one", _arunning_one),
    ):
        setattr(node, name, apart(getattr(node, name)))


def _invoking(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def invoke(
        self: ToolNode, input: Any, config: RunnableConfig | None = None, **more: Any
    ) -> Any:
        with _as_siblings(self, input, config):
            return original(self, input, config, **more)

    return invoke


def _ainvoking(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @wraps(original)
    async def ainvoke(
        self: ToolNode, input: Any, config: RunnableConfig | None = None, **more: Any
    ) -> Any:
        with _as_siblings(self, input, config):
            return await original(self, input, config, **more)

    return ainvoke


@contextmanager
def _as_siblings(node: ToolNode, input: Any, config: RunnableConfig | None) -> Iterator[None]:
    calls = _calls(node, input)
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


def _calls(node: ToolNode, input: Any) -> Sequence[ToolCall]:
    with suppress(Exception):  # An input of a subclass, or one that ToolNode refuses itself.
        return node._parse_input(input)[0]
    return ()


def _running_one(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def run_one(self: ToolNode, call: ToolCall, input_type: Any, tool_runtime: Runtime) -> Any:
        siblings = _siblings.get()
        if siblings is None:
            return original(self, call, input_type, tool_runtime)
        one = siblings.claim(call)
        if one.result is not None:
            return one.result
        try:
            with one.scope(tool_runtime) as own:
                return one.ended(original(self, call, input_type, own))
        except GraphInterrupt as raised:
            raise GraphInterrupt(one.asked(raised)) from None

    return run_one


def _arunning_one(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @wraps(original)
    async def arun_one(
        self: ToolNode, call: ToolCall, input_type: Any, tool_runtime: Runtime
    ) -> Any:
        siblings = _siblings.get()
        if siblings is None:
            return await original(self, call, input_type, tool_runtime)
        one = siblings.claim(call)
        with one.scope(tool_runtime) as own:
            return await siblings.run(one, lambda: original(self, call, input_type, own))

    return arun_one
