"""LangGraph SDK: what a run says of a message, as chunks that LangChain adds up.

    [{"type": "AIMessageChunk", "id", "content", "tool_call_chunks"?}, metadata]

The first text of a message comes as strings, as long as nothing was said before it; all else as a
list of one block, whose `index` says which block of the message goes on. A call comes with its id
and name, then pieces of its arguments under the same `index`.
"""

from dataclasses import dataclass

from turnstream.server.protocols.json_text import dumps, quote
from turnstream.server.turns.chunks import (
    Part,
    Path,
    ReasoningPart,
    StepStart,
    TextDelta,
    ToolCallPart,
)


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
    def __init__(self) -> None:
        self._steps: dict[str, _Step] = {}
        self._told: list[_Told] = []
        """By the number in a part's path."""

    def start(self, step: StepStart) -> None:
        namespace = {"langgraph_checkpoint_ns": "|".join(step.namespace)} if step.namespace else {}
        metadata = {"langgraph_node": step.node or "agent", **namespace}
        self._steps[step.step_id] = _Step(quote(step.step_id), dumps(metadata))

    def add(self, step_id: str, part: Part) -> str | None:
        """The payload that a part begins with; None: it begins with its text."""
        step = self._steps[step_id]
        head = f'[{{"type":"AIMessageChunk","id":{step.id},"content":'
        tail = f"}},{step.metadata}]"
        if isinstance(part, ToolCallPart):
            start = f'{head}"","tool_call_chunks":[{{"type":"tool_call_chunk","index":{step.calls},'
            step.calls += 1
            self._told.append(_Told(part, f'{start}"id":null,"name":null,"args":', f"}}]{tail}"))
            name = f'"id":{quote(part.tool_call_id)},"name":{quote(part.tool_name)}'
            return f'{start}{name},"args":""}}]{tail}'
        before, after = _block(part, step.spoken)
        step.spoken += 1
        self._told.append(_Told(part, f"{head}{before}", f"{after}{tail}"))
        return None

    def delta(self, chunk: TextDelta) -> str:
        told = self._told[chunk.path[0]]
        return f"{told.before}{quote(chunk.text)}{told.after}"

    def call(self, path: Path) -> ToolCallPart:
        part = self._told[path[0]].part
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
