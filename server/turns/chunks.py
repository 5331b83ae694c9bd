"""The vocabulary of a stream: one frozen dataclass a chunk, one union.

The words are those of assistant-stream's `AssistantStreamChunk` (0.3.44). A run says:

    run     = (step | substep | task | data)* [error] message-finish done
    step    = step-start part* step-finish [step-withdrawn]
    part    = part-start text-delta* part-finish                                  (text, reasoning)
            | part-start text-delta* args-finish [result] part-finish             (tool call)
            | part-made                                                           (file, source)

Every chunk of a step names it by `step_id`, and every chunk of a part names that by `path`: the
number of parts that started before it in this run. Parts of one step may interleave, and so may
steps, where nodes of a graph speak beside each other. A tool call stays open until its result; one
that waits for the user, or for an approval, is closed without. A withdrawn step is no part of the
message. It may start again under the same id, as the thread has it. Every chunk is one numbered
item of the run's log.

A step that a subagent makes under a tool call is a substep: each of its chunks comes in a
`Substep`, which names the call. The parts under one call are numbered apart, from 0 in each run. A
substep that is withdrawn and begins again is one that its agent has changed; any other was cut,
since the substeps of the call were too long.

A task is a node of the graph at work, told between its two chunks if the client of the run has
asked for that (`RunOptions.tells_tasks`). One that fails, stops to ask or is cut off has no end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from turnstream.server.turns.graph_state import GraphState as GraphState
from turnstream.server.turns.terms import Approval as Approval
from turnstream.server.turns.terms import Disposition as Disposition
from turnstream.server.turns.terms import End as End
from turnstream.server.turns.terms import EndReason as EndReason
from turnstream.server.turns.terms import FinishReason as FinishReason
from turnstream.server.turns.terms import Path as Path
from turnstream.server.turns.terms import Timing as Timing
from turnstream.server.turns.terms import Usage as Usage


@dataclass(frozen=True, slots=True)
class TextPart: ...


@dataclass(frozen=True, slots=True)
class ReasoningPart: ...


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    tool_call_id: str
    tool_name: str
    disposition: Disposition = "server"
    """The disposition that the tool's name lets expect; `ArgsFinish` has the final value."""
    predicts: Mapping[str, str | None] = field(default_factory=dict)
    """The keys of the graph's state that the call is to change. Each will have the value of the
    argument of this name; None: of all arguments."""


Part = TextPart | ReasoningPart | ToolCallPart


@dataclass(frozen=True, slots=True)
class FilePart:
    """An image or a file that the model has made."""

    url: str
    """`data:`, `https:` or `http:`."""
    media_type: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class SourcePart:
    """A page of the web that the model cites."""

    source_id: str
    url: str
    title: str | None = None


MadePart = FilePart | SourcePart


@dataclass(frozen=True, slots=True)
class StepStart:
    message_id: str
    """The assistant message of the turn: one id for all its steps and runs."""
    step_id: str
    """The model's own message: one id a step, as stored in the thread."""
    node: str | None = None
    """The node that speaks; None: of a message that is told as the thread has it."""
    namespace: tuple[str, ...] = ()
    """The subgraphs around the node, outermost first, each `node:task id` as in LangGraph."""
    agent: str | None = None
    """The name of the agent that speaks, of a substep; of a step see `StepFinish`."""


@dataclass(frozen=True, slots=True)
class PartStart:
    step_id: str
    path: Path
    part: Part


@dataclass(frozen=True, slots=True)
class PartMade:
    """A part that is whole at once. It comes when the message of its step is whole."""

    step_id: str
    path: Path
    part: MadePart


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Text of a text or reasoning part, or JSON text of a tool call's arguments."""

    step_id: str
    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class ArgsFinish:
    step_id: str
    path: Path
    args: Mapping[str, Any] | None
    """The parsed arguments; None when their text is not a JSON object."""
    disposition: Disposition = "server"
    """Final: decided once, on the whole arguments."""


@dataclass(frozen=True, slots=True)
class Result:
    step_id: str
    path: Path
    result: Any
    """JSON: what the client may see. Of a failed call `{"error": {"code", "message", "id"?}}`."""
    end: End
    result_id: str
    """The id of the tool message in the thread."""
    duration_ms: int | None = None
    """Milliseconds that the tool took; None of a call that no tool ran for."""

    @property
    def is_error(self) -> bool:
        return self.end not in ("result", "shown")


@dataclass(frozen=True, slots=True)
class PartFinish:
    step_id: str
    path: Path


@dataclass(frozen=True, slots=True)
class StepFinish:
    step_id: str
    reason: FinishReason
    usage: Usage
    timing: Timing | None = None
    """None: the model was cut off."""
    tool_ms: Mapping[str, int] = field(default_factory=dict)
    """Milliseconds of the step's tools, by call id."""
    model: str | None = None
    """The name of the model that has spoken, as its server gives it; None: it gives none."""
    interrupt_ids: tuple[str, ...] = ()
    """Of a substep: the interrupts in which its agent has stopped to ask."""
    agent: str | None = None
    """The name that the graph gives the author of the step's message."""


