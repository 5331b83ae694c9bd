"""The ids under which LangSmith and Langfuse know the traces of runs."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

TraceId = Callable[[], str | None]
"""Returns the id of the trace of one run. None: the run is not traced."""


class Root(BaseCallbackHandler):
    """The id of the outermost LangChain run of a run of ours: LangSmith's tracer gives its trace
    the same."""

    run_inline = True
    ignore_llm = True
    ignore_chat_model = True
    ignore_agent = True
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self) -> None:
        self.id: str | None = None

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: dict[str, Any],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        del serialized, inputs, kwargs
        if parent_run_id is None:
            self.id = str(run_id)


_root: ContextVar[Root | None] = ContextVar("turnstream_feedback_root", default=None)
# LangChain then has the callback of the run that it works for, in whatever graph that is.
register_configure_hook(_root, inheritable=True)


def langsmith_trace() -> TraceId:
    """Begin to look for the trace of the run whose context is the current one."""
    root = Root()
    _root.set(root)
    return lambda: root.id


def langfuse_trace() -> TraceId:
    """Return the trace of the current OpenTelemetry span, which is that of the run. Langfuse
    gives a trace the id that OpenTelemetry has given it."""
    from opentelemetry import trace

    span = trace.get_current_span().get_span_context()
    is_sent = span.is_valid and span.trace_flags.sampled
    found = trace.format_trace_id(span.trace_id) if is_sent else None
    return lambda: found
