"""Chunks that came together, as few chunks: to build a message of each costs far more than it says.

Text goes behind text, calls behind calls: whoever assembles the calls sees the same heads and
fragments in the same order.
"""

import json

from turnstream.graphs.chunk_shape import Chunk


class Folded:
    """One chunk and those behind it that could be added to it, as
    `turnstream.graphs.chunk_shape` has read them."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._delta = _lone_delta(chunk)
        self._said = _said(self._delta or {}, "role")
        self._texts: list[str] = []
        self._calls: list[Chunk] = []
        self._args: list[str] = []
        """More argument text of the last call."""
        calls = self._said.get("tool_calls") or ()
        self._indexes = {call["index"] for call in calls} - {None}

    def takes(self, chunk: Chunk) -> bool:
        """Add what a chunk says. False: it says something else."""
        delta = _lone_delta(chunk)
        if delta is None:
            return not (chunk.get("choices") or chunk.get("usage") or chunk.get("error"))
        said = _said(delta, "role")
        if not said:
            return True
        if self._delta is None or len(said) > 1:
            return False
        match said:
            case {"content": str(text)} if not self._speaks_of_calls:
                self._texts.append(text)
                return True
            case {"tool_calls": list(calls)} if self._speaks_of_calls:
                return len(calls) == 1 and self._takes_call(calls[0])
        return False

    def chunk(self) -> Chunk:
        """All that they say."""
        if self._delta is not None:
            if self._texts:
                self._delta["content"] = "".join([self._delta.get("content") or "", *self._texts])
                self._texts.clear()
            self._end_args()
            if self._calls:
                self._delta["tool_calls"] = [*self._delta["tool_calls"], *self._calls]
                self._calls.clear()
        return self._chunk

    def event(self) -> bytes:
        """The chunk as an event."""
        return b"data: " + json.dumps(self.chunk(), separators=(",", ":")).encode() + b"\n\n"

    @property
    def _speaks_of_calls(self) -> bool:
        return "tool_calls" in self._said

    @property
    def _last(self) -> Chunk:
        last: Chunk = (self._calls or self._said["tool_calls"])[-1]
        return last

    def _takes_call(self, call: Chunk) -> bool:
        """LangChain adds up calls of one number over chunks, and not inside of one."""
        fragment, index = _fragment(call), call.get("index")
        if fragment is not None and index == self._last.get("index"):
            self._args.append(fragment)
            return True
        if index in self._indexes:
            return False
        self._end_args()
        self._calls.append(call)
        if index is not None:
            self._indexes.add(index)
        return True

    def _end_args(self) -> None:
        if self._args:
            function = self._last.get("function") or {}
            text = "".join([function.get("arguments") or "", *self._args])
            self._last["function"] = {**function, "arguments": text}
            self._args.clear()


def _fragment(call: Chunk) -> str | None:
    """The text of a call's delta that has nothing else."""
    function = call.get("function") or {}
    if _said(call, "index", "type", "function") or _said(function, "arguments"):
        return None
    return function.get("arguments") or ""


def _lone_delta(chunk: Chunk) -> Chunk | None:
    """The delta of a chunk that has nothing else to say."""
    choices = chunk.get("choices") or []
    if len(choices) != 1 or chunk.get("usage") or chunk.get("error"):
        return None
    (choice,) = choices
    if choice.get("finish_reason") or choice.get("index"):
        return None
    delta: Chunk | None = choice.get("delta")
    return delta


def _said(holder: Chunk, *but: str) -> Chunk:
    return {key: value for key, value in holder.items() if value and key not in but}
