"""The tool calls under which models speak: a subagent, a subgraph or a model that a tool calls.

LangGraph names the graph in which something is said, and not the call that runs it. So a callback
notes the call at work in a context variable, which the tool's body inherits, and marks with it the
metadata of each model that begins there. Read in langchain-core 1.7.2: a manager hands one
`metadata` to all handlers, and LangGraph 1.2.22 streams that object with the model's words.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage

MARK = "turnstream_tool_call"
AGENT = "turnstream_agent"
"""The name of the agent whose model speaks, unless it is that of the agent that makes the call: the
metadata of a call is handed down to all that runs in it."""
_AGENT = "lc_agent_name"
_SEPARATOR = "|"
Namespace = tuple[str, ...]
CallIds = tuple[str, ...]
"""The id of a call, behind those of the calls around it, outermost first; each as its model gave
it. Another subagent of the run may give the same id, so the last alone names no call."""


@dataclass(slots=True)
class _Call:
    """A call at work. `task` is the namespace of the task that makes it, `agent` the name of the
    agent."""

    ids: CallIds
    task: Namespace
    agent: str | None
    outer: "_Call | None"
    is_over: bool = False


_at_work: ContextVar[_Call | None] = ContextVar("turnstream_tool_call", default=None)


class CallsAtWork(BaseCallbackHandler):
    """Knows under which tool call something in a run is said.

    A call that was made without an id is a part of the call around it. The outermost has an id of
    its own here, which no client knows.
    """

    run_inline = True
    # Nothing else of a run costs a call of this handler, a word of a model above all.
    ignore_chain = ignore_llm = ignore_retriever = ignore_retry = True

    def __init__(self, kept_bytes: int = 0) -> None:
        self.kept_bytes = kept_bytes
        """Bytes of what is under one call that are kept with the thread; 0: none."""
        self._running: dict[UUID, _Call] = {}
        self._tasks: dict[Namespace, CallIds] = {}
        """The call of each task that calls tools; empty if there are several."""
        self._graphs: dict[Namespace, CallIds | None] = {}
        """The call of each graph whose models have spoken; None: there is none."""
        self._agents: dict[Namespace, Any] = {}
        """The name of the agent of each graph."""
        self._answers: dict[CallIds, ToolMessage] = {}
        """The answers to calls inside of others that are at work, until a node has written them."""

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        del serialized, input_str
        about = metadata or {}
        task, agent = _split(about.get("langgraph_checkpoint_ns")), about.get(_AGENT)
        outer, id = _current(), kwargs.get("tool_call_id")
        around = outer.ids if outer else ()
        ids = (*around, id) if id else around or (str(run_id),)
        call = _Call(ids, task, agent, outer)
        self._running[run_id] = call
        _at_work.set(call)
        if task:
            is_only = self._tasks.get(task, call.ids) == call.ids
            self._tasks[task] = call.ids if is_only else ()

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        del kwargs
        call = self._running.get(run_id)
        if call and call.outer and isinstance(output, ToolMessage):
            self._answers[call.ids] = output
        self._end(run_id)

    def wrote_answer(self, call: CallIds, tool_call_id: str) -> None:
        """A node under a call has written the answer to another one."""
        self._answers.pop((*call, tool_call_id), None)

    def take_answers(self, tool_call_id: str) -> Mapping[CallIds, ToolMessage]:
        """Return the answers that tools gave inside of a call of the answer that has its end."""
        found = {ids: answer for ids, answer in self._answers.items() if ids[0] == tool_call_id}
        for ids in found:
            del self._answers[ids]
        return found

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        del error, kwargs
        self._end(run_id)

    def _end(self, run_id: UUID) -> None:
        # A context in which a call was begun may be another than that in which it ends.
        if call := self._running.pop(run_id, None):
            call.is_over = True

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        del serialized, messages, run_id, kwargs
        call = _current()
        if call and metadata is not None:
            metadata[MARK] = call.ids
            agent = metadata.get(_AGENT)
            metadata[AGENT] = None if agent == call.agent else agent
            task = _split(metadata.get("langgraph_checkpoint_ns"))
            graph = task[:-1]
            if graph[: len(call.task)] == call.task:
                self._graphs[graph] = call.ids

    def of_message(
        self, message: BaseMessage, about: Mapping[str, Any], namespace: Namespace
    ) -> CallIds | None:
        """The call under which a message of the stream is said; None: under none."""
        mark = about.get(MARK)
        if isinstance(mark, tuple):  # not what a client has put into its metadata
            return mark
        call = self.of_graph(namespace)
        # A model that speaks when its call is over is not marked, and is no part of the answer.
        if namespace and call is None and isinstance(message, AIMessageChunk):
            self._graphs[namespace] = None
        return call

    def note_task(self, namespace: Namespace, data: Mapping[str, Any]) -> None:
        """Take an item of the stream mode `tasks`: its metadata names the agent of the graph."""
        self._agents.setdefault(namespace, (data.get("metadata") or {}).get(_AGENT))

    def agent_of(self, namespace: Namespace) -> str | None:
        """The name of the agent of a graph that a call runs, unless it is that of the agent that
        makes the call."""
        agent = self._agents.get(namespace)
        tasks = (namespace[:length] for length in range(len(namespace), 0, -1))
        task = next((task for task in tasks if task in self._tasks), ())
        is_own = isinstance(agent, str) and agent != self._agents.get(task[:-1])
        return agent if is_own else None

    def of_graph(self, namespace: Namespace) -> CallIds | None:
        """The call that runs a graph, empty if it is not known which; None: no call does."""
        for length in range(len(namespace), 0, -1):
            around = namespace[:length]
            if around in self._graphs:
                # LangGraph numbers the graphs of a task behind the first: `(task, "1")`.
                is_another = length < len(namespace) and self._tasks.get(around) == ()
                return () if is_another else self._graphs[around]
            if around in self._tasks:
                return self._tasks[around]
        return None


def _current() -> _Call | None:
    """The innermost call at work in this context."""
    call = _at_work.get()
    while call and call.is_over:
        call = call.outer
    return call


def _split(namespace: Any) -> Namespace:
    return tuple(namespace.split(_SEPARATOR)) if namespace else ()
