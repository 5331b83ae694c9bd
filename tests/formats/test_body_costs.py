"""A body of many faults has one sentence, and few faults are looked for."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from turnstream.server.formats import BodyLimits
from turnstream.server.formats.ag_ui.body import AgentInput, AgentUserMessage, ForwardedProps
from turnstream.server.formats.ai_sdk.body import (
    AiSdkBody,
    LastAssistantMessage,
    LastUserMessage,
)
from turnstream.server.formats.assistant_transport.body import CommandsBody
from turnstream.server.formats.langgraph.body import HumanMessage, RunBody
from turnstream.server.formats.native.body import NativeBody
from turnstream.server.http.threads import ThreadChanges

Json = dict[str, Any]
MANY = 100_000
MOST_FAULTS = 30
"""About one for each field that can be wrong at once."""
LIMITS = BodyLimits(100)
OUTPUT: Json = {"type": "tool-a", "state": "output-available"}
ITEMS: dict[str, Any] = {
    "numbers": 1,
    "objects without keys": {},
    "texts": "x",
    "unknown types": {"type": "x"},
    "bad texts": {"type": "text", "text": 7},
    "bad images": {"type": "image", "image": 7, "source": 7, "url": 7},
    "outputs without a call": OUTPUT,
}
LISTS: dict[str, tuple[type[BaseModel], Callable[[list[Any]], Json]]] = {
    "tool_results": (NativeBody, lambda items: {"tool_results": items}),
    "approvals": (NativeBody, lambda items: {"approvals": items}),
    "client_tools": (NativeBody, lambda items: {"message": "Hi", "client_tools": items}),
    "parts": (NativeBody, lambda items: {"message": {"parts": items}}),
    "parts of an edit": (
        NativeBody,
        lambda items: {"edit": {"message_id": "m", "message": {"parts": items}}},
    ),
    "commands": (CommandsBody, lambda items: {"commands": items}),
    "parts of a user": (LastUserMessage, lambda items: {"role": "user", "parts": items}),
    "content of a user": (AgentUserMessage, lambda items: {"role": "user", "content": items}),
    "tools of an agent": (AgentInput, lambda items: {"messages": [], "tools": items}),
    "resume of an agent": (AgentInput, lambda items: {"messages": [], "resume": items}),
    "content of a human": (HumanMessage, lambda items: {"content": items}),
}


def faults(model: type[BaseModel], value: Any) -> int:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(value, context=LIMITS)
    return caught.value.error_count()


@pytest.mark.parametrize("items", ITEMS)
@pytest.mark.parametrize("place", LISTS)
def test_a_list_is_read_up_to_its_first_fault(place: str, items: str) -> None:
    model, body = LISTS[place]
    assert faults(model, body([ITEMS[items]] * MANY)) <= 4


def many() -> Iterator[tuple[type[BaseModel], Json]]:
    names = {f"k{n}": 1 for n in range(MANY)}
    wrong = dict.fromkeys(names, 7)
    yield NativeBody, {"message": "Hi", **names}
    yield NativeBody, {"tool_results": [names]}
    yield ThreadChanges, names
    yield NativeBody, {"message": "Hi", "allowed_tools": [7] * MANY}
    yield ThreadChanges, {"allowed_tools": [7] * MANY}
    for model, rest in ((CommandsBody, {"commands": []}), (AiSdkBody, {"messages": []})):
        yield model, {**rest, "tools": wrong}
        yield model, {**rest, "tools": {f"a b {n}": {} for n in range(MANY)}}
    yield LastAssistantMessage, {"role": "assistant", "parts": [7] * MANY}


@pytest.mark.parametrize(("model", "body"), [*many()])
def test_many_keys_and_names_have_few_faults(model: type[BaseModel], body: Json) -> None:
    assert faults(model, body) <= 4


@pytest.mark.parametrize(
    "model", [NativeBody, CommandsBody, AiSdkBody, AgentInput, ForwardedProps, RunBody]
)
def test_a_body_whose_every_value_is_wrong_has_about_a_fault_for_each_key(
    model: type[BaseModel],
) -> None:
    names = [field.alias or name for name, field in model.model_fields.items()]
    body: Json = dict.fromkeys(names, b"")
    if model is NativeBody:
        body |= dict.fromkeys(("tool_results", "approvals", "continue", "edit"))
        body |= dict.fromkeys(("regenerate", "resume"))
    assert 3 < faults(model, body) <= MOST_FAULTS
