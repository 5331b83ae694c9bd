"""Keys of messages and calls that only the server which sent them understands.

Some servers of OpenAI's wire refuse a thread without what they sent beside a message:

    DeepSeek            `reasoning_content` of each message of a turn with calls
    Gemini, compatible  `extra_content` of a call, which holds a signature of its thought
    OpenRouter          `reasoning_details` of a message
    LiteLLM             a call's id of hundreds of characters, which holds a signature

So all keys are kept that nobody else reads, as JSON text in a message's `additional_kwargs`. The
same model of the same server gets them back as they were; nobody is shown them. The text has two
objects, one behind the other, where keys came ahead of the first word and more came later: a
message that is stopped has the first of them, with its reasoning.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from turnstream.graphs.calls import MAX_ID_CHARS, derived_id
from turnstream.tools import strict_json

MAX_CHARS = 1_000_000
"""Largest size of the keys of one message; if there is more, none are kept."""
MAX_DEPTH = 20
PREFIX = "sent_by:"
OF_MESSAGES = frozenset(
    ("role", "content", "tool_calls", "function_call", "refusal", "id", "name", "index")
) | {"audio", "images", "annotations"}
"""Keys of a delta that others read, and what a model made for the user."""
OF_CALLS = frozenset(("index", "id", "type", "function"))
GROWING = frozenset(
    ("reasoning_content", "reasoning", "reasoning_text", "thinking", "text", "summary", "data")
)
"""Texts that come in pieces. Of any other key the last value is kept."""
NO_SIGNATURE = "skip_thought_signature_validator"
"""Gemini's word for the signature of a call that it has not signed."""
IN_REQUESTS = frozenset(
    ("role", "content", "tool_calls", "tool_call_id", "refusal", "name", "function_call", "audio")
)
"""Keys of a message in a request that every server takes."""


def key_of(server: str, model: str) -> str:
    """Return the key of `additional_kwargs` for one model of one server."""
    return f"{PREFIX}{hashlib.sha256(f'{server} {model}'.encode()).hexdigest()[:16]}"


def has_keys(delta: Mapping[str, Any]) -> bool:
    """Check whether a delta can have keys to keep."""
    return "tool_calls" in delta or not delta.keys() <= OF_MESSAGES


class ServerKeys:
    """The keys of one message, delta by delta, at the cost of their size."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._calls: dict[str, dict[str, Any]] = {}
        self._ids: dict[Any, str] = {}
        """The id of the last call under each index."""
        self._room = MAX_CHARS
        self._has_begun = False

    def add(self, deltas: Sequence[Mapping[str, Any]]) -> None:
        """Take deltas as `turnstream.graphs.chunk_shape` has read them."""
        for delta in deltas:
            self._take(delta)

    def _take(self, delta: Mapping[str, Any]) -> None:
        self._add(self._message, delta, OF_MESSAGES)
        for call in delta.get("tool_calls") or ():
            id = self._ids[call["index"]] = call["id"] or self._ids.get(call["index"], "")
            if call.keys() <= OF_CALLS and len(id) <= MAX_ID_CHARS:
                continue
            self._add(self._calls.setdefault(id, {}), call, OF_CALLS)

    def begin(self) -> str:
        """Return the keys that came ahead of the message's first word, as JSON text; empty if there
        are none, or if it was asked before."""
        if self._has_begun:
            return ""
        self._has_begun, message = True, self._message
        self._message = {}
        return strict_json.write({"message": _plain(message), "calls": {}}) if message else ""

    def rest(self) -> str:
        """Return the keys since `begin` as JSON text; empty if there are none, or too many."""
        calls = {id: keys for id, keys in self._calls.items() if id}
        if self._room < 0 or not (self._message or calls):
            return ""
        return strict_json.write({"message": _plain(self._message), "calls": _plain(calls)})

    def _add(self, to: dict[str, Any], given: Mapping[str, Any], known: frozenset[str]) -> None:
        for key in given.keys() - known:
            self._room -= _size(given[key], MAX_DEPTH)
            if self._room < 0:
                self._message, self._calls = {}, {}
                return
            to[key] = _merged(to.get(key), given[key], key)


def _read(text: str) -> dict[str, Any]:
    """Return the keys of a message."""
    decoder, place = json.JSONDecoder(), 0
    read = list[dict[str, Any]]()
    while place < len(text):
        keys, place = decoder.raw_decode(text, place)
        read.append(keys)
    if len(read) == 1:
        return read[0]
    message, calls = dict[str, Any](), dict[str, Any]()
    for keys in read:
        message = _merged(message, keys["message"], "")
        calls |= keys["calls"]
    return {"message": _plain(message), "calls": calls}


class _Text:
    """A text that comes in pieces."""

    def __init__(self) -> None:
        self.pieces: list[str] = []


class _Items:
    """A list whose items come in pieces, told apart by their `index`."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.places: dict[tuple[int, Any], int] = {}
        """By the index and the type of an item."""


