"""What a client, or hydrate, holds of a message, in one form for all: see `scripted_turns`."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.clients.scripted_turns import PENDING, Part, call, failure, text


def parts_of_ui_message(message: Mapping[str, Any]) -> list[Part]:
    """An AI SDK message, a client's or hydrate's."""
    return [_ui_part(part) for part in message["parts"] if part["type"] != "step-start"]


def _ui_part(part: Mapping[str, Any]) -> Part:
    kind = part["type"]
    if kind in ("text", "reasoning"):
        assert part["state"] == "done", part
        return {kind: part["text"]}
    assert kind.startswith("tool-"), part
    assert not part.get("preliminary"), part
    return call(kind.removeprefix("tool-"), part.get("input"), _ui_result(part))


def _ui_result(part: Mapping[str, Any]) -> Any:
    match part["state"]:
        case "output-available":
            return part["output"]
        case "output-error":
            return failure(part["errorText"])
        case state:
            assert state == "input-available", part
            return PENDING


def parts_of_assistant_message(message: Mapping[str, Any]) -> list[Part]:
    """assistant-stream's message, of its accumulator or of hydrate."""
    return [_assistant_part(part) for part in message["parts"]]


def _assistant_part(part: Mapping[str, Any]) -> Part:
    if part["type"] in ("text", "reasoning"):
        return {part["type"]: part["text"]}
    return call(part["toolName"], _args(part["argsText"]), _result(part))


def parts_of_thread_messages(messages: Iterable[Mapping[str, Any]]) -> list[list[Part]]:
    """assistant-ui's messages, as its runtime shows them: one list for each."""
    return [
        [
            _thread_part(part)
            for part in message["content"]
            if part["type"] != "text" or part["text"]
        ]
        for message in messages
    ]


def _thread_part(part: Mapping[str, Any]) -> Part:
    if part["type"] in ("text", "reasoning"):
        return {part["type"]: part["text"]}
    # A tool message's content is a string, in the LangChain state and in what is made of it.
    result = json.loads(part["result"]) if "result" in part else None
    return call(part["toolName"], _args(part["argsText"]), _result({**part, "result": result}))


def _args(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _result(part: Mapping[str, Any]) -> Any:
    if part.get("isError") is None and part.get("result") is None:
        return PENDING
    if not part.get("isError"):
        return part["result"]
    error = part["result"]["error"]
    return failure(f"{error['message']} ({error['id']})" if "id" in error else error["message"])


def parts_of_langchain_messages(messages: list[dict[str, Any]]) -> list[Part]:
    """Of the messages that answer one of the user's."""
    results = {m["tool_call_id"]: m for m in messages if m["type"] == "tool"}
    return [part for m in messages if m["type"] == "ai" for part in _langchain_parts(m, results)]


def _langchain_parts(message: dict[str, Any], results: Mapping[str, Any]) -> Iterator[Part]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    yield from (text(block["text"]) for block in blocks if block.get("text"))
    for one in message["tool_calls"]:
        args = None if "partial_json" in one else one["args"]
        answer = results.get(one["id"])
        result = PENDING if answer is None else _langchain_result(answer)
        yield call(one["name"], args, result)


def _langchain_result(message: dict[str, Any]) -> Any:
    result = json.loads(message["content"])
    return failure(result["error"]["message"]) if message["status"] == "error" else result
