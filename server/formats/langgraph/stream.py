"""LangGraph SDK: chunks to named events, as `useStream` (`@langchain/langgraph-sdk/react` 1.15 and
2.0.0), assistant-ui's `useLangGraphRuntime` (0.14) and Python's `langgraph_sdk` (0.4.14) read them.

    metadata   {"run_id", "attempt"}, ahead of the first event
    values     {"messages", "__interrupt__"?, ...}: ahead of the first event, between the steps of
               the graph, at the end, and when what clients see of the graph's own state has
               changed: it is in there by name
    messages   [chunk of a message, {"langgraph_node", "langgraph_checkpoint_ns"?}], in the mode
               `messages-tuple`; in the mode `messages`, of which the other takes the place:
    messages/metadata   {id of a message: {"metadata": as above}}, ahead of its first event
    messages/partial    [a message of the model as far as it goes]
    messages/complete   [a message that is whole]
    updates    {node: {"messages": [message], ...}}: what a node has written, as far as clients see
               it; null: nothing; {"__interrupt__": [interrupt]}
    tasks      {"id", "name", "input", "triggers", "metadata"} where a node begins,
               {"id", "name", "error", "result", "interrupts"} where it has ended
    checkpoints   the state behind each message that is whole, as in a history
    debug      {"step", "type": "task" | "task_result" | "checkpoint", "payload": one of the above}
    events     {"event": "on_chat_model_stream", "run_id", "name", "data", ...}, with LangChain's
               names: of the run, its nodes, its model calls and its tools
    custom     what a graph or a tool wrote to LangGraph's stream writer
    tools      {"event": "on_tool_start" | "on_tool_event" | "on_tool_end" | "on_tool_error",
                "toolCallId", "name", ...}: how a tool gets on, for `toolProgress`
    messages|ns, updates|ns, tools|ns, values|ns, tasks|ns     the same of subagents, if
               `stream_subgraphs` asks for it: ns is `tools:{id of the call}`, or several behind
               each other, joined by `|`; of nodes of other subgraphs `updates|ns` and `tasks|ns`,
               where ns is as LangGraph writes it, with the messages alone

A run that another format has begun tells of no nodes: there each model call and each tool is a
task and an update.

    error      {"error": code, "message", "id"?}   } exactly one of them, the last
    end        null                                }
    metadata   {"status": "run_done", "run_id"}, in place of the end, in the stream of a thread

In the mode `messages-tuple` clients add the chunks of a message up. So of the events of one chunk
of the run such a one is the last, with the id: whoever was cut off before it gets the others
twice, which changes nothing. A message that the thread did not get is taken back as
`{"type": "remove", "id"}`.

At an interrupt `values` come twice: a client takes nothing but `__interrupt__` from those that have
it, so these are without images. An empty list is a breakpoint.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from turnstream.server.formats import langchain_messages as langchain
from turnstream.server.formats.fields import Fault, shown
from turnstream.server.formats.format import NamedEvent, StreamContext
from turnstream.server.formats.json_text import dumps, quote
from turnstream.server.formats.langchain_messages import Json, tool_message
from turnstream.server.formats.langgraph import snapshot
from turnstream.server.formats.metadata import given
from turnstream.server.turns import chunks
from turnstream.server.turns.graph_state import merged
from turnstream.server.turns.messages import AssistantTurn, Step, ToolCall, Turn, settle_call
from turnstream.server.turns.told_thread import ToldThread, calls_of

MODES = ("messages-tuple", "messages", "values", "updates", "custom", "tools")
ASKED_MODES = ("tasks", "checkpoints", "debug", "events")
"""Modes for who asks for them."""
OTHER_MODES = ("messages-partial", "lifecycle", "input")
"""LangGraph's own that bring nothing here; clients ask for them beside others."""
Modes = frozenset[str]
ALL_MODES: Modes = frozenset(MODES) - {"messages"}
SUBGRAPHS = "subgraphs"
"""Stands among the modes of a client that asks for what subagents say, with `stream_subgraphs`."""
THREAD = "thread"
"""Stands among the modes of a client that reads all runs of a thread: their ends are no end."""
THREAD_MODES: Mapping[str, Modes] = {
    "run_modes": ALL_MODES | {THREAD},
    "state_update": frozenset({"values", THREAD}),
    "lifecycle": frozenset({THREAD}),
}
"""The modes of a thread's stream, as the modes of its runs."""
_MESSAGES = "messages-tuple"
"""The mode of the events `messages`; those of other modes have the mode's name."""
_WHOLE_MESSAGES = "messages"
"""The mode of messages as far as they go."""
_GRAPH = "LangGraph"
"""The name of the run among raw events: LangGraph's own for a graph without one."""
_TOOLS = "tools"
"""The node that results are told of: LangGraph's own name for it."""
MAX_VALUES_BYTES = 2_000_000
"""Bound of the `values` in the middle of a run, which have the whole thread each time."""
GROWTH = 16
"""A message is told again when it has grown by this part of itself: so all that is told of it grows
with its size alone."""


