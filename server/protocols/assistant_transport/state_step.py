"""One step in the state that assistant-ui renders: its messages, as far as they are told."""

from dataclasses import dataclass, field, replace
from typing import Any

from turnstream.server.protocols.assistant_transport.state import ai_message, call_json
from turnstream.server.protocols.langchain_messages import block, tool_message
from turnstream.server.turns.chunks import ArgsFinish, Part, ReasoningPart, Result, ToolCallPart
from turnstream.server.turns.messages import Reasoning, Text, ToolCall, with_args

Json = dict[str, Any]
Segments = list[str | int]


@dataclass(slots=True)
class StatePart:
    """`place`: of its text in the message, which holds a text alone as a plain string."""

    part: Part
    position: int
    """Among the texts of its message, or among the calls."""
    texts: list[str] = field(default_factory=list)
    call: ToolCall | None = None

    @property
    def text(self) -> str:
        if len(self.texts) > 1:
            self.texts = ["".join(self.texts)]
        return self.texts[0] if self.texts else ""

    def block(self) -> Json:
        reasons = isinstance(self.part, ReasoningPart)
        return block(Reasoning(self.text) if reasons else Text(self.text))

    def call_json(self) -> Json:
        assert self.call is not None
        return call_json(replace(self.call, args_text=self.text))


@dataclass(slots=True)
class StateStep:
    """`index`: of its first message in the state."""

    step_id: str
    index: int
    spoken: list[StatePart] = field(default_factory=list)
    calls: list[StatePart] = field(default_factory=list)
    results: dict[int, Json] = field(default_factory=dict)
    """By the position of their call."""

    @property
    def is_started(self) -> bool:
        return bool(self.spoken or self.calls)

    @property
    def size(self) -> int:
        """How many messages it has."""
        return self.is_started + len(self.results)

    @property
    def is_plain(self) -> bool:
        """Whether the content is one text, as a string."""
        return len(self.spoken) == 1 and not isinstance(self.spoken[0].part, ReasoningPart)

    def messages(self) -> list[Json]:
        if not self.is_started:
            return []
        calls = [call.call_json() for call in self.calls]
        results = [self.results[position] for position in sorted(self.results)]
        return [ai_message(self.step_id, self.content(), calls), *results]

    def content(self) -> str | list[Json]:
        if self.is_plain:
            return self.spoken[0].text
        return [part.block() for part in self.spoken] or ""

    def add(self, part: Part) -> StatePart:
        if isinstance(part, ToolCallPart):
            call = ToolCall(part.tool_call_id, part.tool_name, "", None)
            added = StatePart(part, len(self.calls), call=call)
            self.calls.append(added)
        else:
            added = StatePart(part, len(self.spoken))
            self.spoken.append(added)
        return added

    def finish_args(self, part: StatePart, chunk: ArgsFinish) -> None:
        assert part.call is not None
        part.call = with_args(part.call, chunk)

    def answer(self, part: StatePart, chunk: Result) -> int:
        """The tool messages stand in the order of their calls, in whatever order they come. Returns
        how many stand ahead of the new one."""
        assert part.call is not None
        ended = {"end": chunk.end, "result": chunk.result, "result_id": chunk.result_id}
        self.results[part.position] = tool_message(replace(part.call, **ended))
        return sorted(self.results).index(part.position)

    def target(self, part: StatePart) -> Segments:
        """Where in the state the part's text grows."""
        message: Segments = ["messages", self.index]
        if part.call is not None:
            return [*message, "tool_calls", part.position, "partial_json"]
        if self.is_plain:
            return [*message, "content"]
        inside: Segments = ["summary", 0] if isinstance(part.part, ReasoningPart) else []
        return [*message, "content", part.position, *inside, "text"]
