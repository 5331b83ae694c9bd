"""A thread as the chunks of a run tell it."""

from collections.abc import Iterable, Sequence

from turnstream.server.turns.accumulate import Accumulator
from turnstream.server.turns.chunks import (
    Chunk,
    HistoryShortened,
    MessagesRemoved,
    ToolApproval,
    ToolSettled,
)
from turnstream.server.turns.messages import (
    AssistantTurn,
    ToolCall,
    Turn,
    marked,
    settle_turn,
    without,
)


class ToldThread:
    """`turns` is the thread as the run begins; `message_id` names the run's message, which may
    continue one of them."""

    def __init__(self, turns: Sequence[Turn], message_id: str) -> None:
        continued = [turn for turn in turns if turn.id == message_id]
        self._message_id = message_id
        self._others = [turn for turn in turns if turn.id != message_id]
        self.message = Accumulator(
            tuple(s for turn in continued if isinstance(turn, AssistantTurn) for s in turn.steps)
        )

    def take(self, chunk: Chunk) -> None:
        match chunk:
            case ToolSettled() | ToolApproval():
                self._others = [settle_turn(turn, chunk) for turn in self._others]
            case MessagesRemoved():
                self._others = [*without(self._others, chunk.ids)]
            case HistoryShortened():
                self._others = [*marked(self._others, chunk.ids)]
        self.message.take(chunk)

    def turns(self) -> tuple[Turn, ...]:
        return (*self._others, self.message.turn(self._message_id))


def calls_of(turns: Iterable[Turn]) -> dict[str, ToolCall]:
    """By call id; of equal ids the last."""
    parts = (part for turn in turns if isinstance(turn, AssistantTurn) for part in turn.parts)
    return {part.tool_call_id: part for part in parts if isinstance(part, ToolCall)}
