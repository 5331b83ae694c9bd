"""Requests to build tests of: messages, calls, results, tools, as a client would post them."""

from typing import Any

from openai.types.chat import ChatCompletionUserMessageParam

USER: ChatCompletionUserMessageParam = {"role": "user", "content": "Hi"}
CALCULATOR: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Work out an expression.",
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string"}},
            "required": ["expression"],
        },
    },
}


def call(call_id: str, name: str = "calculator", arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: dict[str, Any], content: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(call_id: str, content: Any = "2") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def body(*messages: Any, **options: Any) -> dict[str, Any]:
    return {"model": "any", "messages": list(messages), **options}


def offering(*tools: Any, **options: Any) -> dict[str, Any]:
    return body(USER, tools=list(tools), **options)


def function(**changes: Any) -> dict[str, Any]:
    return {"type": "function", "function": {**CALCULATOR["function"], **changes}}


def schema(**changes: Any) -> dict[str, Any]:
    return function(parameters={"type": "object", "properties": {}, **changes})
