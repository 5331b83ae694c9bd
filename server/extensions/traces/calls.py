"""Spans of a run's model calls and tool calls, by LangChain's callbacks.

The handler runs inline: a span is the current one for what its call does, so that spans of HTTP
clients and of tools' own lie below it.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from opentelemetry import context, trace
from opentelemetry.util.types import AttributeValue

from turnstream.server.turns.chunks import Chunk, PartStart, Result, ToolCallPart

PROVIDERS = {
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "azure": "azure.ai.openai",
    "amazon_bedrock": "aws.bedrock",
    "bedrock": "aws.bedrock",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
"""LangChain's names of providers, where those of the conventions differ."""


CANCELLED: Mapping[str, AttributeValue] = {"turnstream.cancelled": True}
"""Somebody stopped the run, or did not wait any longer: no error of the call."""


@dataclass
class _Open:
    """A call whose end has not come."""

    span: trace.Span
    outer: context.Context
    """The context that was current before."""
    begun: int
    """Unix time, nanoseconds."""
    call_id: str | None = None
    first_token_seconds: float | None = None


class CallSpans(BaseCallbackHandler):
    """The spans of the calls of one run."""

    run_inline = True
    ignore_chain = True
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self, tracer: trace.Tracer, thread_id: str) -> None:
        self._tracer = tracer
        self._thread_id = thread_id
        self._open: dict[UUID, _Open] = {}

    def end_open(self, chunks: Sequence[Chunk]) -> None:
        """End what nobody has ended: a call that is cancelled has no callback. `chunks` are all of
        the run; they say how its tool calls ended, and after how long."""
        results = _results(chunks) if self._open else {}
        for run_id, call in [*self._open.items()]:
            result = results.get(call.call_id or "")
            took = result.duration_ms if result else None
            end = None if took is None else call.begun + took * 1_000_000
            failed = result and result.is_error and result.end != "cancelled"
            self._end(run_id, {"error.type": result.end} if result and failed else CANCELLED, end)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        del serialized, messages, kwargs
        named = metadata or {}
        model, provider = named.get("ls_model_name"), named.get("ls_provider")
        self._begin(
            run_id,
            f"chat {model}" if model else "chat",
            trace.SpanKind.CLIENT,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": PROVIDERS.get(provider, provider) if provider else None,
                "gen_ai.request.model": model,
            },
        )

    def on_llm_new_token(self, token: Any, *, run_id: UUID, **kwargs: Any) -> None:
        del token, kwargs
        call = self._open.get(run_id)
        if call and call.first_token_seconds is None:
            call.first_token_seconds = (time.time_ns() - call.begun) / 1e9

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        del kwargs
        self._end(run_id, _of_response(response))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        del kwargs
        stopped = isinstance(error, asyncio.CancelledError)
        self._end(run_id, CANCELLED if stopped else {"error.type": type(error).__qualname__})

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        del input_str, kwargs
        name = str((serialized or {}).get("name", ""))
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": tool_call_id,
        }
        call = self._begin(run_id, f"execute_tool {name}", trace.SpanKind.INTERNAL, attributes)
        call.call_id = tool_call_id

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        del kwargs
        failed = getattr(output, "status", None) == "error"
        self._end(run_id, {"error.type": "tool_error"} if failed else {})

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        del kwargs
        self._end(run_id, {"error.type": type(error).__qualname__})

    def _begin(
        self, run_id: UUID, name: str, kind: trace.SpanKind, attributes: Mapping[str, str | None]
    ) -> _Open:
        begun, outer = time.time_ns(), context.get_current()
        named = {**attributes, "gen_ai.conversation.id": self._thread_id}
        known = {key: value for key, value in named.items() if value is not None}
        span = self._tracer.start_span(name, kind=kind, attributes=known, start_time=begun)
        context.attach(trace.set_span_in_context(span))
        call = self._open[run_id] = _Open(span, outer, begun)
        return call

    def _end(
        self, run_id: UUID, attributes: Mapping[str, AttributeValue], at: int | None = None
    ) -> None:
        call = self._open.pop(run_id, None)
        if call is None:
            return
        if trace.get_current_span() is call.span:
            # Not by a token: that is bound to the context, and an end may come in another one.
            context.attach(call.outer)
        if call.first_token_seconds is not None:
            streamed: Mapping[str, AttributeValue] = {
                "gen_ai.request.stream": True,
                "gen_ai.response.time_to_first_chunk": call.first_token_seconds,
            }
            attributes = {**attributes, **streamed}
        call.span.set_attributes(attributes)  # at once: each time takes a lock
        if "error.type" in attributes:
            call.span.set_status(trace.StatusCode.ERROR)
        call.span.end(at)


def _of_response(response: LLMResult) -> dict[str, AttributeValue]:
    generation = response.generations[0][0] if response.generations else None
    if not isinstance(generation, ChatGeneration) or not isinstance(generation.message, AIMessage):
        return {}
    message = generation.message
    usage, said = message.usage_metadata, message.response_metadata
    found: dict[str, AttributeValue] = {}
    if usage:
        found["gen_ai.usage.input_tokens"] = usage["input_tokens"]
        found["gen_ai.usage.output_tokens"] = usage["output_tokens"]
        read, written = usage.get("input_token_details", {}), usage.get("output_token_details", {})
        for name, count in (
            ("cache_read.input_tokens", read.get("cache_read")),
            ("cache_write.input_tokens", read.get("cache_creation")),
            ("reasoning.output_tokens", written.get("reasoning")),
        ):
            if count:
                found[f"gen_ai.usage.{name}"] = count
    if isinstance(said.get("model_name"), str):
        found["gen_ai.response.model"] = said["model_name"]
    if isinstance(said.get("finish_reason"), str):
        found["gen_ai.response.finish_reasons"] = [said["finish_reason"]]
    return found


def _results(chunks: Sequence[Chunk]) -> dict[str, Result]:
    """By the id of the call."""
    calls = {
        chunk.path: chunk.part.tool_call_id
        for chunk in chunks
        if isinstance(chunk, PartStart) and isinstance(chunk.part, ToolCallPart)
    }
    return {calls[chunk.path]: chunk for chunk in chunks if isinstance(chunk, Result)}