def _merged(before: Any, given: Any, key: str) -> Any:
    match given:
        case None:
            return before
        case str() if key in GROWING:
            text = before if isinstance(before, _Text) else _Text()
            text.pieces.append(given)
            return text
        case dict():
            known = before if isinstance(before, dict) else {}
            for name, value in given.items():
                known[name] = _merged(known.get(name), value, name)
            return known
        case list():
            items = before if isinstance(before, _Items) else _Items()
            for item in given:
                _add_item(items, item)
            return items
    return given


def _add_item(items: _Items, item: Any) -> None:
    index, kind = (item.get("index"), item.get("type")) if isinstance(item, dict) else (None, None)
    if type(index) is not int or not isinstance(kind, str | None):
        items.items.append(_merged(None, item, ""))
        return
    place = items.places.setdefault((index, kind), len(items.items))
    if place == len(items.items):
        items.items.append(None)
    items.items[place] = _merged(items.items[place], item, "")


def _plain(value: Any) -> Any:
    match value:
        case _Text():
            return strict_json.clean_text("".join(value.pieces))
        case _Items():
            return [_plain(item) for item in value.items]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case str():
            return strict_json.clean_text(value)
    return value


def _size(value: Any, depth: int) -> int:
    """Return about how many characters a value has as JSON; too many for one that is too deep."""
    if depth == 0:
        return MAX_CHARS + 1
    match value:
        case str():
            return len(value)
        case dict():
            return 2 + sum(len(key) + _size(item, depth - 1) for key, item in value.items())
        case list():
            return 2 + sum(_size(item, depth - 1) for item in value)
    return 20


def size_of(message: BaseMessage) -> int:
    """Return how many characters of keys are stored with a message."""
    extras = message.additional_kwargs
    return sum(len(extras[key]) for key in extras if key.startswith(PREFIX)) if extras else 0


def sent_keys(extras: Mapping[str, Any]) -> dict[str, str]:
    """Return what servers have sent of the fields beside a message's content."""
    return {key: str(text) for key, text in extras.items() if key.startswith(PREFIX)}


def for_ids(text: str, ids: Mapping[str, str]) -> str:
    """Return keys by the ids that the thread has; `ids` are those that the calls came with, to
    these. An id that was too long for the thread is kept among the keys of its call."""
    if all(given == id for given, id in ids.items()):
        return text  # Not parsed: a thread may have many.
    kept = _read(text)
    calls = {}
    for given, keys in kept["calls"].items():
        if id := ids.get(given):
            calls[id] = {**keys, "id": given} if id != given and len(given) > MAX_ID_CHARS else keys
    return strict_json.write({**kept, "calls": calls}) if kept["message"] or calls else ""


def with_keys(
    messages: Sequence[dict[str, Any]], stored: Sequence[BaseMessage], key: str
) -> list[dict[str, Any]]:
    """Return the messages of a request with the keys that the stored ones have of its server."""
    ids: dict[str, str] = {}
    """The ids of calls, to those that the server gave them."""
    return [
        _with_keys(message, of.additional_kwargs.get(key), ids)
        for message, of in zip(messages, stored, strict=True)
    ]


def _with_keys(message: dict[str, Any], text: str | None, ids: dict[str, str]) -> dict[str, Any]:
    if id := ids.get(message.get("tool_call_id", "")):
        return {**message, "tool_call_id": id}
    if not text:
        return message
    kept = _read(text)
    before = message.get("tool_calls") or ()
    calls = [{**call, **kept["calls"].get(call["id"], {})} for call in before]
    ids |= {old["id"]: new["id"] for old, new in zip(before, calls, strict=True)}
    return {**kept["message"], **message, **({"tool_calls": calls} if calls else {})}


def with_reasoning(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages of a request with reasoning in each of the model's, if only an empty one:
    DeepSeek demands it also of messages that another model has made."""
    return [
        {"reasoning_content": "", **message} if message["role"] == "assistant" else {**message}
        for message in messages
    ]


def with_signatures(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages of a request with a signature of the first call in each message: Gemini
    refuses calls without one, and takes a word for it where there is none, as for a call of another
    model or of a message that was cut off.

    https://ai.google.dev/gemini-api/docs/thought-signatures
    """
    return [
        {**message, "tool_calls": [_signed(message["tool_calls"][0]), *message["tool_calls"][1:]]}
        if message.get("tool_calls")
        else {**message}
        for message in messages
    ]


def _signed(call: Mapping[str, Any]) -> dict[str, Any]:
    extra = call.get("extra_content") or {}
    google = {"thought_signature": NO_SIGNATURE, **(extra.get("google") or {})}
    return {**call, "extra_content": {**extra, "google": google}}


def without_keys(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages of a request with nothing but what every server takes."""
    plain = []
    for message in messages:
        known = {name: value for name, value in message.items() if name in IN_REQUESTS}
        if known.get("tool_calls"):
            known["tool_calls"] = [_plain_call(call) for call in known["tool_calls"]]
        if "tool_call_id" in known:
            known["tool_call_id"] = _short(known["tool_call_id"])
        plain.append(known)
    return plain


def _plain_call(call: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: value for name, value in call.items() if name in OF_CALLS}
    return {**known, "id": _short(known["id"])}


def _short(id: str) -> str:
    return id if len(id) <= MAX_ID_CHARS else derived_id(id, 0)
