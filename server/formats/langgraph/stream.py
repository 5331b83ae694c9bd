"""LangGraph SDK: chunks to named events, as `useStream` (`@langchain/langgraph-sdk/react` 1.15 and
2.0.0), assistant-ui's `useLangGraphRuntime` (0.14) and Python's `langgraph_sdk` (0.4.14) read them.

    metadata   {"run_id", "attempt"}, ahead of the first event
    values     {"messages", "__interrupt__"?, ...}: ahead of the first event, at the end, and when
               what clients see of the graph's own state has changed: it is in there by name
    messages   [chunk of a message, {"langgraph_node", "langgraph_checkpoint_ns"?}]
    updates    {node: {"messages": [message]}}: a message or a result that is whole;
               {"__interrupt__": [interrupt]}
    custom     what a graph or a tool wrote to LangGraph's stream writer
    tools      {"event": "on_tool_start" | "on_tool_event" | "on_tool_end" | "on_tool_error",
                "toolCallId", "name", ...}: how a tool gets on, for `toolProgress`
    error      {"error": code, "message", "id"?}   } exactly one of them, the last
    end        null                                }

Clients add the chunks of a message up. So of the events of one chunk of the run such a one is the
last, with the id: whoever was cut off before it gets the others twice, which changes nothing. A
message that the thread did not get is taken back as `{"type": "remove", "id"}`.

At an interrupt `values` come twice: a client takes nothing but `__interrupt__` from those that have
it. An empty list is a breakpoint.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnstream.server.formats.format import NamedEvent, StreamContext
from turnstream.server.formats.json_text import dumps, quote
from turnstream.server.formats.langchain_messages import Json, tool_message
from turnstream.server.formats.langgraph.modes import Modes
from turnstream.server.formats.langgraph.snapshot import (
    ai_message,
    ids_in,
    open_interrupts,
    step_ids,
    values,
)
from turnstream.server.formats.langgraph.states import error_json
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Custom,
    Done,
    Error,
    GraphState,
    Interrupt,
    MessageFinish,
    MessagesRemoved,
    Part,
    PartStart,
    Path,
    ReasoningPart,
    Result,
    StepFinish,
    StepStart,
    StepWithdrawn,
    TextDelta,
    ToolCallPart,
    ToolProgress,
    ToolSettled,
)
from turnstream.server.turns.graph_state import merged
from turnstream.server.turns.messages import ToolCall, settle_call
from turnstream.server.turns.told_thread import ToldThread, calls_of


@dataclass(slots=True)
class _Step:
    id: str
    metadata: str
    spoken: int = 0
    calls: int = 0


@dataclass(frozen=True, slots=True)
class _Told:
    """A part: the payload of its deltas, up to the text and from there on."""

    part: Part
    before: str
    after: str


class MessageChunks:
    """Messages as chunks that LangChain adds up.

        [{"type": "AIMessageChunk", "id", "content", "tool_call_chunks"?}, metadata]

    The first text of a message comes as strings, as long as nothing was said before it; all else as
    a list of one block, whose `index` says which block of the message goes on. A call comes with
    its id and name, then pieces of its arguments under the same `index`.
    """

    def __init__(self) -> None:
        self._steps: dict[str, _Step] = {}
        self._told: dict[Path, _Told] = {}

    def start(self, step: StepStart) -> None:
        namespace = {"langgraph_checkpoint_ns": "|".join(step.namespace)} if step.namespace else {}
        metadata = {"langgraph_node": step.node or "agent", **namespace}
        self._steps[step.step_id] = _Step(quote(step.step_id), dumps(metadata))

    def add(self, chunk: PartStart) -> str | None:
        """The payload that a part begins with; None: it begins with its text."""
        step, part = self._steps[chunk.step_id], chunk.part
        head = f'[{{"type":"AIMessageChunk","id":{step.id},"content":'
        tail = f"}},{step.metadata}]"
        if isinstance(part, ToolCallPart):
            start = f'{head}"","tool_call_chunks":[{{"type":"tool_call_chunk","index":{step.calls},'
            step.calls += 1
            before, after = f'{start}"id":null,"name":null,"args":', f"}}]{tail}"
            self._told[chunk.path] = _Told(part, before, after)
            name = f'"id":{quote(part.tool_call_id)},"name":{quote(part.tool_name)}'
            return f'{start}{name},"args":""}}]{tail}'
        before, after = _block(part, step.spoken)
        step.spoken += 1
        self._told[chunk.path] = _Told(part, f"{head}{before}", f"{after}{tail}")
        return None

    def delta(self, chunk: TextDelta) -> str:
        told = self._told[chunk.path]
        return f"{told.before}{quote(chunk.text)}{told.after}"

    def call(self, path: Path) -> ToolCallPart:
        part = self._told[path].part
        assert isinstance(part, ToolCallPart), "arguments and results are a call's"
        return part


def _block(part: Part, index: int) -> tuple[str, str]:
    """What stands around a piece of text."""
    if isinstance(part, ReasoningPart):
        summary = '"summary":[{"type":"summary_text","index":0,"text":'
        return f'[{{"type":"reasoning","index":{index},{summary}', "}]}]"
    if index == 0:
        return "", ""
    return f'[{{"type":"text","index":{index},"text":', "}]"


_TOOLS = "tools"
"""The node that results are told of: LangGraph's own name for it."""
MAX_VALUES_BYTES = 2_000_000
"""Of the `values` in the middle of a run, which have the whole thread each time."""


