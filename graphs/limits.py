"""The budgets of a run, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    max_steps: int = 12
    """Model calls in one run."""
    max_identical_calls: int = 3
    """Calls of one tool with the same arguments in one run."""
    tool_timeout_seconds: float = 30.0
    """Of one tool call."""
    max_tool_seconds: float = 120.0
    """Of all tool calls of one run, added up: those side by side count each."""
    max_result_chars: int = 20_000
    """Of one tool result, to the model."""
    max_result_bytes: int = 1_000_000
    """Of one tool result, to the client."""
    max_history_tokens: int = 100_000
    """Of what the model gets of the thread."""
