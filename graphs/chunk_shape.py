"""Read a `chat.completion.chunk`, as far as anything needs it.

A turn needs the text, the calls and the end of a message: one of these that cannot be read is a
ModelFault, which names it. Any other field that cannot be read is dropped, so that it fails no
turn: LangChain and the client library build what they are given, and wrong types surface far from
their cause. Unknown keys stay.
"""

import reprlib
from collections.abc import Mapping
from typing import Any, NoReturn

from turnstream.tools import strict_json

MAX_NAME_CHARS = 1000
"""Characters of an id, a name or a reason, which are stored beside a message."""
MAX_ID_CHARS = 10_000
"""Largest id of a call as a server sends it: LiteLLM's have some thousands, with a signature."""
MAX_CALLS = 250
"""Largest number of calls in one delta; a message has `turnstream.graphs.model_output.MAX_PARTS`
parts."""
MAX_INDEX = 2**31
MAX_TOKENS = 2**31
NAMES = ("id", "model", "service_tier", "system_fingerprint")

DETAILS = ("prompt_tokens_details", "completion_tokens_details")
"""Keys of usage that hold counts of their own."""
TEXTS = ("content", "reasoning_content", "reasoning")
"""Keys of a delta under which servers send text."""

Chunk = dict[str, Any]


class ModelFault(Exception):
    """The model's server, or the client that speaks to it, failed in a way that it must not.

    What it failed of is the cause, if it was an exception.
    """


def read_chunk(value: Any) -> Chunk:
    """Return the chunk, changed in place: its first choice, and of that what can be read. An error
    in a chunk's place stays as it is. Raises ModelFault."""
    if not isinstance(value, dict):
        _refuse("an event", value)
    if value.get("error"):
        return value
    _drop_names(value, *NAMES)
    if "usage" in value:
        value["usage"] = _usage(value["usage"])
    value["choices"] = _choices(value.get("choices"))
    return value


def _choices(choices: Any) -> list[Chunk]:
    """Return the first choice: one is asked for."""
    if choices is None:
        return []
    if not isinstance(choices, list):
        _refuse("choices", choices)
    for choice in choices[:1]:
        if choice is None:
            return []
        if not isinstance(choice, dict):
            _refuse("a choice", choice)
        _read_choice(choice)
    return choices[:1]


def _read_choice(choice: Chunk) -> None:
    reason = choice.get("finish_reason")
    if reason is not None and not _is_name(reason):
        _refuse("finish_reason", reason)
    delta = choice.get("delta")
    if delta is None:  # a provider's filter speaks of a choice, or the message has ended
        choice["delta"] = {}
        return
    if not isinstance(delta, dict):
        _refuse("delta", delta)
    _drop_names(delta, "id", "role")
    if not isinstance(delta.get("content"), str):
        delta["content"] = _content(delta.get("content"))
    if (calls := delta.get("tool_calls")) is not None:
        delta["tool_calls"] = _calls(calls)


def _content(content: Any) -> str | None:
    """Return the text of blocks, which some servers send. Blocks of another kind say no text."""
    if content is None:
        return None
    blocks = content if isinstance(content, list) else [content]
    if not all(isinstance(block, dict | str | None) for block in blocks):
        _refuse("content", content)
    return "".join(map(_block_text, blocks))


def _block_text(block: Mapping[str, Any] | str | None) -> str:
    text = block.get("text") if isinstance(block, dict) else block
    if text is not None and not isinstance(text, str):
        _refuse("the text of a block", text)
    return text or ""


def _calls(calls: Any) -> list[Chunk]:
    calls = [calls] if isinstance(calls, dict) else calls
    if not isinstance(calls, list):
        _refuse("tool_calls", calls)
    # The message is cut at the first call beyond the limit.
    said = [call for call in calls[: MAX_CALLS + 1] if call is not None]
    for call in said:
        _read_call(call)
    return said


def _read_call(call: Any) -> None:
    if not isinstance(call, dict):
        _refuse("a tool call", call)
    call["index"] = _index(call.get("index"))
    call["id"] = _id(call.get("id"))
    function = call.get("function")
    if function is None:
        return
    if not isinstance(function, dict):
        _refuse("function", function)
    name = function.get("name")
    if name is not None and not _is_name(name):
        _refuse("a tool call's name", name)
    function["arguments"] = _arguments(function.get("arguments"))


def _arguments(arguments: Any) -> str | None:
    """Return the JSON text; some servers send the object."""
    if isinstance(arguments, dict):
        return strict_json.write(arguments)
    if arguments is not None and not isinstance(arguments, str):
        _refuse("arguments", arguments)
    return arguments


def _index(index: Any) -> int | None:
    """Return the number of a call; without one, calls are told apart by their ids and names."""
    if isinstance(index, str) and index.isdecimal() and len(index) <= len(str(MAX_INDEX)):
        index = int(index)
    return _count(index, MAX_INDEX)


def _id(id: Any) -> str | None:
    """Return the id of a call; without one it gets another."""
    if isinstance(id, int) and not isinstance(id, bool):
        return str(id)
    return id if isinstance(id, str) and len(id) <= MAX_ID_CHARS else None


def _usage(usage: Any) -> Chunk | None:
    """Return the counts, those of details too."""
    if not isinstance(usage, dict):
        return None
    counts: Chunk = {}
    for key, value in usage.items():
        if key in DETAILS:
            if isinstance(value, dict):
                counts[key] = {name: _count(count, MAX_TOKENS) for name, count in value.items()}
        elif (count := _count(value, MAX_TOKENS)) is not None:
            counts[key] = count
    return counts or None


def _count(value: Any, limit: int) -> int | None:
    """Return a whole number, which some servers write as a float."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit
    return value if is_count else None


class SurrogatePairs:
    """Join characters whose two UTF-16 halves come in two events, as JSON escapes. A half whose
    other one never comes is dropped."""

    def __init__(self) -> None:
        self.held: dict[Any, str] = {}
        """First halves, by their places."""

    def join(self, chunk: Chunk) -> None:
        for choice in chunk.get("choices") or ():
            delta = choice["delta"]
            self._join_in(delta, *TEXTS)
            for call in delta.get("tool_calls") or ():
                self._join_in(call.get("function") or {}, "arguments", of=call["index"])

    def _join_in(self, holder: Chunk, *keys: str, of: int | None = None) -> None:
        for key in keys:
            text = holder.get(key)
            if text and isinstance(text, str):
                holder[key] = self._joined((key, of), text)

    def _joined(self, place: Any, text: str) -> str:
        held = self.held.pop(place, "") if self.held else ""
        if not held and not _is_first_half(text[-1]):
            return text
        text = held + text
        if _is_first_half(text[-1]):
            self.held[place], text = text[-1], text[:-1]
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _is_first_half(character: str) -> bool:
    return "\ud800" <= character <= "\udbff"


def _drop_names(holder: Chunk, *keys: str) -> None:
    for key in keys:
        if not _is_name(holder.get(key, "")):
            del holder[key]


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_NAME_CHARS


def _refuse(what: str, value: Any) -> NoReturn:
    raise ModelFault(f"the model's server sent {what} that cannot be: {reprlib.repr(value)}")
