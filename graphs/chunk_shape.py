"""The shape of a `chat.completion.chunk`, as far as anything reads it.

LangChain and the client library build what they are sent; wrong types surface far from their
cause, or not at all. Unknown keys are nobody's business, and what may be left out may be null.
"""

import reprlib
from collections.abc import Mapping
from typing import Any, NoReturn

MAX_NAME_CHARS = 1000
"""Of ids, names and reasons, which are stored beside a message."""
MAX_CALLS = 250
"""Largest number of calls in one delta; a message has `turnstream.graphs.model_output.MAX_PARTS`
parts."""
MAX_INDEX = 2**31
MAX_CHOICES = 16
"""One is asked for."""
MAX_TOKENS = 2**31

Object = Mapping[str, Any]


class ModelFault(Exception):
    """The model's server, or the client that speaks to it, failed in a way that it must not.

    What it failed of is the cause, if it was an exception.
    """


def check_chunk(value: Any) -> None:
    """Raises ModelFault unless the value is a chunk, or an error in a chunk's place."""
    if not isinstance(value, dict):
        _refuse("an event", value)
    if value.get("error"):
        return
    _check_names(value, "id", "model", "service_tier", "system_fingerprint")
    usage = value.get("usage")
    _check_usage(usage)
    choices = value.get("choices", [] if usage else None)
    if not isinstance(choices, list) or len(choices) > MAX_CHOICES:
        _refuse("choices", choices)
    for choice in choices:
        _check_choice(choice)


def _check_choice(choice: Any) -> None:
    if not isinstance(choice, dict):
        _refuse("a choice", choice)
    _check_names(choice, "finish_reason")
    if "delta" not in choice:  # what a provider's filter says of a choice
        return
    delta = choice["delta"]
    if not isinstance(delta, dict):
        _refuse("delta", delta)
    _check_names(delta, "id", "role")
    _check_content(delta.get("content"))
    calls = delta.get("tool_calls")
    if calls is None:
        return
    if not isinstance(calls, list):
        _refuse("tool_calls", calls)
    del calls[MAX_CALLS + 1 :]  # The message is cut at the first of them.
    for call in calls:
        _check_call(call)


def _check_content(content: Any) -> None:
    """Text, or the blocks of text that some servers send."""
    if content is None or isinstance(content, str):
        return
    blocks = content if isinstance(content, list) else [content]
    if not all(isinstance(b, dict) and isinstance(b.get("text", ""), str) for b in blocks):
        _refuse("content", content)


def _check_call(call: Any) -> None:
    if not isinstance(call, dict):
        _refuse("a tool call", call)
    index = call.get("index")
    if index is not None and not _is_count(index, MAX_INDEX):
        _refuse("a tool call's index", index)
    _check_names(call, "id")
    function = call.get("function")
    if function is not None:
        if not isinstance(function, dict):
            _refuse("function", function)
        _check_names(function, "name")
        _check_text(function, "arguments")


def _check_usage(usage: Any) -> None:
    if usage is None:
        return
    if not isinstance(usage, dict):
        _refuse("usage", usage)
    for value in usage.values():
        counts = value.values() if isinstance(value, dict) else [value]
        for count in counts:
            if isinstance(count, int | list | str) and not _is_count(count, MAX_TOKENS):
                _refuse("usage", count)


def _check_text(holder: Object, key: str) -> None:
    value = holder.get(key)
    if value is not None and not isinstance(value, str):
        _refuse(key, value)


def _check_names(holder: Object, *keys: str) -> None:
    for key in keys:
        value = holder.get(key)
        if value is not None and not (isinstance(value, str) and len(value) <= MAX_NAME_CHARS):
            _refuse(key, value)


def _is_count(value: Any, limit: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit


def _refuse(what: str, value: Any) -> NoReturn:
    raise ModelFault(f"the model's server sent {what} that cannot be: {reprlib.repr(value)}")
