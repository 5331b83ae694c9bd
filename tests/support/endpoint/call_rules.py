"""Tool calls in assistant messages: their shape, and their answers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.endpoint import strict_json
from tests.support.endpoint.message_rules import CALL_ID_LENGTH, messages
from tests.support.endpoint.refusal import (
    Body,
    Refusal,
    empty_array,
    mismatch,
    mistyped,
    too_long,
    unknown_keys,
    unsupported,
    wrong_type,
)

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def calls(body: Body) -> Iterator[tuple[str, Body]]:
    """Each tool call of the history with its place in the body."""
    for where, message in messages(body):
        for index, call in enumerate(message.get("tool_calls", ())):
            yield f"{where}.tool_calls[{index}]", call


def calls_are_arrays(body: Body) -> Iterator[Refusal]:
    for where, message in messages(body):
        if "tool_calls" in message:
            yield from mistyped(message, "tool_calls", where, "an array")
            if not message["tool_calls"]:
                yield empty_array(f"{where}.tool_calls")


def calls_are_of_functions(body: Body) -> Iterator[Refusal]:
    for where, call in calls(body):
        if not isinstance(call, dict):
            yield wrong_type(where, "an object", call)
        yield from unknown_keys(call, where, ("id", "type", "function"))
        yield from mistyped(call, "type", where, "a string")
        if call["type"] != "function":
            yield unsupported(f"{where}.type", call["type"], ("function",))
        yield from mistyped(call, "function", where, "an object")
        yield from unknown_keys(call["function"], f"{where}.function", ("name", "arguments"))


def call_ids_are_short_and_not_empty(body: Body) -> Iterator[Refusal]:
    for where, call in calls(body):
        yield from mistyped(call, "id", where, "a string")
        if not call["id"]:
            yield Refusal(
                f"Invalid '{where}.id': empty string. Expected a string with minimum length 1.",
                f"{where}.id",
                code="empty_string",
            )
        yield from too_long(f"{where}.id", call["id"], CALL_ID_LENGTH)


def called_names_are_words(body: Body) -> Iterator[Refusal]:
    for where, call in calls(body):
        yield from mistyped(call["function"], "name", f"{where}.function", "a string")
        yield from mismatch(f"{where}.function.name", call["function"]["name"], TOOL_NAME)


def arguments_are_json_objects(body: Body) -> Iterator[Refusal]:
    for where, call in calls(body):
        yield from mistyped(call["function"], "arguments", f"{where}.function", "a string")
        arguments = call["function"]["arguments"]
        if not isinstance(_parsed(arguments), dict):
            yield Refusal(
                f"Invalid '{where}.function.arguments': expected a JSON object in a string, "
                f"but got {arguments[:60]!r}.",
                f"{where}.function.arguments",
                code="invalid_value",
            )


def _parsed(text: str) -> Any:
    try:
        return strict_json.loads(text)
    except ValueError:
        return None


def call_ids_are_unique_in_a_message(body: Body) -> Iterator[Refusal]:
    """Two messages may use the same id: an answer belongs to the message just before it."""
    for step in _steps(body):
        for index, call_id in enumerate(step.called):
            if call_id in step.called[:index]:
                param = f"messages[{step.index}].tool_calls[{index}].id"
                yield Refusal(f"Duplicate value for {param!r}: {call_id!r}.", param, "duplicate")


@dataclass
class _Step:
    """A message that is no result, with the results directly after it."""

    index: int
    called: list[str] = field(default_factory=list)
    results: list[tuple[int, str]] = field(default_factory=list)
    """Place and call id of each."""


def _steps(body: Body) -> Iterator[_Step]:
    step = _Step(-1)
    for index, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            step.results.append((index, message["tool_call_id"]))
        else:
            yield step
            step = _Step(index, [call["id"] for call in message.get("tool_calls", ())])
    yield step


def results_follow_their_calls(body: Body) -> Iterator[Refusal]:
    for step in _steps(body):
        for index, call_id in step.results:
            if call_id not in step.called:
                yield Refusal(
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    f"preceding message with 'tool_calls'; {call_id!r} was not called there.",
                    f"messages[{index}].tool_call_id",
                )


def calls_are_answered_once(body: Body) -> Iterator[Refusal]:
    for step in _steps(body):
        seen: set[str] = set()
        for index, call_id in step.results:
            if call_id in seen:
                param = f"messages[{index}].tool_call_id"
                yield Refusal(f"Duplicate value for {param!r}: {call_id!r}.", param, "duplicate")
            seen.add(call_id)


def calls_are_all_answered(body: Body) -> Iterator[Refusal]:
    for step in _steps(body):
        answered = {call_id for _, call_id in step.results}
        unanswered = [call_id for call_id in step.called if call_id not in answered]
        if unanswered:
            yield Refusal(
                "An assistant message with 'tool_calls' must be followed by tool messages "
                "responding to each 'tool_call_id'. The following tool_call_ids did not have "
                f"response messages: {', '.join(unanswered)}",
                f"messages[{step.index}].tool_calls",
            )
