"""Traces for OpenTelemetry: a span for each run, and below it one for each call of a model and of a
real tool.

By the API alone, which does nothing until the operator sets up an SDK. Names are those of the GenAI
semantic conventions (https://github.com/open-telemetry/semantic-conventions-genai), which have no
release and the status Development: as they stood in November 2026, beside version 1.44 of the
general ones. What they lack begins with `turnstream.`. Spans have ids, names, numbers and codes;
never a word of a message, an argument, a result or an error.
"""

import logging
from collections.abc import Mapping, Sequence
from contextvars import ContextVar

from langchain_core.tracers.context import register_configure_hook
from opentelemetry import context, trace
from opentelemetry.util.types import AttributeValue

from turnstream import __version__
from turnstream.server.extensions.base import Watch, WatchedRun
from turnstream.server.extensions.traces.calls import CallSpans
from turnstream.server.turns.chunks import Chunk, Done, Error, MessageFinish, RunEnded

logger = logging.getLogger("turnstream")

_calls: ContextVar[CallSpans | None] = ContextVar("turnstream_call_spans", default=None)
# LangChain then has the callback of the run that it works for, in whatever graph that is.
register_configure_hook(_calls, inheritable=True)


class Traces:
    """Makes spans with the tracer provider that the process has."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer("turnstream", __version__)
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            logger.warning(
                "traces are switched on, but no OpenTelemetry SDK is set up, so none are sent: "
                "start the server with opentelemetry-instrument (docs/operate.md)"
            )

    def watch(self, run: WatchedRun) -> Watch:
        """Begin the span of a run, in the context that the run has to itself, and return the
        watcher that ends it.

        A run outlives its request: its span is a root with a link to the request's.
        """
        start = run.spec
        request = trace.get_current_span().get_span_context()
        span = self._tracer.start_span(
            f"invoke_agent {start.graph}",
            context=context.Context(),
            links=[trace.Link(request)] if request.is_valid else [],
            attributes=_known(
                {
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.agent.name": start.graph,
                    "gen_ai.conversation.id": start.key.thread_id,
                    "gen_ai.request.model": start.model,
                    "turnstream.run.id": start.run_id,
                    "turnstream.run.setup": start.setup,
                }
            ),
        )
        context.attach(trace.set_span_in_context(span, context.Context()))
        calls = CallSpans(self._tracer, start.key.thread_id)
        _calls.set(calls)

        said: list[Chunk] = []

        async def end(chunks: Sequence[Chunk]) -> None:
            said.extend(chunks)
            if isinstance(chunks[-1], Done):
                calls.end_open(said)
                _describe_end(span, run, said)
                span.end()

        return end


def _describe_end(span: trace.Span, run: WatchedRun, chunks: Sequence[Chunk]) -> None:
    attributes: dict[str, AttributeValue] = {"turnstream.run.state": run.state}
    for chunk in chunks:
        match chunk:
            case MessageFinish(reason=reason, usage=usage):
                attributes["gen_ai.response.finish_reasons"] = [reason]
                attributes["gen_ai.usage.input_tokens"] = usage.input_tokens
                attributes["gen_ai.usage.output_tokens"] = usage.output_tokens
                if usage.cached_tokens:
                    attributes["gen_ai.usage.cache_read.input_tokens"] = usage.cached_tokens
                if usage.reasoning_tokens:
                    attributes["gen_ai.usage.reasoning.output_tokens"] = usage.reasoning_tokens
            case RunEnded(reason="limit", limit=str(limit)):
                attributes["turnstream.run.limit"] = limit
            case Error(code=code):
                attributes["error.type"] = code
                span.set_status(trace.StatusCode.ERROR)
    span.set_attributes(attributes)


def _known(attributes: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if value is not None}