def wanted_modes(asked: Any) -> Modes:
    """The modes; `messages-tuple` takes the place of `messages`. Raises Fault."""
    if asked in (None, []):
        return ALL_MODES
    names = [asked] if isinstance(asked, str) else asked
    if not isinstance(names, list):
        raise Fault("invalid_body", f"is {shown(asked)}: send a JSON array.")
    for name in names:
        if name not in MODES + ASKED_MODES + OTHER_MODES:
            known = ", ".join(MODES + ASKED_MODES)
            raise Fault("invalid_stream_mode", f"has {shown(name)}: ask for {known}.")
    wanted = frozenset(names) - {*OTHER_MODES}
    return wanted - {_WHOLE_MESSAGES} if _MESSAGES in wanted else wanted


def other_modes(asked: Any) -> list[str]:
    """Name the modes that bring nothing here."""
    names = [asked] if isinstance(asked, str) else asked or ()
    others = {*OTHER_MODES, *({_WHOLE_MESSAGES} if _MESSAGES in names else ())}
    return [name for name in names if name in others]


@dataclass(slots=True)
class _Step:
    """A message of the run as chunks that LangChain adds up.

    The first text of a message comes as strings, as long as nothing was said before it; all else as
    a list of one block, whose `index` says which block of the message goes on. A page that is cited
    is an annotation with which a text goes on. A call comes with its id and name, then pieces of
    its arguments under the same `index`.
    """

    id: str
    metadata: Json
    blocks: int = 0
    calls: int = 0
    text: int | None = None
    """The number of the last block that is a text."""
    size: int = 0
    """Characters of the message."""
    told_size: int = 0
    """Characters of it that its last `messages/partial` had."""

    def block(self, part: chunks.Part) -> tuple[str, str]:
        """Begin a text or a reasoning: return the payload around each piece of its text."""
        index, self.blocks = self.blocks, self.blocks + 1
        if isinstance(part, chunks.ReasoningPart):
            summary = [{"type": "summary_text", "index": 0, "text": _PIECE}]
            return _around(self._chunk([{"type": "reasoning", "index": index, "summary": summary}]))
        self.text = index
        text = {"type": "text", "index": index, "text": _PIECE}
        return _around(self._chunk([text] if index else _PIECE))

    def call(self, part: chunks.ToolCallPart) -> tuple[str, tuple[str, str]]:
        """Begin a call: return its first payload, and the payload around each piece of its
        arguments."""
        call = {"type": "tool_call_chunk", "index": self.calls}
        self.calls += 1
        start = {**call, "id": part.tool_call_id, "name": part.tool_name, "args": ""}
        piece = {**call, "id": None, "name": None, "args": _PIECE}
        return dumps(self._chunk("", [start])), _around(self._chunk("", [piece]))

    def made(self, part: chunks.MadePart) -> str:
        """The payload of a part that is whole at once."""
        if isinstance(part, chunks.FilePart):
            index, made = self.blocks, langchain.block(part)
        else:
            index = self.blocks if self.text is None else self.text
            self.text = index
            made = {"type": "text", "text": "", "annotations": [langchain.citation(part)]}
        self.blocks = max(self.blocks, index + 1)
        return dumps(self._chunk([{**made, "index": index}]))

    def _chunk(self, content: Any, calls: Sequence[Json] | None = None) -> list[Json]:
        message = {"type": "AIMessageChunk", "id": self.id, "content": content}
        return [{**message, **given(tool_call_chunks=calls)}, self.metadata]


