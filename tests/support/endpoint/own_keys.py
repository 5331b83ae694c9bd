"""Requests as OpenAI's rules judge them where a server takes back what it has sent beside OpenAI's
own keys."""

import hashlib
from typing import Any

from tests.support.endpoint.message_rules import CALL_ID_LENGTH, KEYS
from tests.support.endpoint.refusal import Body


def without_own_keys(body: Body) -> Body:
    """The body without other keys in the model's messages and their calls, and with short ids."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        return body
    return {**body, "messages": [_bare(message) for message in messages]}


def _bare(message: dict[str, Any]) -> dict[str, Any]:
    bare = {**message}
    if message.get("role") == "assistant":
        bare = {key: value for key, value in message.items() if key in KEYS["assistant"]}
    if isinstance(message.get("tool_calls"), list):
        calls = message["tool_calls"]
        bare["tool_calls"] = [
            {"id": _short(call["id"]), "type": call["type"], "function": call["function"]}
            for call in calls
        ]
    if "tool_call_id" in message:
        bare["tool_call_id"] = _short(message["tool_call_id"])
    return bare


def _short(id: str) -> str:
    return id if len(id) <= CALL_ID_LENGTH else hashlib.sha256(id.encode()).hexdigest()[:24]
