"""How a turn ended, as the thread's messages say it: one rule for the stream and for hydration.

Keys in an AI message's `response_metadata`: `finish_reason` is the provider's; `ended` says that
the run was ended from outside (`{"reason": "stopped" | "shutdown" | "limit", ...}`), `error` that
it failed (`{"code", "message", "id"}`).
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from graphs.agent import TIMING, finish_reason
from graphs.answers import client_view, end_of
from graphs.context import RUN_ID
from graphs.execution import DURATION_MS
from graphs.history import pending_calls
from graphs.routing import ENDED
from server.protocols.chunks import Data, FinishReason, Timing, Usage

ERROR = "error"

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
}


def ended_mark(message: AIMessage) -> dict[str, Any] | None:
    return message.response_metadata.get(ENDED)


def error_mark(message: AIMessage) -> dict[str, Any] | None:
    return message.response_metadata.get(ERROR)


def broke_off(messages: Sequence[AnyMessage]) -> bool:
    """Whether a thread at rest waits for nobody but the model: its last run was ended or failed,
    or died before it could say so."""
    last = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    if last and (ended_mark(last) or error_mark(last)):
        return True
    if not messages or isinstance(messages[-1], AIMessage) or pending_calls(messages):
        return False
    answers = takewhile(lambda m: isinstance(m, ToolMessage), reversed(messages))
    return not any(isinstance(m, ToolMessage) and end_of(m) == "shown" for m in answers)


def mark_id(run_id: str) -> str:
    """The id of a message that says nothing but how its run ended."""
    return f"end-{run_id}"


def is_mark(message: AIMessage) -> bool:
    return message.id == mark_id(message.response_metadata.get(RUN_ID, ""))


def last_reason(message: AIMessage, *, pending: bool) -> FinishReason:
    """The finish reason of a turn that ended with this message."""
    if error_mark(message):
        return "error"
    if ended_mark(message):
        return "other"
    if pending:
        return "tool-calls"
    given = finish_reason(message)
    return "stop" if given is None else _REASONS.get(given.lower(), "other")


def usage_of(message: AIMessage) -> Usage:
    counted = message.usage_metadata
    if counted is None:
        return Usage(0, 0)
    return Usage(counted["input_tokens"], counted["output_tokens"])


def timing_of(message: AIMessage) -> Timing | None:
    """None of a message whose model was cut off."""
    took = message.response_metadata.get(TIMING)
    return Timing(took["first_token_ms"], took["duration_ms"]) if took else None


def settled(message: ToolMessage) -> Data:
    """Tells of the end of a call that an earlier run of the thread made."""
    return Data(
        "tool-settled",
        {
            "tool_call_id": message.tool_call_id,
            "end": end_of(message),
            "result": client_view(message),
            "result_id": message.id,
            "duration_ms": message.response_metadata.get(DURATION_MS),
        },
    )
