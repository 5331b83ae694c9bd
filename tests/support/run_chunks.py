"""The chunks of a run, checked against the grammar and read by call, text, result and error."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessageChunk

from tests.support import chunk_grammar
from tests.support.backend import THREAD, Backend, answers, message
from tests.support.scripted_model import Piece, call, finish
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Disposition,
    MessageFinish,
    PartStart,
    Result,
    RunEnded,
    StepStart,
    TextDelta,
    TextPart,
    ToolCallPart,
    ToolProgress,
    ToolSettled,
)

SELECTION = "request_user_selection"
COMPONENT = "render_ui_component"
QUESTION = '{"kind":"single","prompt":"Which?","options":[{"value":"red"},{"value":"blue"}]}'
ALERT = '{"component":"alert","props":{"message":"Hi"}}'


def tool_call_message(*calls: tuple[str, str, str], reason: str = "tool_calls") -> list[Piece]:
    """A model's message of calls: `(id, name, argument text)`, the text in two fragments."""
    said: list[AIMessageChunk] = []
    for index, (id, name, args) in enumerate(calls):
        half = len(args) // 2
        said += [call(args[:half], name=name, id=id, index=index), call(args[half:], index=index)]
    return [*said, finish(reason)]


class RunChunks:
    """The chunks of a run, which keep the grammar."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        chunk_grammar.check(chunks)
        self.chunks = chunks
        self._by_path = {c.path: c.part for c in chunks if isinstance(c, PartStart)}
        self.parts = [*self._by_path.values()]

    @property
    def text(self) -> str:
        """The text parts together, without thoughts and arguments."""
        return "".join(
            chunk.text
            for chunk in self.chunks
            if isinstance(chunk, TextDelta) and isinstance(self._by_path[chunk.path], TextPart)
        )

    @property
    def calls(self) -> list[ToolCallPart]:
        return [part for part in self.parts if isinstance(part, ToolCallPart)]

    @property
    def results(self) -> dict[str, Result]:
        """By call id."""
        found: dict[str, Result] = {}
        for chunk in self.chunks:
            if isinstance(chunk, Result):
                part = self._by_path[chunk.path]
                assert isinstance(part, ToolCallPart)
                found[part.tool_call_id] = chunk
        return found

    @property
    def error_codes(self) -> dict[str, str]:
        """Of the calls that failed, by call id."""
        return {
            id: result.result["error"]["code"]
            for id, result in self.results.items()
            if result.is_error
        }

    @property
    def steps(self) -> int:
        return sum(isinstance(chunk, StepStart) for chunk in self.chunks)

    @property
    def reason(self) -> str:
        finished = self.chunks[-2]
        assert isinstance(finished, MessageFinish)
        return finished.reason

    @property
    def ended(self) -> RunEnded | None:
        return next((c for c in self.chunks if isinstance(c, RunEnded)), None)

    @property
    def settled(self) -> list[ToolSettled]:
        return [chunk for chunk in self.chunks if isinstance(chunk, ToolSettled)]

    @property
    def progress(self) -> list[ToolProgress]:
        return [chunk for chunk in self.chunks if isinstance(chunk, ToolProgress)]

    @property
    def dispositions(self) -> dict[str, Disposition]:
        """The final ones, by call id."""
        finished = (chunk for chunk in self.chunks if isinstance(chunk, ArgsFinish))
        calls = ((self._by_path[chunk.path], chunk.disposition) for chunk in finished)
        return {p.tool_call_id: d for p, d in calls if isinstance(p, ToolCallPart)}


async def send_message(backend: Backend, words: str = "Hello", **fields: Any) -> RunChunks:
    thread = fields.pop("thread", THREAD)
    return RunChunks(await backend.turn(message(words, **fields), thread))


async def answer_calls(
    backend: Backend, *items: tuple[str, Any], words: str | None = None
) -> RunChunks:
    """Answer pending calls: `(call id, result)`."""
    return RunChunks(await backend.turn(answers(*items, words=words)))
