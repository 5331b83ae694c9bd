"""The terms that chunks and messages share: how turns and calls end, tokens, times."""

from dataclasses import dataclass
from typing import Literal

FinishReason = Literal["stop", "tool-calls", "length", "content-filter", "error", "other"]

Disposition = Literal["server", "shown", "client", "approval", "invalid"]
"""Who ends a tool call, as in `tools.contract`."""

End = Literal["result", "error", "timeout", "cancelled", "shown"]
"""How a tool call ended: it answered, it failed, it ran out of time, it was cancelled (a stop, a
question that nobody answered), or the client shows it (its arguments are its result)."""

EndReason = Literal["stopped", "shutdown", "limit"]

Path = tuple[int, ...]
"""`(i,)`: the i-th part of this run, from 0."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the model counted them."""

    input_tokens: int
    output_tokens: int

    def __add__(self, more: "Usage") -> "Usage":
        output_tokens = self.output_tokens + more.output_tokens
        return Usage(self.input_tokens + more.input_tokens, output_tokens)


@dataclass(frozen=True, slots=True)
class Timing:
    """How long the model took: to its first token, and in all."""

    first_token_ms: int
    model_ms: int
