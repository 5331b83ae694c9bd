"""A question of an MCP server, asked and answered in every wire format."""

import json
from pathlib import Path
from typing import Any

from tests.http.test_ag_ui import run, user
from tests.http.test_mcp_elicitation import ACCEPTED, asked, served, told
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply

Json = dict[str, Any]
SHOWN = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Go"}]}


def answers(thread: str, id: str) -> dict[str, tuple[str, Json, str]]:
    """By format: where the answer goes, the body, and what the server hears."""
    by_id = {id: ACCEPTED}
    entry = {"interruptId": id, "status": "resolved", "payload": ACCEPTED}
    cancelled = {"interruptId": id, "status": "cancelled"}
    ag_ui = {"threadId": thread, "runId": "r", "messages": [], "tools": []}
    lang_graph = f"/langgraph/threads/{thread}/runs/stream"
    return {
        "ai-sdk": ("/chat", {"id": thread, "messages": [SHOWN], "resume": by_id}, "accept"),
        "assistant-transport": (
            "/chat",
            {"threadId": thread, "commands": [], "state": {}, "resume": by_id},
            "accept",
        ),
        "ag-ui": ("/ag-ui", {**ag_ui, "resume": [entry]}, "accept"),
        "ag-ui, cancelled": ("/ag-ui", {**ag_ui, "resume": [cancelled]}, "cancel"),
        "langgraph": (
            lang_graph,
            {"assistant_id": "chat", "command": {"resume": ACCEPTED}},
            "accept",
        ),
    }


async def test_every_wire_format_answers_a_question_of_a_server(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with served(tmp_path, endpoint) as client:
        for name in answers("", ""):
            endpoint.script(call_reply(("a_book", '{"name": "Ann"}')), text_reply("."))
            thread, (question,) = await asked(client)
            address, body, action = answers(thread, question["id"])[name]
            misfit = json.loads(json.dumps(body).replace('"Rome"', "5"))
            if misfit != body:
                refused = await client.http.post(address, json=misfit)
                assert refused.json()["code"] == "invalid_resume", name
                assert "$.content.city: 5 is not of type string" in refused.json()["detail"]
            answer = await client.http.post(address, json=body)
            assert answer.status_code == 200, (name, answer.text)
            assert action in told(endpoint)[0], name
            assert "interrupts" not in await client.thread(thread)


async def test_a_client_of_ag_ui_gets_the_words_of_a_question(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("a_book", '{"name": "Ann"}')))
    async with served(tmp_path, endpoint) as client:
        asking = await run(client, user("Go"))
    (interrupt,) = asking.interrupts
    assert interrupt["message"] == "Where does <b>Ann</b> go?"
    assert interrupt["toolCallId"] == interrupt["metadata"]["value"]["tool_call_id"]
    assert interrupt["responseSchema"]["properties"]["content"]["required"] == ["city", "nights"]
