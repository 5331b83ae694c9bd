"""The agent node: one model call, its tool calls read strictly and classified."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable

from graphs import stored
from graphs.answers import client_view
from graphs.budgets import last_step, same_call_again, tool_time_spent
from graphs.calls import call_ids
from graphs.classify import ClassifiedCalls, Classifier, classify_all, refuse_all
from graphs.context import TurnContext
from graphs.history import close_pending, for_model
from graphs.limits import Limits
from graphs.models import ModelUnavailable, is_empty_stream
from graphs.parts import PartAssembler, kept_content, parts_metadata
from graphs.recovery import fresh_misses
from graphs.stored import Ended, StoredTiming


@dataclass(frozen=True, slots=True)
class Agent:
    model: Runnable[LanguageModelInput, AIMessage]
    classifier: Classifier
    limits: Limits
    system_prompt: str

    async def step(self, messages: Sequence[AnyMessage], context: TurnContext) -> list[AnyMessage]:
        """One model call on a closed history: the messages to add to it, answers that are due
        at once last. None at all while results wait to be recovered from: the edge sees them.

        Raises what the model raises, and ModelUnavailable for a stream that broke off.
        """
        if fresh_misses(messages):
            return []
        closers = close_pending(
            messages, "not_answered", "The call was left unanswered and is closed."
        )
        history = [*messages, *closers]
        output = await self._call(history)
        parts = PartAssembler(str(output.message.id), call_ids(history))
        for chunk in output.chunks:
            parts.feed(chunk)
        ended = same_call_again(messages, parts.calls, context, self.limits) or tool_time_spent(
            messages, parts.calls, context, self.limits, self.classifier.catalogue.real_by_name
        )
        if ended:
            sentence = _LIMIT_SENTENCE.format(**ended)
            calls = refuse_all(parts.calls, "limit_reached", sentence)
        else:
            calls = classify_all(parts.calls, self.classifier, TurnResults(history))
            ended = last_step(messages, context, self.limits) if calls.goes_on else None
        return [*closers, _stored(output, parts, calls, context, ended), *calls.answers]

    async def _call(self, history: Sequence[AnyMessage]) -> "ModelOutput":
        """Chunks as they stream: merged, they would no longer tell broken JSON from whole."""
        prompt = for_model(history, self.system_prompt, self.limits.max_history_tokens)
        start = time.monotonic()
        first: float | None = None
        chunks: list[AIMessage] = []
        try:
            async for chunk in self.model.astream(prompt):
                first = first or time.monotonic()
                chunks.append(chunk)
        except ValueError as error:
            if not is_empty_stream(error):
                raise
            raise ModelUnavailable("the model's stream was empty") from error
        end = time.monotonic()
        timing = StoredTiming(
            first_token_ms=round(((first or end) - start) * 1000),
            duration_ms=round((end - start) * 1000),
        )
        return ModelOutput(chunks, merge(chunks), timing)


_LIMIT_SENTENCE = "The run reached its limit, {limit} {value:g}; this call was not made."


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """What one model call returned."""

    chunks: Sequence[AIMessage]
    message: AIMessage
    timing: StoredTiming


@dataclass(frozen=True, slots=True)
class TurnResults:
    """The results of the turn's tool calls so far, by call id or tool name, as the client may see
    them. See `tools.contract.ResultLookup`."""

    history: Sequence[AnyMessage]

    def __call__(self, reference: str) -> Mapping[str, Any] | None:
        for message in reversed(self.history):
            if isinstance(message, HumanMessage):
                break
            if (
                isinstance(message, ToolMessage)
                and reference in (message.tool_call_id, message.name)
                and stored.end_of(message) == "result"
            ):
                view = client_view(message)
                return view if isinstance(view, dict) else None
        return None


def merge(chunks: Sequence[AIMessage]) -> AIMessage:
    """The whole message of a stream, under the id that streamed.

    Raises ModelUnavailable if the stream ended before its message did: OpenAI's always ends with
    a finish reason.
    """
    if not chunks:
        raise ModelUnavailable("the model's stream was empty")
    first = chunks[0]
    rest = [chunk for chunk in chunks[1:] if isinstance(chunk, AIMessageChunk)]
    merged = first + rest if rest and isinstance(first, AIMessageChunk) else first
    if not isinstance(merged, AIMessage):
        raise TypeError(f"a model's stream gave {type(merged).__name__}")
    merged.id = first.id
    if stored.provider(merged) == "openai" and not stored.finish_reason(merged):
        raise ModelUnavailable("the model's stream ended without a finish reason")
    return merged


def _stored(
    output: ModelOutput,
    parts: PartAssembler,
    calls: ClassifiedCalls,
    context: TurnContext,
    ended: Ended | None,
) -> AIMessage:
    """The message to store: what the model said, without what only its stream needed."""
    provider = stored.provider(output.message)
    content = kept_content(output.message.content, parts.parts, provider)
    return AIMessage(
        content=content,
        id=output.message.id,
        tool_calls=calls.stored,
        usage_metadata=output.message.usage_metadata,
        response_metadata=stored.ai_metadata(
            run_id=context.run_id,
            dispositions=calls.dispositions,
            finish_reason=stored.finish_reason(output.message),
            model_name=stored.model_name(output.message),
            provider=None if isinstance(content, str) else provider,
            timing=output.timing,
            ended=ended,
            **parts_metadata(parts.parts),
        ),
    )
