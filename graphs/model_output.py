"""One model call: its stream, put together as it comes, and ended where it says too much."""

import time
from collections.abc import AsyncIterator, Container, Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.runnables import Runnable

from turnstream.graphs import stored
from turnstream.graphs.calls import MAX_VALUES, StreamedCall, values_of
from turnstream.graphs.chunk_shape import ModelFault
from turnstream.graphs.limits import CUT_AT, byte_size
from turnstream.graphs.models import PROVIDERS, ModelUnavailable
from turnstream.graphs.parts import PartAssembler
from turnstream.graphs.stored import StoredTiming
from turnstream.graphs.sums import Content, Extras, add_metadata, joined

Model = Runnable[LanguageModelInput, AIMessage]

MALFORMED_CALL = "MALFORMED_FUNCTION_CALL"
"""Gemini's reason for a message that ended with a call which is no JSON; the call is not sent."""
FAILED = "error"
"""The reason of compatible servers for a message that they could not finish."""
MAX_PARTS = 250
"""Parts of one message: a part costs more than its text."""


class ModelOutput:
    """The output of a model, chunk by chunk; nothing here takes longer the more was said before."""

    def __init__(self, taken: Container[str], max_bytes: int, provider: str | None = None) -> None:
        """`taken` are the thread's call ids so far; `provider` is the model's, if it is known
        before it speaks."""
        self.id = ""
        self.usage: UsageMetadata | None = None
        self.metadata: dict[str, Any] = {}
        self.parts = PartAssembler("", taken)
        self._provider = provider
        self._extras = Extras()
        self._taken = taken
        self._blocks: list[Content] = []
        self._max_bytes = max_bytes
        self._bytes = self._values = 0
        self._begun = False
        self._start = time.monotonic()
        self._first = self._end = self._start

    def feed(self, chunk: AIMessage) -> None:
        if not self._begun:
            self._begun, self._first = True, time.monotonic()
            self.id = str(chunk.id)
            self.parts = PartAssembler(self.id, self._taken)
        self._end = time.monotonic()
        for delta in self.parts.feed(chunk):
            self._bytes += byte_size(delta.text)
            if isinstance(delta.part, StreamedCall):
                self._values += values_of(delta.text)
        add_metadata(self.metadata, chunk)
        if chunk.additional_kwargs:
            self._extras.add(chunk)
        if chunk.usage_metadata:
            self.usage = add_usage(self.usage, chunk.usage_metadata)
        if chunk.content and not isinstance(chunk.content, str):
            self._blocks.append(chunk.content)

    @property
    def provider(self) -> str | None:
        return self.metadata.get(stored.PROVIDER) or self._provider

    @property
    def extras(self) -> dict[str, Any]:
        """The fields of the chunks beside their content."""
        return self._extras.whole

    @property
    def is_over(self) -> bool:
        """True if the message is longer than it may be."""
        return (
            self._bytes > self._max_bytes
            or self._values > MAX_VALUES
            or len(self.parts.parts) > MAX_PARTS
        )

    @property
    def is_cut(self) -> bool:
        """True if the message was ended for its length, by us or by the model's client."""
        return self.is_over or CUT_AT in self.metadata

    @property
    def content(self) -> Content:
        """In a provider's own blocks if it sends any; else the text is in the parts."""
        return joined(self._blocks) if self._blocks else ""

    @property
    def finish_reason(self) -> str | None:
        if self.is_cut:
            return "length"
        return stored.finish_reason(AIMessage("", response_metadata=self.metadata))

    @property
    def timing(self) -> StoredTiming:
        return StoredTiming(
            first_token_ms=round((self._first - self._start) * 1000),
            duration_ms=round((self._end - self._start) * 1000),
        )

    def check_end(self) -> None:
        """Raises ModelUnavailable if the stream ended before its message did: those of the
        providers always end with a finish reason."""
        self._end = time.monotonic()
        if not self._begun:
            raise ModelUnavailable("the model's stream was empty")
        reason = self.finish_reason
        if self.provider in PROVIDERS and not reason:
            raise ModelUnavailable("the model's stream ended without a finish reason")
        if reason == FAILED:
            raise ModelUnavailable("the model's server ended the message with an error")
        if reason == MALFORMED_CALL and not self.parts.calls:
            raise ModelUnavailable("the model wrote a call that its provider could not read")


async def ask(model: Model, prompt: Sequence[AnyMessage], output: ModelOutput) -> None:
    """Call the model, and fill its output. Raises ModelFault of what it raises, and
    ModelUnavailable."""
    async with aclosing(_chunks(model, prompt)) as chunks:  # type: ignore[type-var]
        async for chunk in chunks:
            output.feed(chunk)
            if output.is_over:
                break
    output.check_end()


async def _chunks(model: Model, prompt: Sequence[AnyMessage]) -> AsyncIterator[AIMessage]:
    try:
        stream: Any = model.astream(list(prompt))
        async with aclosing(stream) as chunks:
            async for chunk in chunks:
                if not isinstance(chunk, AIMessage):
                    raise ModelFault(f"a model's stream gave {type(chunk).__name__}")
                yield chunk
    except ModelFault:
        raise
    except Exception as error:
        raise ModelFault("the model call failed") from error
