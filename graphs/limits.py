"""The budgets of a run, as data."""

from dataclasses import dataclass

MAX_MESSAGE_BYTES = 1_000_000

CUT_AT = "max_message_bytes"
"""In the metadata of a model's message that was cut off at this limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    max_steps: int = 12
    """Model calls in one run."""
    max_identical_calls: int = 3
    """Calls of one tool with the same arguments in one run."""
    tool_timeout_seconds: float = 30.0
    """Seconds of one tool call."""
    max_tool_seconds: float = 120.0
    """Seconds of all tool calls of one run, added up: those side by side count each."""
    max_result_chars: int = 20_000
    """Characters of one tool result, to the model."""
    max_result_bytes: int = 1_000_000
    """Bytes of one tool result, to the client."""
    max_message_bytes: int = MAX_MESSAGE_BYTES
    """Bytes of one message of the model: text, reasoning and arguments."""
    max_history_tokens: int = 100_000
    """Tokens of the thread that the model gets."""


def byte_size(text: str) -> int:
    """In UTF-8."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
