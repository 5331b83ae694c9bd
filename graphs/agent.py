"""The agent node: one model call, its tool calls read strictly, sorted and answered where due."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable

from graphs.answers import client_view, end_of
from graphs.budgets import Ended, last_step, same_call_again, tool_time_spent
from graphs.calls import call_ids
from graphs.context import RUN_ID, TurnContext
from graphs.history import close_pending, for_model
from graphs.limits import Limits
from graphs.models import ModelUnavailable
from graphs.parts import PROVIDER, PartAssembler, kept_content, parts_metadata
from graphs.recovery import fresh_misses
from graphs.routing import ENDED
from graphs.sorting import SortedCalls, refuse_all, sort_calls
from tools.catalogue import Catalogue

FINISH_KEYS = ("finish_reason", "stop_reason", "done_reason", "status")
"""Where the providers' LangChain packages say why the model stopped."""

TIMING = "timing"
"""Key in an AI message's `response_metadata`: `{"first_token_ms", "duration_ms"}` of its call."""


@dataclass(frozen=True, slots=True)
class Agent:
    model: Runnable[LanguageModelInput, AIMessage]
    catalogue: Catalogue
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
        said = await self._call(history)
        parts = PartAssembler(str(said.message.id), call_ids(history))
        for chunk in said.chunks:
            parts.feed(chunk)
        ended = same_call_again(messages, parts.calls, context, self.limits) or tool_time_spent(
            messages, parts.calls, context, self.limits, self.catalogue.real_by_name
        )
        if ended:
            sentence = _LIMIT_SENTENCE.format(**ended)
            calls = refuse_all(parts.calls, "limit_reached", sentence)
        else:
            calls = sort_calls(
                parts.calls, self.catalogue, context.client_tools, TurnResults(history)
            )
            ended = last_step(messages, context, self.limits) if calls.goes_on else None
        return [*closers, _stored(said, parts, calls, context, ended), *calls.answers]

    async def _call(self, history: Sequence[AnyMessage]) -> "Said":
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
            # LangChain's word for a stream that ended before its first chunk.
            if str(error) != "No generation chunks were returned":
                raise
            raise ModelUnavailable("the model's stream was empty") from error
        end = time.monotonic()
        timing = {
            "first_token_ms": round(((first or end) - start) * 1000),
            "duration_ms": round((end - start) * 1000),
        }
        return Said(chunks, merge(chunks), timing)


_LIMIT_SENTENCE = "The run reached its limit, {limit} {value:g}; this call was not made."


@dataclass(frozen=True, slots=True)
class Said:
    """What one model call gave."""

    chunks: Sequence[AIMessage]
    message: AIMessage
    timing: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class TurnResults:
    """The results of the turn's tool calls so far, by call id or tool name, as the client may see
    them. See `tools.contract.Points`."""

    history: Sequence[AnyMessage]

    def __call__(self, reference: str) -> Mapping[str, Any] | None:
        for message in reversed(self.history):
            if isinstance(message, HumanMessage):
                break
            if (
                isinstance(message, ToolMessage)
                and reference in (message.tool_call_id, message.name)
                and end_of(message) == "result"
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
    openai = merged.response_metadata.get(PROVIDER) == "openai"
    if openai and not finish_reason(merged):
        raise ModelUnavailable("the model's stream ended without a finish reason")
    return merged


def finish_reason(message: AIMessage) -> str | None:
    """Why the model stopped, in its provider's words."""
    found = (message.response_metadata.get(key) for key in FINISH_KEYS)
    return next((str(reason) for reason in found if reason), None)


def _stored(
    said: Said,
    parts: PartAssembler,
    calls: SortedCalls,
    context: TurnContext,
    ended: Ended | None,
) -> AIMessage:
    """The message to store: what the model said, without what only its stream needed."""
    provider = said.message.response_metadata.get(PROVIDER)
    content = kept_content(said.message.content, parts.parts, provider)
    metadata = {
        "finish_reason": finish_reason(said.message),
        "model_name": said.message.response_metadata.get("model_name"),
        RUN_ID: context.run_id,
        PROVIDER: None if isinstance(content, str) else provider,
        ENDED: ended,
        TIMING: said.timing,
    }
    return AIMessage(
        content=content,
        id=said.message.id,
        tool_calls=list(calls.calls),
        usage_metadata=said.message.usage_metadata,
        response_metadata={key: value for key, value in metadata.items() if value}
        | parts_metadata(parts.parts),
    )
