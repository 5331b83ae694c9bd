"""What an OpenAI endpoint refuses, as one table of small rules over the parsed body.

The rules are pure and raise on no JSON value. Their order is part of them: the first refusal
ends the reading, so a rule may trust the shapes that the rules above it have checked.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.support.endpoint import call_rules, message_rules, strict_json, tool_rules
from tests.support.endpoint.refusal import Body, Refusal, Rule, mistyped


def text_is_unicode(body: Body) -> Iterator[Refusal]:
    """`\\ud800` alone is legal JSON, and no text."""
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        lone = error.object[error.start]
        yield Refusal(f"Invalid body: the lone surrogate {lone!r} is not a character.")


def a_model_is_named(body: Body) -> Iterator[Refusal]:
    yield from mistyped(body, "model", "", "a string")
    if not body["model"]:
        yield Refusal("you must provide a model parameter", "model")


def stream_options_need_a_stream(body: Body) -> Iterator[Refusal]:
    if "stream" in body:
        yield from mistyped(body, "stream", "", "a boolean")
    if body.get("stream_options") is not None:
        yield from mistyped(body, "stream_options", "", "an object")
        if not body.get("stream"):
            yield Refusal(
                "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
                "stream_options",
            )


RULES: tuple[Rule, ...] = (
    text_is_unicode,
    a_model_is_named,
    stream_options_need_a_stream,
    message_rules.messages_are_objects,
    message_rules.roles_are_known,
    message_rules.keys_are_known,
    message_rules.names_are_words,
    message_rules.content_is_there,
    message_rules.content_is_text_or_parts,
    message_rules.results_name_their_call,
    call_rules.calls_are_arrays,
    call_rules.calls_are_of_functions,
    call_rules.call_ids_are_short_and_not_empty,
    call_rules.called_names_are_words,
    call_rules.arguments_are_json_objects,
    call_rules.call_ids_are_unique_in_a_message,
    call_rules.results_follow_their_calls,
    call_rules.calls_are_answered_once,
    call_rules.calls_are_all_answered,
    tool_rules.tools_are_functions,
    tool_rules.tools_are_not_too_many,
    tool_rules.tool_names_are_words,
    tool_rules.tool_names_are_unique,
    tool_rules.descriptions_are_text,
    tool_rules.schemas_are_plain_objects,
    tool_rules.schema_arrays_have_items,
    tool_rules.choices_need_tools,
    tool_rules.choices_are_offered,
)


def refusal(body: Any) -> Refusal | None:
    """The first thing wrong with a request body; None when OpenAI would take it."""
    if not isinstance(body, dict):
        return NOT_AN_OBJECT
    return next((refused for rule in RULES for refused in rule(body)), None)


def read(raw: bytes) -> Body | Refusal:
    """Parse the bytes of a request as strictly as JSON wants: UTF-8, no NaN, an object."""
    try:
        body = strict_json.loads(raw.decode())
    except ValueError as error:
        return Refusal(f"We could not parse the JSON body of your request: {error}")
    return body if isinstance(body, dict) else NOT_AN_OBJECT


NOT_AN_OBJECT = Refusal("We could not parse the JSON body of your request: it is not an object.")
