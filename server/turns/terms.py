"""The terms that chunks and messages share: how turns and calls end, tokens, times."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

FinishReason = Literal["stop", "tool-calls", "length", "content-filter", "error", "other"]

Disposition = Literal["server", "shown", "client", "approval", "invalid"]
"""The side that ends a tool call, as in `turnstream.tools.contract`."""

End = Literal["result", "error", "timeout", "cancelled", "declined", "shown"]
"""The end of a tool call: it answered, it failed, it ran out of time, it was cancelled (a stop, a
question that nobody answered), a person declined it, or the client shows it (its arguments are its
result)."""

EndReason = Literal["stopped", "shutdown", "limit"]

Path = tuple[int, ...]
"""`(i,)`: the i-th part of this run, from 0."""


@dataclass(frozen=True, slots=True)
class Approval:
    """A question to a person about a tool call, or their decision."""

    id: str
    """Names the question: the call's id, or `{call id}.{n}` when it is asked for the n-th time."""
    may_have_run: bool = False
    """The call is asked about again: it was approved, and its run was cut off."""
    approved: bool | None = None
    """None: nobody has decided."""
    by: str | None = None
    """The name of whoever decided; None: authentication is off."""
    reason: str | None = None
    args: Mapping[str, Any] | None = None
    """The arguments that the person put in the place of the model's."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the model counted them."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    """Tokens of the input that the provider had kept from an earlier request."""
    reasoning_tokens: int = 0
    """Tokens of the output that were reasoning."""

    def __add__(self, more: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + more.input_tokens,
            self.output_tokens + more.output_tokens,
            self.cached_tokens + more.cached_tokens,
            self.reasoning_tokens + more.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class Timing:
    """The time that the model took: to its first token, and in all."""

    first_token_ms: int
    model_ms: int
