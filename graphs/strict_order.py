"""The messages of a request in the order that the strictest servers demand.

Mistral's API, and servers with its chat templates (vLLM, llama.cpp), refuse a user's message behind
a tool's, two messages of one role in a row, and call ids that are not nine letters and digits.
The repair is the smallest that fits, and is never stored.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

Message = dict[str, Any]

MODELS = re.compile(
    "mistral|ministral|mixtral|codestral|devstral|magistral|pixtral|voxtral", re.IGNORECASE
)
"""Models whose templates are so strict, by their names."""
CLOSING = "Done."
"""The model's words between a tool's result and the user."""
GO_ON = "Go on."
"""The user's words behind a message of the model."""
_ID = re.compile(r"[A-Za-z0-9]{9}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def is_strict(model: str) -> bool:
    return MODELS.search(model) is not None


def in_strict_order(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Return the messages of a request to OpenAI's chat completions, repaired."""
    ordered: list[Message] = []
    for message in messages:
        _add(ordered, _with_short_ids(message))
    if ordered and ordered[-1]["role"] == "assistant":
        ordered.append({"role": "user", "content": GO_ON})
    return ordered


def _add(ordered: list[Message], message: Message) -> None:
    before = ordered[-1] if ordered else {"role": "system"}
    role, follows = message["role"], before["role"]
    if role == "user" and follows == "tool":
        ordered.append({"role": "assistant", "content": CLOSING})
    elif role == "assistant" and follows == "system":
        ordered.append({"role": "user", "content": GO_ON})
    elif role == follows and role in ("user", "assistant"):
        content = _joined(before.get("content"), message.get("content"))
        ordered[-1] = {**before, **message, "content": content}
        return
    ordered.append(message)


def _joined(first: Any, second: Any) -> Any:
    if not first or not second:
        return first or second or ""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_blocks(first), *_blocks(second)]


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else [*content]


def _with_short_ids(message: Mapping[str, Any]) -> Message:
    short: Message = {**message}
    if "tool_call_id" in message:
        short["tool_call_id"] = short_id(str(message["tool_call_id"]))
    if message.get("tool_calls"):
        calls = message["tool_calls"]
        short["tool_calls"] = [{**call, "id": short_id(str(call["id"]))} for call in calls]
    return short


def short_id(id: str) -> str:
    """Return nine letters and digits: the id itself if it is that, else the same ones each time.

    62^9 are 53 bits: of a thousand calls in a thread two have the same with a chance below 1e-10.
    """
    if _ID.fullmatch(id):
        return id
    number = int.from_bytes(hashlib.sha256(id.encode(errors="replace")).digest()[:8])
    digits = []
    for _ in range(9):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(digits)
