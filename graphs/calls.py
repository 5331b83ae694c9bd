"""Tool calls as a model streams them: which deltas make one call, its id, its name, its raw text.

The node that calls the model and the stream that shows it read the same deltas with this one
rule, so both give a call the same id. It holds for models that number their calls, that do not,
that give every call the same number, repeat ids, or send none.
"""

import hashlib
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, InvalidToolCall, ToolCall

from turnstream.graphs.json_end import JsonEnd
from turnstream.tools.strict_json import clean_text, read_storable_object, text_of

MAX_ID_CHARS = 40
MAX_VALUES = 50_000
"""Values of the arguments of a message's calls, together: in memory each takes far more than its
text."""
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(slots=True)
class StreamedCall:
    """One call of a message: `args_text` is the very text that the model wrote."""

    id: str
    name: str
    given_name: str
    """As the model wrote it; `name` differs where a provider would refuse it."""
    position: int = -1
    """Its place among the parts of its message."""
    _fragments: list[str] = field(default_factory=list)
    _unread: list[str] = field(default_factory=list)
    _end: JsonEnd = field(default_factory=JsonEnd)
    _parsed: tuple[dict[str, Any] | None] | None = None

    def add(self, text: str) -> None:
        self._fragments.append(text)
        self._unread.append(text)
        self._parsed = None

    @property
    def args_text(self) -> str:
        """Joined where it is read: as seldom as it is read."""
        if len(self._fragments) > 1:
            self._fragments = ["".join(self._fragments)]
        return self._fragments[0] if self._fragments else ""

    @property
    def text(self) -> str:
        return self.args_text

    @property
    def args(self) -> dict[str, Any] | None:
        """As `parse_args` reads the text so far, once. Not to be changed."""
        if self._parsed is None:
            self._parsed = (parse_args(self.args_text),)
        return self._parsed[0]

    def is_whole(self) -> bool:
        """True if the text so far is one whole JSON object. Each fragment is looked at once, and
        the text parsed once, when its last brace has closed."""
        for text in self._unread:
            self._end.feed(text)
        self._unread.clear()
        if self._end.is_valid is None and self._end.is_reached:
            self._end.is_valid = self.args is not None
        return self._end.is_reached and bool(self._end.is_valid)


class CallAssembler:
    """Puts the tool call deltas of one model message together.

    `message_id` is the id under which the message streams, `taken` the call ids of the thread so
    far: an id that is missing, repeated or too long for a provider is replaced by one derived from
    the message's id and the call's position.
    """

    def __init__(self, message_id: str, taken: Container[str]) -> None:
        self.calls: list[StreamedCall] = []
        self._message_id = message_id
        self._taken = taken
        self._open: dict[int | None, int] = {}
        self._given_ids: dict[int, str | None] = {}
        self._used: set[str] = set()

    def given_id(self, position: int) -> str | None:
        """The id that the model gave the call at this position."""
        return self._given_ids.get(position)

    @property
    def given_ids(self) -> dict[str, str]:
        """The ids that the model gave its calls, to those that they have."""
        return {id: self.calls[position].id for position, id in self._given_ids.items() if id}

    def feed(self, message: AIMessage) -> list[tuple[StreamedCall, str]]:
        """Take a chunk, or the whole message of a model that does not stream.

        Returns which calls it brings and the argument text that it adds to each.
        """
        if isinstance(message, AIMessageChunk):
            return [
                self._take(chunk["index"], chunk["id"], chunk["name"], chunk["args"] or "")
                for chunk in message.tool_call_chunks
                if chunk["index"] in self._open or chunk["id"] or chunk["name"] or chunk["args"]
            ]
        whole: list[tuple[str | None, str | None, str]] = [
            (call["id"], call["name"], text_of(call["args"])) for call in message.tool_calls
        ]
        whole += [
            (call["id"], call["name"], call["args"] or "") for call in message.invalid_tool_calls
        ]
        first = len(self.calls)
        return [
            self._take(index, id, name, args)
            for index, (id, name, args) in enumerate(whole, start=first)
        ]

    def _take(
        self, index: int | None, id: str | None, name: str | None, args: str
    ) -> tuple[StreamedCall, str]:
        position = self._open.get(index)
        if position is None or (name and self._is_another(position, id, name, args)):
            position = len(self.calls)
            self._open[index] = position
            self._given_ids[position] = id
            self.calls.append(
                StreamedCall(self._unique(id, position), safe_name(name or ""), name or "")
            )
        call, text = self.calls[position], clean_text(args)
        if text:
            call.add(text)
        return call, text

    def _is_another(self, position: int, id: str | None, name: str, args: str) -> bool:
        """Check that a named delta under a number in use begins a new call, and does not repeat its
        head."""
        call = self.calls[position]
        if name != call.given_name or id not in (None, "", self._given_ids[position]):
            return True
        # More text behind a whole JSON object can only be another call's.
        return bool(args) and call.is_whole()

    def _unique(self, given: str | None, position: int) -> str:
        id = clean_text(given or "")
        usable = 0 < len(id) <= MAX_ID_CHARS and id.isprintable()
        if not usable or id in self._taken or id in self._used:
            id = derived_id(self._message_id, position)
        self._used.add(id)
        return id


def derived_id(message_id: str, position: int) -> str:
    digest = hashlib.sha256(f"{message_id}:{position}".encode()).hexdigest()
    return f"call_{digest[:24]}"


def safe_name(name: str) -> str:
    """A tool name that providers take back in a history (`[a-zA-Z0-9_-]{1,64}`)."""
    return _REFUSED.sub("_", name)[:64] or "unnamed"


def parse_args(text: str) -> dict[str, Any] | None:
    """The arguments, if the text is one whole JSON object; a call without any text has none.

    None for anything else: cut off, not an object, nested too deep, NaN, numbers beyond a float,
    more than MAX_VALUES values.
    """
    if values_of(text) > MAX_VALUES:
        return None
    return read_storable_object(text or "{}")


def set_calls(message: AIMessageChunk) -> None:
    """Read its calls from its fragments, which are all that there will be."""
    message.tool_calls, message.invalid_tool_calls = [], []
    for chunk in message.tool_call_chunks:
        args = parse_args(chunk["args"] or "")
        name, id = chunk["name"] or "", chunk["id"]
        if args is None:
            message.invalid_tool_calls.append(
                InvalidToolCall(
                    type="invalid_tool_call", name=name, args=chunk["args"], id=id, error=None
                )
            )
        else:
            message.tool_calls.append(ToolCall(type="tool_call", name=name, args=args, id=id))


def values_of(text: str) -> int:
    """About how many values the JSON text has, or a piece of it; never fewer."""
    return sum(map(text.count, "[{,"))


def call_ids(messages: Sequence[Any]) -> set[str]:
    """The ids of every tool call in a history."""
    return {
        call["id"] or ""
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
