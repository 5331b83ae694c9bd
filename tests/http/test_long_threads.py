"""What a client is told of a long thread is made beside the event loop."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.backend import backend, key_of, message
from tests.support.endpoint import StrictEndpoint, text_reply
from tests.support.long_threads import history
from tests.support.loop_work import counted_calls
from tests.support.scripted_model import ScriptedModel
from tests.support.serving import Client, endpoint_settings, serving

SHORTER, LONGER = 500, 1_000
MESSAGES_A_TURN = 4
HELLO = {"type": "human", "content": "Hello"}
SAID = {"role": "user", "parts": [{"type": "text", "text": "Hello"}]}
POSTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "AG-UI": (
        "/ag-ui",
        {"threadId": "#", "messages": [{"id": "new", "role": "user", "content": "Hello"}]},
    ),
    "assistant-ui's state": (
        "/chat",
        {
            "commands": [{"type": "add-message", "message": SAID}],
            "state": {"thread_id": "#", "messages": []},
        },
    ),
    "LangGraph's history": ("/langgraph/threads/#/history", {"limit": 2}),
    "a run of LangGraph": (
        "/langgraph/threads/#/runs/stream",
        {"assistant_id": "chat", "input": {"messages": [HELLO]}},
    ),
}


MOST = {"a run of LangGraph": 20}
"""Calls of ours for each further message, where it is more than 5: each step of such a run and its
end have the whole thread once more."""


@pytest.mark.full
async def test_the_loop_looks_at_each_message_only_so_often(tmp_path: Path) -> None:
    sizes = {"warm": SHORTER, "shorter": SHORTER, "longer": LONGER}
    async with backend(tmp_path / "t.db", ScriptedModel()) as inside:
        for thread, turns in sizes.items():
            await inside.checkpoints.add(key_of(thread), history(turns))
            await inside.turn(message("Hi"), thread)
    async with StrictEndpoint() as endpoint:
        endpoint.script(*[text_reply("Hello.")] * len(POSTS) * len(sizes))
        async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
            counts = {
                name: [await calls_of(client, *post, thread) for thread in sizes]
                for name, post in POSTS.items()
            }
    further = (LONGER - SHORTER) * MESSAGES_A_TURN
    each = {name: (longer - shorter) / further for name, (_, shorter, longer) in counts.items()}
    assert {name: count for name, count in each.items() if count > MOST.get(name, 5)} == {}


async def calls_of(client: Client, path: str, body: Mapping[str, Any], thread: str) -> int:
    named = json.loads(json.dumps(body).replace("#", thread))
    with counted_calls() as calls:
        answer = await client.http.post(path.replace("#", thread), json=named)
    assert answer.status_code == 200, answer.text
    return calls.count