@dataclass(frozen=True, slots=True)
class StepWithdrawn:
    """A finished step is withdrawn: its parts, named by number, with their results."""

    step_id: str
    parts: tuple[int, ...]


StepChunk = (
    StepStart
    | PartStart
    | PartMade
    | TextDelta
    | ArgsFinish
    | Result
    | PartFinish
    | StepFinish
    | StepWithdrawn
)


@dataclass(frozen=True, slots=True)
class MessagesRemoved:
    """The graph has removed these user messages and steps of earlier runs from the thread."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HistoryShortened:
    """The graph has shortened what its model gets by these user messages and steps, which are still
    shown."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Aside:
    """A message of the thread that is in none of its turns: a graph has written it in the user's
    name, or as the result of no call. Told of runs that tell their tasks."""

    id: str
    after: str | None
    """The message of the thread ahead of it; None: there is none."""
    role: Literal["user", "tool"]
    text: str
    tool_call_id: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The graph has stopped to ask; the run ends, and a `resume` goes on with the answer. A
    breakpoint asks nothing: its value is None, its id `{node}@{checkpoint id}`."""

    id: str
    value: Any
    """JSON."""
    node: str
    namespace: tuple[str, ...] = ()
    response_schema: Any = None
    """The JSON Schema of an answer, if the graph gives one."""
    tool_call_ids: tuple[str, ...] = ()
    """The calls that it asks to approve, if it asks for that."""
    client_call: str | None = None
    """The call that it asks the client to run: the answer to the call is the answer to it."""

    @property
    def is_breakpoint(self) -> bool:
        return "@" in self.id

    @property
    def approvals(self) -> dict[str, Approval]:
        """The questions about these calls, by call id."""
        return {id: Approval(f"{self.id}.{id}") for id in self.tool_call_ids}


@dataclass(frozen=True, slots=True)
class InterruptsDiscarded:
    """A new message came instead of an answer: the interrupted tasks are gone."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run was ended from outside, or by one of its limits."""

    reason: EndReason
    limit: str | None = None
    """The name of the limit that the run reached."""
    value: float | None = None
    """The value of that limit."""


@dataclass(frozen=True, slots=True)
class ToolSettled:
    """The end of a tool call of an earlier run of the thread."""

    tool_call_id: str
    end: End
    result: Any
    result_id: str | None
    """The id of the tool message in the thread."""
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Substep:
    """A chunk of a subagent under a tool call; `ToolSettled` ends a call of its earlier runs."""

    tool_call_id: str
    """The call under which the subagent runs: one of the answer, or one of another substep."""
    chunk: StepChunk | ToolSettled


@dataclass(frozen=True, slots=True)
class TaskStart:
    """A node begins. `namespace` has the subgraphs around it, as in `StepStart`."""

    task_id: str
    node: str
    namespace: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskFinish:
    """A node has ended, and has written this."""

    task_id: str
    node: str
    namespace: tuple[str, ...] = ()
    step_ids: tuple[str, ...] = ()
    """The model's messages that it wrote."""
    call_ids: tuple[str, ...] = ()
    """The calls whose results it wrote."""
    writes: tuple[Mapping[str, Any], ...] = ()
    """What it wrote beside messages, at one time or at several, as far as clients see the graph's
    state."""


@dataclass(frozen=True, slots=True)
class ToolApproval:
    """The approval of a call of an earlier run: it was decided, or is asked for again. Of a call of
    the run itself `ArgsFinish` says that it needs one: its id is the call's."""

    tool_call_id: str
    approval: Approval


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """JSON that a tool says while it runs."""

    tool_call_id: str
    data: Any


@dataclass(frozen=True, slots=True)
class Custom:
    """JSON that was written to LangGraph's stream writer. No node is named where several were at
    work."""

    value: Any
    node: str | None = None
    namespace: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Error:
    """`error_id` names the entry in the server's log."""

    code: str
    message: str
    error_id: str | None


@dataclass(frozen=True, slots=True)
class MessageFinish:
    """Usage and times are sums over the run's steps; the first token is that of the first step."""

    reason: FinishReason
    usage: Usage
    timing: Timing | None = None
    tool_ms: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done: ...


Chunk = (
    StepChunk
    | Substep
    | TaskStart
    | TaskFinish
    | MessagesRemoved
    | HistoryShortened
    | Aside
    | Interrupt
    | InterruptsDiscarded
    | RunEnded
    | ToolSettled
    | ToolApproval
    | ToolProgress
    | Custom
    | GraphState
    | Error
    | MessageFinish
    | Done
)
