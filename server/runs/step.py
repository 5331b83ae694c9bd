"""One step of a run as it is told: the parts of a model call, and which of them are open."""

from collections.abc import Iterator, Mapping

from langchain_core.messages import AIMessage, ToolMessage

from turnstream.graphs import stored
from turnstream.graphs.calls import parse_args
from turnstream.graphs.made_parts import MadeFile, made_parts
from turnstream.graphs.parts import (
    PartAssembler,
    StoredPart,
    StreamedPart,
    StreamedText,
    stored_parts,
)
from turnstream.server.runs.predictions import Predictions
from turnstream.server.runs.speakers import Speaker
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Disposition,
    FilePart,
    FinishReason,
    MadePart,
    PartFinish,
    Path,
    SourcePart,
    StepFinish,
    StepWithdrawn,
    TextDelta,
    Timing,
    Usage,
)


class StreamedStep:
    """One model call: its parts, which of them are open, and its message once that is whole."""

    def __init__(self, step_id: str, speaker: Speaker, parts: PartAssembler) -> None:
        self.step_id = step_id
        self.speaker = speaker
        self.parts = parts
        self.message: AIMessage | None = None
        self.kept: AIMessage | None = None
        """The thread's message that the step was compared with."""
        self.answers: list[ToolMessage] = []
        self.interrupt_ids: tuple[str, ...] = ()
        self.predictions: Predictions = {}
        self.usage = Usage(0, 0)
        self.timing: Timing | None = None
        self.model: str | None = None
        self.agent: str | None = None
        """The name that the graph gives the author of its message."""
        self.tool_ms: dict[str, int] = {}
        self.reason: FinishReason | None = None
        """None: the step has not ended."""
        self.is_withdrawn = False
        self.is_from_log = False
        """True if a log told it, which may be behind what streamed."""
        self.open_calls: dict[str, Path] = {}
        self.dispositions: Mapping[str, Disposition] = {}
        """The dispositions of its calls, once they are final."""
        self.tool_names: dict[str, str] = {}
        """By call id, as the model wrote them."""
        self.paths: list[Path] = []
        """The paths of its parts, in order."""
        self.made: dict[Path, MadePart] = {}
        """The files and sources that are told so far."""
        self.server_keys: Mapping[str, str] = {}
        """What the model's server has sent ahead of the first word (`graphs.server_keys`)."""
        self._open_text: Path | None = None
        self._has_args = False
        """True once the ends of its calls' arguments are told."""

    @property
    def is_done(self) -> bool:
        """True if nothing is to come of it."""
        return self.message is not None and not self.open_calls

    @property
    def is_settled(self) -> bool:
        """True if what its model goes on to say is not told."""
        return self.is_withdrawn or self.message is not None

    def open_text(self, path: Path) -> None:
        self.paths.append(path)
        self._open_text = path

    def open_call(self, path: Path, tool_call_id: str) -> None:
        self.paths.append(path)
        self.open_calls[tool_call_id] = path

    def close_text(self) -> list[Chunk]:
        path, self._open_text = self._open_text, None
        return [PartFinish(self.step_id, path)] if path else []

    def note_closed(self, path: Path) -> None:
        """A part has ended."""
        if self._open_text == path:
            self._open_text = None

    def finish_args(self, dispositions: Mapping[str, Disposition]) -> Iterator[Chunk]:
        """End the arguments of all calls, unless that is done; one that `dispositions` lacks never
        became whole."""
        if self._has_args:
            return
        self._has_args = True
        for call in self.parts.calls:
            path = self.paths[call.position]
            if not call.args_text:
                yield TextDelta(self.step_id, path, "{}")
            disposition = dispositions.get(call.id, "invalid")
            yield ArgsFinish(self.step_id, path, call.args, disposition)

    def is_as(self, message: AIMessage) -> bool:
        """Check that the thread's message has the parts that were told, in their order. The
        arguments of a call may be written differently."""
        is_whole = self.message is not None and not self.is_from_log
        if is_whole and stored.dispositions(message) is not None:
            return True  # a node of ours made it of the parts that streamed
        return self.says(message)

    def begins(self, message: AIMessage) -> bool:
        """Check that the thread's message goes on from what was told: its model was not heard to
        its end."""
        told, kept = self.parts.parts, stored_parts(message)
        return (
            self.message is None
            and len(told) <= len(kept)
            and all(map(self._goes_on, told, kept, self.paths))
        )

    def _goes_on(self, told: StreamedPart, kept: StoredPart, path: Path) -> bool:
        if isinstance(told, StreamedText):
            is_same, is_open = told.kind == kept.kind, path == self._open_text
        else:
            given = kept.call and (kept.call["id"], kept.call["name"])
            is_same, is_open = (told.id, told.name) == given, told.id in self.open_calls
        return is_same and (kept.text.startswith(told.text) if is_open else kept.text == told.text)

    def says(self, message: AIMessage) -> bool:
        """The same by what was told alone."""
        is_made = self.message is None or [*self.made.values()] == made_in(message)
        return is_made and self._told() == _stored(message)

    def _told(self) -> list[object]:
        if self.message is not None and not self.parts.parts:
            return _stored(self.message)
        return [
            (part.kind, part.text)
            if isinstance(part, StreamedText)
            else (part.id, part.name, _args_or_text(part.args, part.text))
            for part in self.parts.parts
        ]

    def finish(self) -> StepFinish:
        """Return the end of a step that has ended."""
        about = self.usage, self.timing, self.tool_ms, self.model, self.interrupt_ids
        return StepFinish(self.step_id, self.reason or "other", *about, self.agent)

    def withdrawn(self) -> StepWithdrawn:
        self.is_withdrawn = True
        numbers = tuple(number for (number,) in [*self.paths, *self.made])
        return StepWithdrawn(self.step_id, numbers)


def made_in(message: AIMessage) -> list[MadePart]:
    """Return what the model of a message has made beside its words."""
    return [
        FilePart(*made) if isinstance(made, MadeFile) else SourcePart(*made)
        for made in made_parts(message)
    ]


def _stored(message: AIMessage) -> list[object]:
    return [
        (part.kind, part.text)
        if part.call is None
        else (part.call["id"], part.call["name"], _args_or_text(parse_args(part.text), part.text))
        for part in stored_parts(message)
    ]


def _args_or_text(args: dict[str, object] | None, text: str) -> object:
    """Arguments that are not whole are the same only if their texts are."""
    return text if args is None else args
