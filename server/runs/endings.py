"""The end of a turn, as the thread's messages say it: one rule for the stream and for hydration."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from turnstream.graphs import stored
from turnstream.graphs.history import pending_calls
from turnstream.graphs.made_parts import made_parts
from turnstream.graphs.stored import Ended
from turnstream.server.storage.interfaces import ThreadRunState
from turnstream.server.turns.chunks import (
    Chunk,
    Error,
    FinishReason,
    MessageFinish,
    RunEnded,
    Timing,
    ToolSettled,
    Usage,
)

MAX_NAME_CHARS = 200
_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "tool_calls": "stop",
    "tool_use": "stop",
    "function_call": "stop",
    "length": "length",
    "max_tokens": "length",
    "incomplete": "length",
    "content_filter": "content-filter",
    "safety": "content-filter",
    "refusal": "content-filter",
    # Gemini's
    "recitation": "content-filter",
    "blocklist": "content-filter",
    "prohibited_content": "content-filter",
    "spii": "content-filter",
    "image_safety": "content-filter",
    # Anthropic's
    "model_context_window_exceeded": "length",
}

ENDS_FROM_OUTSIDE = (None, "max_run_seconds", "max_run_bytes", "unread_seconds")
"""Reasons that end a run without its graph: a stop, and the limits that are not the graph's."""


def broke_off(messages: Sequence[AnyMessage]) -> bool:
    """Check that a thread at rest waits for the model alone: its last run was ended or failed, or
    died before it could say so."""
    last = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    if last and (stored.ended(last) or stored.error(last)):
        return True
    if not messages or isinstance(messages[-1], AIMessage) or pending_calls(messages):
        return False
    answers = takewhile(lambda m: isinstance(m, ToolMessage), reversed(messages))
    return not any(isinstance(m, ToolMessage) and stored.end_of(m) == "shown" for m in answers)


def was_cut(messages: Sequence[AnyMessage]) -> bool:
    """Return whether the thread ends with an answer that the model's limit of length cut off."""
    match messages:
        case [*_, AIMessage(tool_calls=[]) as last]:
            return last_reason(last, pending=False) == "length"
    return False


def last_reason(message: AIMessage, *, pending: bool) -> FinishReason:
    """The finish reason of a turn that ended with this message."""
    if stored.error(message):
        return "error"
    ended = stored.ended(message)
    if ended:
        return "length" if ended.get("limit") == "max_message_bytes" else "other"
    if pending:
        return "tool-calls"
    given = stored.finish_reason(message)
    reason = "stop" if given is None else _REASONS.get(given.lower(), "other")
    return "other" if reason == "stop" and not _has_answer(message) else reason


def _has_answer(message: AIMessage) -> bool:
    """Reasoning alone is no answer; an image is one."""
    said = message.tool_calls or message.invalid_tool_calls or message.text.strip()
    return bool(said or made_parts(message))


def told_end(chunks: Sequence[Chunk]) -> ThreadRunState:
    """Return the end of a run, by the chunks that it told."""
    last = [c for c in chunks if isinstance(c, RunEnded | Error | MessageFinish)]
    match last:
        case [*_, RunEnded(limit=limit), MessageFinish()]:
            return "stopped" if limit in ENDS_FROM_OUTSIDE else "finished"
        case [*_, Error(code=code), MessageFinish()]:
            return "interrupted" if code == "run_interrupted" else "failed"
        case [*_, MessageFinish(reason="tool-calls")]:
            return "waiting"
    return "finished"


def usage_of(message: AIMessage) -> Usage:
    counted = message.usage_metadata
    if counted is None:
        return Usage(0, 0)
    return Usage(
        counted["input_tokens"],
        counted["output_tokens"],
        (counted.get("input_token_details") or {}).get("cache_read") or 0,
        (counted.get("output_token_details") or {}).get("reasoning") or 0,
    )


def model_of(message: AIMessage) -> str | None:
    """The name of the model that has spoken, as its server gives it."""
    name = stored.model_name(message)
    return name[:MAX_NAME_CHARS] if isinstance(name, str) else None


def agent_of(message: AIMessage) -> str | None:
    """The name that the graph gives the author of a message."""
    return message.name[:MAX_NAME_CHARS] if isinstance(message.name, str) else None


def timing_of(message: AIMessage) -> Timing | None:
    """None of a message whose model was cut off."""
    took = stored.timing(message)
    return Timing(took["first_token_ms"], took["duration_ms"]) if took else None


def settled(message: ToolMessage, result: Any) -> ToolSettled:
    """Reports the end of a call that an earlier run of the thread made; `result` is what the client
    may see of it."""
    return ToolSettled(
        message.tool_call_id,
        stored.end_of(message),
        result,
        message.id,
        stored.duration_ms(message),
    )


def run_ended(ended: Ended) -> RunEnded:
    return RunEnded(ended["reason"], ended.get("limit"), ended.get("value"))