def prologue(context: StreamContext, modes: Modes) -> list[str]:
    events = [NamedEvent("metadata", dumps({"run_id": context.run_id, "attempt": 1}))]
    if "values" in modes:
        events.append(NamedEvent("values", dumps(values(context.turns, context.graph_state))))
    return [*events]


def end() -> NamedEvent:
    return NamedEvent("end", "null")


class LangGraphEncoder:
    def __init__(self, context: StreamContext, modes: Modes) -> None:
        self._modes = modes
        self._thread = ToldThread(context.turns, context.message_id)
        self._earlier_calls = calls_of(context.turns)
        self._chunks = MessageChunks()
        self._nodes: dict[str, str] = {}
        """Of each step that the run tells."""
        self._interrupts: list[Interrupt] = []
        self._state = context.graph_state
        self._values_bytes = self._last_bytes = 0
        """Of `values` in the middle of the run: all so far, and the last."""
        self._error: Json | None = None
        self._told: Mapping[type[Chunk], Callable[[Any], list[NamedEvent]]] = {
            StepStart: self._step_start,
            PartStart: self._part_start,
            TextDelta: self._text_delta,
            ArgsFinish: self._args_finish,
            Result: self._result,
            StepFinish: self._step_finish,
            ToolSettled: self._settled,
            ToolProgress: self._progress,
            Custom: self._custom,
            GraphState: self._graph_state,
            Interrupt: self._interrupt,
            Error: self._failed,
            MessageFinish: self._finish,
            Done: self._done,
        }

    def encode(self, chunk: Chunk) -> list[str]:
        gone = self._gone_with(chunk)
        self._thread.take(chunk)
        if gone:
            return [*self._take_back(gone)]
        tell = self._told.get(type(chunk))
        return [*tell(chunk)] if tell else []

    def _step_start(self, chunk: StepStart) -> list[NamedEvent]:
        self._nodes[chunk.step_id] = chunk.node or "agent"
        self._chunks.start(chunk)
        return []

    def _part_start(self, chunk: PartStart) -> list[NamedEvent]:
        head = self._chunks.add(chunk)
        return self._as_message(head) if head else []

    def _text_delta(self, chunk: TextDelta) -> list[NamedEvent]:
        if "messages-tuple" not in self._modes:
            return []
        return [NamedEvent("messages", self._chunks.delta(chunk))]

    def _args_finish(self, chunk: ArgsFinish) -> list[NamedEvent]:
        call = self._chunks.call(chunk.path)
        if chunk.disposition != "server":
            return []
        return self._tool("on_tool_start", call.tool_call_id, call.tool_name, input=chunk.args)

    def _result(self, chunk: Result) -> list[NamedEvent]:
        part = self._chunks.call(chunk.path)
        call = ToolCall(
            part.tool_call_id,
            part.tool_name,
            "",
            None,
            "server",
            chunk.end,
            chunk.result,
            chunk.result_id,
        )
        return self._answered(call)

    def _answered(self, call: ToolCall) -> list[NamedEvent]:
        message = tool_message(call)
        how = "on_tool_error" if call.is_error else "on_tool_end"
        said = {"error" if call.is_error else "output": call.result}
        return [
            *self._tool(how, call.tool_call_id, call.tool_name, **said),
            *self._update(_TOOLS, [message]),
            *self._as_message(dumps([message, {"langgraph_node": _TOOLS}])),
        ]

    def _step_finish(self, chunk: StepFinish) -> list[NamedEvent]:
        if "updates" not in self._modes:
            return []
        step = self._thread.message.step(chunk.step_id)
        return self._update(self._nodes[step.step_id], [ai_message(step)]) if step.parts else []

    def _gone_with(self, chunk: Chunk) -> list[str]:
        """The ids of the messages that the thread loses by this."""
        match chunk:
            case StepWithdrawn():
                return step_ids(self._thread.message.step(chunk.step_id))
            case MessagesRemoved():
                ids = {*chunk.ids}
                return [id for turn in self._thread.turns() for id in ids_in(turn, ids)]
        return []

    def _take_back(self, ids: Iterable[str]) -> list[NamedEvent]:
        removals = [{"type": "remove", "id": id} for id in ids]
        taken_back = [
            event
            for removal in removals
            for event in self._as_message(dumps([removal, {"langgraph_node": "agent"}]))
        ]
        return [*(self._update("agent", removals) if removals else []), *taken_back]

    def _settled(self, chunk: ToolSettled) -> list[NamedEvent]:
        call = self._earlier_calls.get(chunk.tool_call_id)
        if call is None or call.end:
            return []
        settled = self._earlier_calls[chunk.tool_call_id] = settle_call(call, chunk)
        return self._answered(settled)

    def _progress(self, chunk: ToolProgress) -> list[NamedEvent]:
        return self._tool("on_tool_event", chunk.tool_call_id, None, data=chunk.data)

    def _custom(self, chunk: Custom) -> list[NamedEvent]:
        return [NamedEvent("custom", dumps(chunk.value))] if "custom" in self._modes else []

    def _graph_state(self, chunk: GraphState) -> list[NamedEvent]:
        before, self._state = self._state, merged(self._state or {}, chunk)
        # The first of a run has what went ahead of it, as a rule.
        if "values" not in self._modes or dumps(before) == dumps(self._state):
            return []
        return self._in_between()

    def _in_between(self) -> list[NamedEvent]:
        """All values, as long as there is room for as much again; the end has them anyway."""
        if self._values_bytes + self._last_bytes > MAX_VALUES_BYTES:
            return []
        text = dumps(values(self._thread.turns(), self._state))
        self._last_bytes = len(text)
        self._values_bytes += self._last_bytes
        return [NamedEvent("values", text)]

    def _interrupt(self, chunk: Interrupt) -> list[NamedEvent]:
        self._interrupts.append(chunk)
        return []

    def _failed(self, chunk: Error) -> list[NamedEvent]:
        said = {"code": chunk.code, "message": chunk.message, "id": chunk.error_id}
        self._error = error_json(said)
        return []

    def _finish(self, _chunk: MessageFinish) -> list[NamedEvent]:
        """The thread as the run leaves it."""
        turns = self._thread.turns()
        asked = open_interrupts(turns, self._interrupts)
        events = []
        if asked and "updates" in self._modes:
            events.append(NamedEvent("updates", dumps({"__interrupt__": asked})))
        if "values" in self._modes:
            state = values(turns, self._state)
            events.append(NamedEvent("values", dumps(state)))
            if asked is not None:
                events.append(NamedEvent("values", dumps({**state, "__interrupt__": asked})))
        return events

    def _done(self, _chunk: Done) -> list[NamedEvent]:
        return [end() if self._error is None else NamedEvent("error", dumps(self._error))]

    def _as_message(self, payload: str) -> list[NamedEvent]:
        return [NamedEvent("messages", payload)] if "messages-tuple" in self._modes else []

    def _update(self, node: str, messages: Sequence[Json]) -> list[NamedEvent]:
        if "updates" not in self._modes:
            return []
        return [NamedEvent("updates", dumps({node: {"messages": messages}}))]

    def _tool(self, event: str, call_id: str, name: str | None, **said: Any) -> list[NamedEvent]:
        if "tools" not in self._modes:
            return []
        named = {} if name is None else {"name": name}
        return [
            NamedEvent("tools", dumps({"event": event, "toolCallId": call_id, **named, **said}))
        ]