def _together(writes: Sequence[Mapping[str, Any]]) -> Json:
    """The writes of a task, as LangGraph has them: several of one key are `{"$writes": [...]}`."""
    by_name: dict[str, list[Any]] = {}
    for write in writes:
        for name, value in write.items():
            by_name.setdefault(name, []).append(value)
    return {
        name: values[0] if len(values) == 1 else {"$writes": values}
        for name, values in by_name.items()
    }


_PIECE = uuid4().hex
"""Stands for a piece of text in a payload: no other text has it."""


def _around(payload: Any) -> tuple[str, str]:
    """Split the JSON of a payload at its piece of text."""
    before, _, after = dumps(payload).partition(f'"{_PIECE}"')
    return before, after


def prologue(context: StreamContext, modes: Modes) -> list[str]:
    events: list[str] = [NamedEvent("metadata", dumps({"run_id": context.run_id, "attempt": 1}))]
    if "values" in modes:
        seen = (context.turns, context.graph_state, context.asides)
        begun = snapshot.values(*seen, has_messages=context.has_messages)
        events.append(NamedEvent("values", dumps(begun)))
    return events


END = NamedEvent("end", "null")


class LangGraphEncoder:
    """`namespace` has the calls around a subagent whose chunks are encoded."""

    def __init__(self, context: StreamContext, modes: Modes, namespace: str = "") -> None:
        self._modes = modes
        self._namespace = namespace
        self._below: dict[str, LangGraphEncoder] = {}
        """The encoders of substeps, by call."""
        self._namespaces: dict[str, str] = {}
        """The namespaces of subagents, by call."""
        self._thread = ToldThread(context.turns, context.message_id)
        self._earlier_calls = calls_of(context.turns)
        self._earlier_below: dict[str, tuple[Step, ...]] = {}
        """The substeps of earlier runs, by call."""
        if not namespace and SUBGRAPHS in modes:
            for call in self._earlier_calls.values():
                self._note_earlier(call, f"tools:{call.tool_call_id}")
        self._steps: dict[str, _Step] = {}
        self._calls: dict[chunks.Path, chunks.ToolCallPart] = {}
        self._around: dict[chunks.Path, tuple[str, str]] = {}
        """By part: the payload around a piece of its text, which most chunks are."""
        self._interrupts: list[chunks.Interrupt] = []
        self._state = context.graph_state
        self._has_messages = context.has_messages
        self._asides = [*context.asides]
        self._values_bytes = 0
        self._last_bytes = snapshot.image_bytes(context.turns)
        """The size of `values` in the middle of the run: of all so far, and of the last. The first
        have the images at least."""
        self._end = END
        self._debug_step = -1 if len(context.turns) > 1 else -2
        self._last_state: list[str] | None = None
        """The messages of the state that was told last as a checkpoint."""
        self._last_values = ""
        self._has_begun = False
        self._open_tasks: dict[str, chunks.TaskStart] = {}
        self._ended_tasks: list[chunks.TaskFinish] = []
        """Tasks whose results are still to come."""
        self._has_tasks = False
        self._has_news = False
        """True if the messages have changed since `values` came last."""
        self._answers: dict[str, Json] = {}
        """The tool messages of the run, by call."""
        self._unsaid: dict[str, tuple[str, Json]] = {}
        """Messages that are whole and in no update yet, with their nodes: by step, or by call."""
        self._updated = set[str]()
        """The messages that are in the updates of tasks, in the same way."""
        self._told = set[str]()
        """The steps whose model calls have ended."""
        self._told_messages = set[str]()
        """The messages whose metadata is told."""
        self._finished = set[str]()
        self._events = self._by_chunk()
        self._run_id, self._thread_id = context.run_id, context.thread_id

    def _by_chunk(self) -> Mapping[type[chunks.Chunk], Callable[[Any], list[str] | None]]:
        return {
            chunks.StepStart: self._step_start,
            chunks.PartStart: self._part_start,
            chunks.PartMade: self._part_made,
            chunks.TextDelta: self._text_delta,
            chunks.ArgsFinish: self._args_finish,
            chunks.Result: self._result,
            chunks.StepFinish: self._step_finish,
            chunks.HistoryShortened: self._shortened,
            chunks.ToolSettled: self._settled,
            chunks.Aside: self._aside,
            chunks.TaskStart: self._task_start,
            chunks.TaskFinish: self._task_finish,
            chunks.ToolProgress: self._progress,
            chunks.Custom: lambda chunk: self._event("custom", chunk.value),
            chunks.GraphState: self._graph_state,
            chunks.Interrupt: self._interrupts.append,
            chunks.Error: self._error,
            chunks.MessageFinish: self._finish,
            chunks.Done: lambda _chunk: self._done(),
        }

    def encode(self, chunk: chunks.Chunk) -> list[str]:
        if isinstance(chunk, chunks.StepWithdrawn | chunks.MessagesRemoved):
            return [] if self._namespace else self._removed(chunk)
        if isinstance(chunk, chunks.Substep):
            return self._substep(chunk) if SUBGRAPHS in self._modes else []
        self._thread.take(chunk)
        events = self._events.get(type(chunk))
        return (events and events(chunk)) or []

    def _substep(self, chunk: chunks.Substep) -> list[str]:
        id = chunk.tool_call_id
        if id not in self._below:
            namespace = self._namespaces.get(id, f"tools:{id}")
            turns = (AssistantTurn("", self._earlier_below.get(id, ())),)
            context = StreamContext("", "", turns)
            self._below[id] = LangGraphEncoder(context, self._modes, namespace)
        match chunk.chunk:
            case chunks.PartStart(_, _, chunks.ToolCallPart(below)):
                self._namespaces[below] = f"{self._below[id]._namespace}|tools:{below}"
        return self._below[id].encode(chunk.chunk)

    def _note_earlier(self, call: ToolCall, namespace: str) -> None:
        self._namespaces[call.tool_call_id] = namespace
        self._earlier_below[call.tool_call_id] = call.substeps
        for part in (part for step in call.substeps for part in step.parts):
            if isinstance(part, ToolCall):
                self._note_earlier(part, f"{namespace}|tools:{part.tool_call_id}")

    def _step_start(self, chunk: chunks.StepStart) -> list[str]:
        place = self._namespace or "|".join(chunk.namespace)
        about = given(langgraph_checkpoint_ns=place or None, lc_agent_name=chunk.agent)
        metadata = {"langgraph_node": chunk.node or "agent", **about}
        # The SDK adds up the words of a message: one that is told again is removed first.
        is_again = bool(self._namespace) and chunk.step_id in self._steps
        removal = {"type": "remove", "id": chunk.step_id}
        self._steps[chunk.step_id] = _Step(chunk.step_id, metadata)
        self._has_news = True
        removed = self._event("messages", [removal, metadata]) if is_again else []
        node = metadata["langgraph_node"]
        begun = self._graph_begun()
        if not self._has_tasks:
            begun += self._task(chunk.step_id, node)
            begun += self._raw("on_chain_start", chunk.step_id, node, {"input": {}}, metadata)
        begun += self._raw("on_chat_model_start", chunk.step_id, node, {"input": {}}, metadata)
        return [*begun, *removed]

    def _part_start(self, chunk: chunks.PartStart) -> list[str]:
        step, path, part = self._steps[chunk.step_id], chunk.path, chunk.part
        if not isinstance(part, chunks.ToolCallPart):
            self._around[path] = step.block(part)
            return []
        self._calls[path] = part
        start, self._around[path] = step.call(part)
        return [*self._message(start), *self._so_far(step, len(part.tool_name))]

    def _part_made(self, chunk: chunks.PartMade) -> list[str]:
        step = self._steps[chunk.step_id]
        payload = step.made(chunk.part)
        return [*self._message(payload), *self._so_far(step, len(payload))]

    def _text_delta(self, chunk: chunks.TextDelta) -> list[str]:
        before, after = self._around[chunk.path]
        said = self._message(f"{before}{quote(chunk.text)}{after}")
        return [*said, *self._so_far(self._steps[chunk.step_id], len(chunk.text))]

    def _so_far(self, step: _Step, more: int) -> list[str]:
        """The message as far as it goes, if it has grown enough since it was last told."""
        if _WHOLE_MESSAGES not in self._modes:
            return []
        step.size += more
        grown = step.size - step.told_size
        if grown * GROWTH < step.told_size:
            return []
        return self._partial(step)

    def _partial(self, step: _Step) -> list[str]:
        step.told_size = step.size
        message = snapshot.ai_message(self._thread.message.step(step.id))
        return self._told_message(message, step.metadata, "messages/partial")

    def _told_message(
        self, message: Json, about: Json, name: str = "messages/complete"
    ) -> list[str]:
        """A message for a client that does not add chunks up."""
        if _WHOLE_MESSAGES not in self._modes:
            return []
        events, id = list[str](), message["id"]
        if id not in self._told_messages and message["type"] != "remove":
            self._told_messages.add(id)
            told = dumps({id: {"metadata": about}})
            events.append(NamedEvent(self._named("messages/metadata"), told))
        return [*events, NamedEvent(self._named(name), dumps([message]))]

    def _args_finish(self, chunk: chunks.ArgsFinish) -> list[str]:
        call = self._calls[chunk.path]
        if chunk.disposition != "server":
            return []
        return [
            *([] if self._has_tasks else self._task(call.tool_call_id, _TOOLS)),
            *self._raw(
                "on_tool_start", call.tool_call_id, call.tool_name, {"input": chunk.args}, {}
            ),
            *self._tool("on_tool_start", call.tool_call_id, call.tool_name, input=chunk.args),
        ]

    def _result(self, chunk: chunks.Result) -> list[str]:
        part = self._calls[chunk.path]
        ended = {"end": chunk.end, "result": chunk.result, "result_id": chunk.result_id}
        call = ToolCall(part.tool_call_id, part.tool_name, "", None, **ended)
        return [*self._told_whole(chunk.step_id), *self._answered(call)]

    def _answered(self, call: ToolCall) -> list[str]:
        message = tool_message(call)
        name = "on_tool_error" if call.is_error else "on_tool_end"
        said = {"error" if call.is_error else "output": call.result}
        self._has_news = True
        self._answers[call.tool_call_id] = message
        ended = []
        if not self._has_tasks:
            ended = self._task_ended(call.tool_call_id, _TOOLS, {"messages": [message]})
        return [
            *ended,
            *self._raw("on_tool_end", call.tool_call_id, call.tool_name, {"output": message}, {}),
            *([] if self._has_tasks else self._checkpoint()),
            *self._tool(name, call.tool_call_id, call.tool_name, **said),
            *self._said_whole(call.tool_call_id, _TOOLS, message),
            *self._said(message, {"langgraph_node": _TOOLS}),
            *self._tasks_ended(),
        ]

    def _step_finish(self, chunk: chunks.StepFinish) -> list[str]:
        told = [*self._message_whole(chunk.step_id), *self._told_whole(chunk.step_id)]
        if "updates" in self._modes:
            step = self._thread.message.step(chunk.step_id)
            node = self._steps[chunk.step_id].metadata["langgraph_node"]
            message = snapshot.ai_message(step)
            told += self._said_whole(step.step_id, node, message) if step.parts else ()
        self._finished.add(chunk.step_id)
        self._has_news = True
        return [*told, *self._tasks_ended(), *self._values_below()]

    def _message_whole(self, step_id: str) -> list[str]:
        """The message of a step that has ended, for a client that does not add chunks up."""
        if _WHOLE_MESSAGES not in self._modes:
            return []
        step, whole = self._steps[step_id], self._thread.message.step(step_id)
        if not whole.parts:
            return []
        rest = self._partial(step) if step.told_size < step.size else []
        return [*rest, *self._told_message(snapshot.ai_message(whole), step.metadata)]

    def _said(self, message: Json, about: Json) -> list[str]:
        """A message that comes whole, or is taken back."""
        chunk = self._event("messages", [message, about])
        return [*chunk, *self._told_message(message, about)]

    def _said_whole(self, id: str, node: str, message: Json) -> list[str]:
        """A message that is whole: an update by itself, unless its task is to tell it."""
        if not self._has_tasks:
            return self._update(node, [message])
        if id not in self._updated:
            self._unsaid[id] = node, message
        return []

    def _removed(self, chunk: chunks.StepWithdrawn | chunks.MessagesRemoved) -> list[str]:
        """Take back the messages that the thread loses."""
        before = snapshot.with_asides(snapshot.messages(self._thread.turns()), self._asides)
        node, removed, self._has_news = "agent", set[str](), True
        if isinstance(chunk, chunks.StepWithdrawn):
            self._steps.pop(chunk.step_id, None)
            for ids in (self._told, self._updated, self._finished):
                ids.discard(chunk.step_id)
        else:
            removed.update(chunk.ids)
        self._thread.take(chunk)
        kept = {one["id"] for one in snapshot.messages(self._thread.turns())}
        kept |= {one.id for one in self._asides} - removed
        gone = [one["id"] for one in before if one["id"] not in kept]
        self._asides = snapshot.asides_among(self._asides, before, kept)
        removals = [{"type": "remove", "id": id} for id in gone]
        events = self._update(node, removals) if removals else []
        for removal in removals:
            events += self._said(removal, {"langgraph_node": node})
        return events

    def _shortened(self, chunk: chunks.HistoryShortened) -> list[str]:
        """The messages that the graph has removed, with their mark."""
        self._has_news = True
        shown = snapshot.messages(self._thread.turns()) if "updates" in self._modes else ()
        removed = [one for one in shown if one["id"] in chunk.ids and one["type"] != "tool"]
        return self._update("agent", removed) if removed else []

    def _settled(self, chunk: chunks.ToolSettled) -> list[str]:
        call = self._earlier_calls.get(chunk.tool_call_id)
        if call is None or call.end:
            return []
        settled = self._earlier_calls[chunk.tool_call_id] = settle_call(call, chunk)
        return [*self._answered(settled), *self._values_below()]

    def _values_below(self) -> list[str]:
        """The values of a subagent so far: an event for a stream of its namespace alone."""
        if not self._namespace or "values" not in self._modes:
            return []
        return self._values()

    def _aside(self, chunk: chunks.Aside) -> list[str]:
        self._asides.append(chunk)
        self._has_news = True
        [message] = snapshot.with_asides((), [chunk])
        return self._said(message, {})

    def _task_start(self, chunk: chunks.TaskStart) -> list[str]:
        ended = self._tasks_ended(chunk.namespace)
        if not chunk.namespace:
            is_news = self._has_news and "values" in self._modes
            ended += [*(self._values() if is_news else ()), *self._checkpoint()]
        self._has_tasks = True
        self._open_tasks[chunk.task_id] = chunk
        about = {"langgraph_node": chunk.node}
        return [
            *ended,
            *self._graph_begun(),
            *self._task(chunk.task_id, chunk.node, chunk.namespace),
            *self._raw("on_chain_start", chunk.task_id, chunk.node, {"input": {}}, about),
        ]

    def _task_finish(self, chunk: chunks.TaskFinish) -> list[str]:
        self._open_tasks.pop(chunk.task_id, None)
        self._ended_tasks.append(chunk)
        return self._tasks_ended()

    def _tasks_ended(self, over: tuple[str, ...] | None = None) -> list[str]:
        """The ends of tasks whose messages are whole. `over`: no more messages come of the tasks
        that have ended in this namespace; nodes beside it may be at work."""
        waiting, self._ended_tasks = self._ended_tasks, []
        events = list[str]()
        for task in waiting:
            is_over = over is not None and task.namespace[: len(over)] == over
            is_answered = self._answers.keys() >= {*task.call_ids}
            if is_over or (is_answered and self._finished.issuperset(task.step_ids)):
                events += self._task_result(task)
            else:
                self._ended_tasks.append(task)
        if over is not None and all(task.namespace for task in self._open_tasks.values()):
            unsaid, self._unsaid = self._unsaid, {}
            for node, message in unsaid.values():
                events += self._update(node, [message])
        return events

    def _task_result(self, task: chunks.TaskFinish) -> list[str]:
        """The end of a task, and the update that it has made."""
        node, about = task.node, {"langgraph_node": task.node}
        if self._modes.isdisjoint(("updates", "tasks", "debug", "events")):
            return []
        steps = map(self._thread.message.step, filter(self._steps.__contains__, task.step_ids))
        answers = (self._answers[id] for id in task.call_ids if id in self._answers)
        messages = [*map(snapshot.ai_message, steps), *answers] if self._has_messages else []
        for id in (*task.step_ids, *task.call_ids):
            self._unsaid.pop(id, None)
            self._updated.add(id)
        said = {"messages": messages} if messages else {}
        written, updates = {**_together(task.writes), **said}, list[str]()
        for number, write in enumerate(task.writes or ({},)):
            update = {node: {**write, **({} if number else said)} or None}
            updates += self._event("updates", update, task.namespace)
        return [
            *updates,
            *self._task_ended(task.task_id, node, written, namespace=task.namespace),
            *self._raw("on_chain_stream", task.task_id, node, {"chunk": written}, about),
            *self._raw("on_chain_end", task.task_id, node, {"output": written}, about),
        ]

    def _progress(self, chunk: chunks.ToolProgress) -> list[str]:
        return self._tool("on_tool_event", chunk.tool_call_id, None, data=chunk.data)

    def _graph_state(self, chunk: chunks.GraphState) -> list[str]:
        """All values; the end has them anyway."""
        before, self._state = self._state, merged(self._state or {}, chunk)
        # The first of a run has what went ahead of it, as a rule.
        if "values" not in self._modes or dumps(before) == dumps(self._state):
            return []
        return self._values()

    def _values(self) -> list[str]:
        """All values, if they are others than those told last and there is room for as much
        again."""
        if self._values_bytes + self._last_bytes > MAX_VALUES_BYTES:
            return []
        self._has_news = False
        text = dumps(self._all_values(self._thread.turns()))
        if text == self._last_values:
            return []
        self._last_values = text
        self._last_bytes = len(text)
        self._values_bytes += self._last_bytes
        return [NamedEvent(self._named("values"), text)]

    def _all_values(self, turns: Sequence[Turn]) -> Json:
        seen = (turns, self._state, self._asides)
        return snapshot.values(*seen, has_messages=self._has_messages)

    def _error(self, chunk: chunks.Error) -> None:
        error = snapshot.error_json(chunk.code, chunk.message, chunk.error_id)
        self._end = NamedEvent("error", dumps(error))

    def _finish(self, _chunk: chunks.MessageFinish) -> list[str]:
        """The thread as the run leaves it."""
        turns = self._thread.turns()
        asked = snapshot.open_interrupts(turns, self._interrupts)
        events = self._tasks_ended(())
        events += self._event("updates", {"__interrupt__": asked}) if asked else []
        events += self._finish_asked(turns, is_asking=bool(asked))
        if "values" in self._modes:
            state = self._all_values(turns)
            events += self._event("values", state)
            if asked is not None:
                light = [*map(snapshot.without_images, state.get("messages", ()))]
                said = {"messages": light} if self._has_messages else {}
                asking = {**state, **said, "__interrupt__": asked}
                events += self._event("values", asking)
        return events

    def _finish_asked(self, turns: Sequence[Turn], *, is_asking: bool) -> list[str]:
        """The end, in the modes for who asks for them."""
        if self._modes.isdisjoint(ASKED_MODES):
            return []
        thread, events = self._saved(turns, self._interrupts), list[str]()
        for task in snapshot.tasks(thread) if is_asking else ():
            id = self._open_task(task["name"]) or task["id"]
            events += self._task_ended(id, task["name"], {}, task["interrupts"])
        output = {"output": thread.values}
        ended = self._raw("on_chain_end", self._run_id, _GRAPH, output, {})
        return [*events, *self._checkpoint(thread), *self._graph_begun(), *ended]

    def _open_task(self, node: str) -> str | None:
        """Take the first task of a node of the root graph that has no end."""
        tasks = (id for id, task in self._open_tasks.items() if task.node == node)
        id = next((id for id in tasks if not self._open_tasks[id].namespace), None)
        if id is not None:
            del self._open_tasks[id]
        return id

    def _graph_begun(self) -> list[str]:
        """The first of the raw events."""
        if self._has_begun or self._namespace:
            return []
        self._has_begun = True
        return self._raw("on_chain_start", self._run_id, _GRAPH, {"input": {}}, {})

    def _told_whole(self, step_id: str) -> list[str]:
        """The end of a model call, once: when its step has ended, or has a result before."""
        if self._modes.isdisjoint(ASKED_MODES) or step_id in self._told:
            return []
        self._told.add(step_id)
        step, about = self._thread.message.step(step_id), self._steps[step_id].metadata
        node = about["langgraph_node"]
        output = snapshot.ai_message(step) if step.parts else None
        update = {"messages": [output] if output else []}
        ended = self._raw("on_chat_model_end", step_id, node, {"output": output}, about)
        if self._has_tasks:
            return ended
        return [
            *self._task_ended(step_id, node, update),
            *self._checkpoint(),
            *ended,
            *self._raw("on_chain_stream", step_id, node, {"chunk": update}, about),
            *self._raw("on_chain_end", step_id, node, {"output": update}, about),
        ]

    def _raw(self, event: str, id: str, name: str, data: Json, metadata: Json) -> list[str]:
        """An event as LangChain's `astream_events` names it. What a graph reads of its state is not
        shown."""
        if "events" not in self._modes:
            return []
        about = {"tags": [], "metadata": metadata, "parent_ids": []}
        return self._event(
            "events", {"event": event, "run_id": id, "name": name, "data": data, **about}
        )

    def _done(self) -> list[str]:
        if THREAD not in self._modes:
            return [self._end]
        done = NamedEvent("metadata", dumps({"status": "run_done", "run_id": self._run_id}))
        return [done] if self._end is END else [self._end, done]

    def _saved(
        self, turns: Sequence[Turn], interrupts: Sequence[chunks.Interrupt] = ()
    ) -> snapshot.SavedThread:
        messages = snapshot.with_asides(snapshot.messages(turns), self._asides)
        thread = (self._thread_id, turns, messages, interrupts, self._state)
        return snapshot.SavedThread(*thread, has_messages=self._has_messages)

    def _task(self, id: str, node: str, namespace: Sequence[str] = ()) -> list[str]:
        """Something begins. What it reads of the graph's state is not shown."""
        task = {"id": id, "name": node, "input": {}, "triggers": [], "metadata": {}}
        return [*self._debug("task", task, namespace), *self._event("tasks", task, namespace)]

    def _task_ended(
        self,
        id: str,
        node: str,
        result: Json,
        interrupts: Sequence[Json] = (),
        namespace: Sequence[str] = (),
    ) -> list[str]:
        ended = {"error": None, "result": result, "interrupts": [*interrupts]}
        task: Json = {"id": id, "name": node, **ended}
        told = self._debug("task_result", task, namespace)
        return [*told, *self._event("tasks", task, namespace)]

    def _checkpoint(self, thread: snapshot.SavedThread | None = None) -> list[str]:
        """The state behind the messages that are whole now, if it is another than that told last
        and there is room for as much again; `thread`: as the run leaves it, in any case."""
        if self._modes.isdisjoint(("checkpoints", "debug")) or self._namespace:
            return []
        is_last = thread is not None
        if not is_last and self._values_bytes + self._last_bytes > MAX_VALUES_BYTES:
            return []
        thread = thread or self._saved(self._thread.turns())
        known, self._last_state = self._last_state, [one["id"] for one in thread.messages]
        if not is_last and known == self._last_state:
            return []
        events = list[str]()
        is_first = known is None and self._has_tasks is False and len(thread.messages) == 1
        for state in (
            *([snapshot.event_state(thread, is_first=True)] if is_first else ()),
            snapshot.event_state(thread),
        ):
            self._last_bytes = len(dumps(state))
            self._values_bytes += self._last_bytes
            events += [*self._debug("checkpoint", state), *self._event("checkpoints", state)]
        return events

    def _debug(self, kind: str, payload: Json, namespace: Sequence[str] = ()) -> list[str]:
        if "debug" not in self._modes:
            return []
        self._debug_step += kind == "checkpoint"
        step = self._debug_step + (kind != "checkpoint")
        return self._event("debug", {"step": step, "type": kind, "payload": payload}, namespace)

    def _update(self, node: str, messages: Sequence[Json]) -> list[str]:
        if not self._has_messages:
            return []
        return self._event("updates", {node: {"messages": messages}})

    def _tool(self, event: str, call_id: str, name: str | None, **said: Any) -> list[str]:
        about = {"event": event, "toolCallId": call_id, **given(name=name)}
        return self._event("tools", {**about, **said})

    def _event(self, name: str, data: Any, namespace: Sequence[str] = ()) -> list[str]:
        """`namespace` is that of a subgraph, of which is told only if the client asks for it."""
        mode = _MESSAGES if name == "messages" else name
        if mode not in self._modes or (namespace and SUBGRAPHS not in self._modes):
            return []
        return [NamedEvent("|".join((self._named(name), *namespace)), dumps(data))]

    def _message(self, payload: str) -> list[str]:
        name, events = self._named("messages"), list[str]()
        if "events" in self._modes:
            message, about = json.loads(payload)
            node, data = about["langgraph_node"], {"chunk": message}
            events = self._raw("on_chat_model_stream", message["id"], node, data, about)
        return [*events, NamedEvent(name, payload)] if _MESSAGES in self._modes else events

    def _named(self, event: str) -> str:
        return f"{event}|{self._namespace}" if self._namespace else event
