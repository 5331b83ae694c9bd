"""Chunks that came together, as few chunks: to build a message of each costs far more than it says.

Only text behind text and argument text behind that of the same call are put together, so whoever
assembles the calls sees the same heads, in the same order.
"""

import json
from typing import Any, Literal

Kind = Literal["text", "nothing"] | int | None
"""What a chunk adds to: the text, or the call of a number."""


class Folded:
    """One event and those behind it that could be added to it. All have been checked."""

    def __init__(self, raw: bytes, chunk: dict[str, Any]) -> None:
        self._raw = raw
        self._chunk = chunk
        self._added: list[str] = []
        self._place = _place(chunk)

    def takes(self, chunk: dict[str, Any]) -> bool:
        """Add what a chunk says. False: it says something else."""
        addition = _addition(chunk)
        if addition is None:
            return False
        kind, text = addition
        if kind == "nothing":
            return True
        if self._place is None or self._place[0] != kind:
            return False
        self._added.append(text)
        return True

    def event(self) -> bytes:
        """The bytes that came, if nothing was added."""
        if self._place is None or not self._added:
            return self._raw
        _, holder, key = self._place
        holder[key] = "".join([holder.get(key) or "", *self._added])
        return b"data: " + json.dumps(self._chunk, separators=(",", ":")).encode() + b"\n\n"


def _place(chunk: dict[str, Any]) -> tuple[Kind, dict[str, Any], str] | None:
    """Where the text of what follows a chunk goes, if anywhere."""
    delta = _lone_delta(chunk)
    if delta is None:
        return None
    if delta.get("tool_calls"):
        last = delta["tool_calls"][-1]
        function = last.get("function")
        return (last.get("index"), function, "arguments") if function else None
    return ("text", delta, "content") if isinstance(delta.get("content"), str | None) else None


def _addition(chunk: dict[str, Any]) -> tuple[Kind, str] | None:
    """What a chunk says, if that is text alone."""
    if not (chunk.get("choices") or chunk.get("usage") or chunk.get("error")):
        return "nothing", ""
    delta = _lone_delta(chunk)
    if delta is None:
        return None
    said = _said(delta, "role")
    match said:
        case {"content": str(text)} if len(said) == 1:
            return "text", text
        case {"tool_calls": [call]} if len(said) == 1:
            return _fragment(call)
    return None if said else ("nothing", "")


def _fragment(call: dict[str, Any]) -> tuple[Kind, str] | None:
    function = call.get("function") or {}
    if _said(call, "index", "type", "function") or _said(function, "arguments"):
        return None
    return call.get("index"), function.get("arguments") or ""


def _lone_delta(chunk: dict[str, Any]) -> dict[str, Any] | None:
    """The delta of a chunk that has nothing else to say."""
    choices = chunk.get("choices") or []
    if len(choices) != 1 or chunk.get("usage") or chunk.get("error"):
        return None
    (choice,) = choices
    if choice.get("finish_reason") or choice.get("index"):
        return None
    delta: dict[str, Any] | None = choice.get("delta")
    return delta


def _said(holder: dict[str, Any], *but: str) -> dict[str, Any]:
    return {key: value for key, value in holder.items() if value and key not in but}
