"""One step of a run as it streams: the parts of a model call, and which of them are open."""

from collections.abc import Iterator, Mapping

from graphs.parts import PartAssembler, StreamedPart, StreamedText
from server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Disposition,
    PartFinish,
    Path,
    TextDelta,
    Timing,
    Usage,
)


class StreamedStep:
    """One model call: its parts, which of them are open, whether its message is whole."""

    def __init__(self, step_id: str, first_part: int, parts: PartAssembler) -> None:
        self.step_id = step_id
        self.parts = parts
        self.whole = False
        self.usage = Usage(0, 0)
        self.timing: Timing | None = None
        self.tool_ms: dict[str, int] = {}
        self.open_calls: dict[str, Path] = {}
        self._first_part = first_part
        self._open_text: Path | None = None

    def path(self, part: StreamedPart) -> Path:
        return (self._first_part + part.position,)

    def opened(self, part: StreamedPart) -> None:
        if isinstance(part, StreamedText):
            self._open_text = self.path(part)
        else:
            self.open_calls[part.id] = self.path(part)

    def close_text(self) -> list[Chunk]:
        path, self._open_text = self._open_text, None
        return [PartFinish(path)] if path else []

    def finish_args(self, dispositions: Mapping[str, Disposition]) -> Iterator[Chunk]:
        """End the arguments of all calls; one that `dispositions` lacks never became whole."""
        for call in self.parts.calls:
            path = self.path(call)
            if not call.args_text:
                yield TextDelta(path, "{}")
            disposition = dispositions.get(call.id, "invalid")
            yield ArgsFinish(path, call.args, disposition)
