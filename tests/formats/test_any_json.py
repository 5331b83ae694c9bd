"""Bodies in which one value is any other JSON: each is read, or refused with a code."""

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import bodies
from tests.support.samples import sample
from turnstream.server.formats import BodyLimits, ag_ui, parse
from turnstream.server.formats.langgraph.body import parse as langgraph_parse
from turnstream.server.formats.langgraph.body import turn_request
from turnstream.server.formats.langgraph.snapshot import SavedThread
from turnstream.server.turns.requests import InvalidRequest

RECORDED = Path(__file__).parent.parent / "data" / "protocol-examples"
LIMITS = BodyLimits(1000)
CALLS = {
    "id": "t1",
    "trigger": "submit-message",
    "messages": [
        {
            "role": "assistant",
            "id": "m1.a",
            "parts": [
                {"type": "tool-a", "toolCallId": "c1", "state": "output-available", "output": 1},
                {"type": "tool-a", "toolCallId": "c2", "state": "output-error", "errorText": "No"},
                {
                    "type": "dynamic-tool",
                    "toolName": "b",
                    "toolCallId": "c3",
                    "state": "approval-responded",
                    "approval": {"id": "c3", "approved": True, "reason": "Why not"},
                },
            ],
        }
    ],
    "tools": {"b": {"description": "B", "parameters": {"type": "object"}}},
}
COMMANDS = {
    "commands": [
        {"type": "add-tool-result", "toolCallId": "c1", "result": 1, "isError": False},
        {"type": "tool-approval", "toolCallId": "c2", "approved": True, "args": {}},
    ],
    "state": {"thread_id": "t1"},
    "tools": {"b": {"description": "B", "parameters": {"type": "object"}}},
}
NATIVE: list[dict[str, Any]] = [
    {
        "thread_id": "t1",
        "tool_results": [{"tool_call_id": "c1", "result": 1, "is_error": True}],
        "approvals": [{"tool_call_id": "c2", "approved": True, "reason": "So", "args": {"a": 1}}],
        "client_tools": [{"name": "b", "parameters": {"type": "object"}}],
    },
    {"thread_id": "t1", "edit": {"message_id": "m1", "message": {"parts": [{"type": "text"}]}}},
    {"resume": {"a": 1}, "graph": "chat", "model": "m", "context": {"a": 1}, "input": {"b": 2}},
    {"regenerate": True, "allowed_tools": ["a"], "on_busy": "stop", "on_interrupt": "reject"},
    {"regenerate": True, "thread_id": "t", "must_exist": True, "based_on": "run"},
]
AG_UI: list[dict[str, Any]] = [
    {
        "threadId": "t1",
        "messages": [
            {"role": "assistant", "toolCalls": []},
            {"role": "tool", "toolCallId": "c1", "content": "1", "error": "No"},
            {
                "role": "user",
                "id": "m1",
                "content": [
                    {"type": "text", "text": "Hi"},
                    {"type": "image", "source": {"type": "url", "value": "http://x"}},
                ],
            },
        ],
        "resume": [
            {"interruptId": "i1", "status": "cancelled"},
            {"interruptId": "approval:c2:a", "status": "resolved", "payload": {"approved": True}},
        ],
        "tools": [{"name": "b", "description": "B", "parameters": {"type": "object"}}],
        "forwardedProps": {"edit": "m0", "runConfig": {"model": "m"}},
    },
    *bodies("POST", "/ag-ui"),
]
LANGGRAPH_RUNS = "/langgraph/threads/{thread_id}/runs/stream"
BODIES = [
    CALLS,
    COMMANDS,
    *NATIVE,
    *(json.loads(path.read_text()) for path in sorted(RECORDED.glob("*.request.json"))),
    *bodies("POST", "/chat"),
]
LANGGRAPH: list[dict[str, Any]] = [
    {
        "assistant_id": "chat",
        "input": {
            "messages": [
                {"type": "human", "id": "h1", "content": [{"type": "text", "text": "Hi"}]},
                {
                    "role": "user",
                    "content": [{"type": "image_url", "image_url": {"url": "http://x"}}],
                },
                {
                    "type": "human",
                    "content": [
                        {"type": "image", "data": "iVBORw0KGgo=", "mime_type": "image/png"}
                    ],
                },
                {"type": "tool", "id": "r1", "tool_call_id": "c1", "content": "1", "status": "x"},
            ],
            "todos": [1],
        },
        "config": {"configurable": {"mood": 1, "checkpoint_id": "start"}},
        "context": {"mood": 1},
        "stream_mode": ["values"],
        "on_disconnect": "cancel",
    },
    *bodies("POST", LANGGRAPH_RUNS),
]
Place = tuple[str | int, ...]

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
ANY = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=4,
)


def places(value: Any, so_far: Place = ()) -> Iterator[Place]:
    if so_far:
        yield so_far
    inner = value if isinstance(value, dict) else {}
    if isinstance(value, list):
        inner = dict(enumerate(value))
    for key, item in inner.items():
        yield from places(item, (*so_far, key))


def changed(body: Any, place: Place, value: Any) -> Any:
    body = deepcopy(body)
    *way, last = place
    within = body
    for key in way:
        within = within[key]
    within[last] = value
    return body


@pytest.mark.parametrize("body", BODIES)
@settings(max_examples=sample(60, 6))
@given(data=st.data())
def test_a_body_with_any_other_value_in_one_place_is_read_or_refused(
    body: Any, data: st.DataObject
) -> None:
    for place in places(body):
        with suppress(InvalidRequest):
            parse(changed(body, place, data.draw(ANY)), LIMITS)


def test_a_type_that_is_called_like_a_key_does_not_hide_the_place_of_a_fault() -> None:
    body = {"assistant_id": "chat", "input": {"messages": [{"type": "id", "id": 7}]}}
    with pytest.raises(InvalidRequest, match=r"^input\.messages\[0\]\.id is 7: send a string\.$"):
        langgraph_parse(body, LIMITS)


@pytest.mark.parametrize("body", AG_UI)
@settings(max_examples=sample(60, 6))
@given(data=st.data())
def test_an_agent_input_with_any_other_value_in_one_place_is_read_or_refused(
    body: Any, data: st.DataObject
) -> None:
    for place in places(body):
        with suppress(InvalidRequest):
            parse(changed(body, place, data.draw(ANY)), LIMITS, format=ag_ui.BODY_FORMAT)


@pytest.mark.parametrize("body", LANGGRAPH)
@settings(max_examples=sample(60, 6))
@given(data=st.data())
def test_a_run_with_any_other_value_in_one_place_is_read_or_refused(
    body: Any, data: st.DataObject
) -> None:
    for place in places(body):
        with suppress(InvalidRequest):
            asked = langgraph_parse(changed(body, place, data.draw(ANY)), LIMITS)
            turn_request(asked, SavedThread("t1", (), ()), None)
