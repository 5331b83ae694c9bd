"""LangGraph's stream, typed (`version="v2"`), to chunks; whatever it opens, it closes.

It reads `messages` (what the model says, as it says it), `updates` (what a node has done: the
message that is stored, the answers to calls), `tools` and `custom` (a tool's progress). It knows no
node and no tool by name.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage

from graphs import stored
from graphs.answers import failed
from graphs.calls import StreamedCall, call_ids
from graphs.classify import Classifier
from graphs.dispositions import of_message
from graphs.execution import INNER
from graphs.history import pending_calls
from graphs.parts import PartAssembler, PartDelta, StreamedPart
from graphs.result_view import ResultView
from graphs.stored import Ended
from server.runs.endings import last_reason, run_ended, settled, timing_of, usage_of
from server.runs.failures import Failure
from server.runs.progress import progress
from server.runs.step import StreamedStep
from server.turns.chunks import (
    Chunk,
    Disposition,
    Done,
    Error,
    FinishReason,
    MessageFinish,
    Part,
    PartFinish,
    PartStart,
    ReasoningPart,
    Result,
    StepFinish,
    StepStart,
    TextDelta,
    TextPart,
    Timing,
    ToolCallPart,
    Usage,
)

_UNANSWERED = "The run ended before this call finished."


class Translator:
    """The chunks of one run, in the order of the grammar in `server.turns.chunks`.

    `message_id` is the assistant message's, `history` the thread as the run begins.
    """

    def __init__(
        self,
        message_id: str,
        history: Sequence[AnyMessage],
        classifier: Classifier,
        results: ResultView,
    ) -> None:
        self._message_id = message_id
        self._call_ids = call_ids(history)
        self._pending = {call["id"]: call["name"] for call in pending_calls(history)}
        self._classifier = classifier
        self._results = results
        self._step: StreamedStep | None = None
        self._step_ids: set[str] = set()
        self._parts = 0
        self._usage = Usage(0, 0)
        self._timing: Timing | None = None
        self._tool_ms: dict[str, int] = {}
        self._last: AIMessage | None = None

    @property
    def streaming(self) -> StreamedStep | None:
        """The step whose message is not whole yet: what a stop cuts off."""
        return self._step if self._step and not self._step.whole else None

    def feed(self, item: Any) -> list[Chunk]:
        """Translate one item of `astream(..., version="v2")`."""
        kind, data = item["type"], item["data"]
        if kind == "messages":
            message, about = data
            return [] if INNER in about.get("tags", ()) else list(self._said(message))
        if kind == "updates":
            return [c for message in added_messages(data) for c in self._stored(message)]
        return [*progress(kind, data, self._step.open_calls if self._step else ())]

    def finish(self) -> list[Chunk]:
        """The end of a graph that ran to its end."""
        kept = {call["id"] for call in self._last.tool_calls} if self._last else set()
        chunks = [c for message in self._unanswered(kept) for c in self._answered(message)]
        pending = bool(self._step and self._step.open_calls)
        reason = last_reason(self._last, pending=pending) if self._last else "stop"
        chunks += self._close_step(reason)
        ended = stored.ended(self._last) if self._last else None
        if ended:
            chunks.append(run_ended(ended))
        return [*chunks, self._message_finish(reason), Done()]

    def finalize(
        self,
        answers: Sequence[ToolMessage],
        *,
        ended: Ended | None = None,
        failed: Failure | None = None,
    ) -> list[Chunk]:
        """The end of a run that was ended from outside or that failed.

        `answers` are the thread's to the calls that are still open; one that it has no answer to,
        because it could not be saved, is cancelled here.
        """
        chunks: list[Chunk] = list(self._cut_off())
        answered = {message.tool_call_id for message in answers}
        for message in [*answers, *self._unanswered(answered)]:
            chunks += self._answered(message)
        reason: FinishReason = "error" if failed else "other"
        chunks += self._close_step(reason)
        if ended:
            chunks.append(run_ended(ended))
        if failed:
            chunks.append(Error(failed.code, failed.message, failed.error_id))
        return [*chunks, self._message_finish(reason), Done()]

    def _said(self, message: BaseMessage) -> Iterator[Chunk]:
        """A piece of what the model says, or all of it."""
        if not isinstance(message, AIMessage) or message.id is None:
            return
        step = self._step
        if step is None or step.whole:
            if message.id in self._step_ids:
                return
            yield from self._close_step("tool-calls")
            step = self._open_step(message.id)
            yield StepStart(self._message_id, message.id)
        for delta in step.parts.feed(message):
            yield from self._grow(step, delta)

    def _open_step(self, step_id: str) -> StreamedStep:
        self._step = StreamedStep(step_id, self._parts, PartAssembler(step_id, self._call_ids))
        self._step_ids.add(step_id)
        return self._step

    def _grow(self, step: StreamedStep, delta: PartDelta) -> Iterator[Chunk]:
        path = step.path(delta.part)
        if delta.opened:
            yield from step.close_text()
            self._parts += 1
            yield PartStart(self._part(delta.part))
            step.opened(delta.part)
        if delta.text:
            yield TextDelta(path, delta.text)

    def _part(self, part: StreamedPart) -> Part:
        if isinstance(part, StreamedCall):
            self._call_ids.add(part.id)
            return ToolCallPart(part.id, part.name, self._classifier.expected(part.given_name))
        return TextPart() if part.kind == "text" else ReasoningPart()

    def _stored(self, message: AnyMessage) -> Iterator[Chunk]:
        """A message that is in the thread now."""
        if isinstance(message, ToolMessage):
            yield from self._answered(message)
        elif isinstance(message, AIMessage):
            self._last = message
            step = self._step
            if step and not step.whole:
                step.whole = True
                step.usage, step.timing = usage_of(message), timing_of(message)
                self._usage += step.usage
                yield from step.close_text()
                yield from step.finish_args(self._dispositions(message, step))

    def _dispositions(self, message: AIMessage, step: StreamedStep) -> dict[str, Disposition]:
        """Final: as the message carries them. A graph that is not ours may have given a call
        another id than the one that streamed."""
        carried = of_message(message, {}, self._classifier.fallback)
        return {
            call.id: carried.get(call.id) or self._classifier.expected(call.given_name)
            for call in step.parts.calls
        }

    def _answered(self, message: ToolMessage) -> Iterator[Chunk]:
        step = self._step
        path = step.open_calls.pop(message.tool_call_id, None) if step else None
        if path is not None:
            ms = stored.duration_ms(message)
            if step and ms is not None:
                step.tool_ms[message.tool_call_id] = ms
            calls = step.parts.calls if step else ()
            tool = next((c.given_name for c in calls if c.id == message.tool_call_id), "")
            view = self._results(message, tool)
            yield Result(path, view, stored.end_of(message), message.id or "", ms)
            yield PartFinish(path)
        elif message.tool_call_id in self._pending:
            tool = self._pending.pop(message.tool_call_id)
            yield settled(message, self._results(message, tool))

    def _cut_off(self) -> Iterator[Chunk]:
        """What ends the words of a message that never became whole."""
        step = self.streaming
        if step:
            yield from step.close_text()
            yield from step.finish_args({})

    def _unanswered(self, known: Container[str | None]) -> list[ToolMessage]:
        """Answers to the open calls that the thread does not know."""
        step = self._step
        return [
            failed(call, "run_ended", _UNANSWERED, end="cancelled")
            for call in (step.parts.calls if step else ())
            if step and call.id in step.open_calls and call.id not in known
        ]

    def _close_step(self, reason: FinishReason) -> list[Chunk]:
        step, self._step = self._step, None
        if step is None:
            return []
        self._add_times(step)
        calls = [PartFinish(path) for path in step.open_calls.values()]
        finish = StepFinish(reason, step.usage, step.timing, step.tool_ms)
        return [*step.close_text(), *calls, finish]

    def _add_times(self, step: StreamedStep) -> None:
        self._tool_ms |= step.tool_ms
        if step.timing:
            known = self._timing or Timing(step.timing.first_token_ms, 0)
            self._timing = replace(known, model_ms=known.model_ms + step.timing.model_ms)

    def _message_finish(self, reason: FinishReason) -> MessageFinish:
        return MessageFinish(reason, self._usage, self._timing, self._tool_ms)


def added_messages(updates: dict[str, Any]) -> list[AnyMessage]:
    """The messages that nodes added, in order."""
    messages: list[AnyMessage] = []
    for node in updates.values():
        # A node that returns several commands has a list of them.
        for update in node if isinstance(node, list) else [node]:
            added = update.get("messages", []) if isinstance(update, dict) else []
            messages += added if isinstance(added, list) else [added]
    return messages
