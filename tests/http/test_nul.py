"""NUL, which Postgres keeps in no text, in all that callers and models say: it is taken, or refused
with a reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.http.gated import ASK, THREAD, alone
from tests.support.endpoint import call_reply, text_reply
from tests.support.run_chunks import tool_call_message
from tests.support.scripted_server import scripted_server
from tests.support.serving import Client, serving, settings, text_of

pytestmark = pytest.mark.two_workers

Json = dict[str, Any]
AGENT = """
from typing import TypedDict

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


class Context(TypedDict, total=False):
    language: str


class State(MessagesState):
    topic: str


def speak(state, runtime):
    answer = interrupt({"ask": "a\\0b"})
    said = runtime.context["language"] + answer + str("topic" in state)
    called = {"id": "c\\0", "name": "n\\0", "args": {"\\0": "\\0"}}
    return {"messages": [AIMessage(said, tool_calls=[called])]}


graph = StateGraph(State, context_schema=Context)
graph.add_node("speak", speak)
graph.add_edge(START, "speak")
"""
SCHEMA = {"type": "object", "properties": {"of": {"type": "string"}}}
PAY = ("c\0", "pay", '{"word": "re\\u0000nt"}')
TOOL = {"name": "pick_colour", "description": "The user\0picks.", "parameters": SCHEMA}


def texts(thread: Json) -> list[str]:
    return [part["text"] for part in parts(thread, "text")]


def calls(thread: Json) -> list[Json]:
    return parts(thread, "tool-call")


def parts(thread: Json, kind: str) -> list[Json]:
    every = [part for message in thread["messages"] for part in message["parts"]]
    return [part for part in every if part["type"] == kind]


async def test_words_with_nul_are_kept_shown_and_found(tmp_path: Path) -> None:
    replies = text_reply("An\0swer\0 one."), text_reply("Two.")
    async with scripted_server(tmp_path, *replies) as server:
        client = server.http
        _, events = await client.turn({"thread_id": "a", "message": "Tell\0 me\0"})
        assert text_of(events) == "An\0swer\0 one."
        thread = await client.thread("a")
        assert texts(thread) == ["Tell\0 me\0", "An\0swer\0 one."]
        assert thread["title"] == "Tell me"
        await client.turn({"thread_id": "a", "message": "And?"})
        assert texts(await client.thread("a"))[:2] == texts(thread)
        found = await client.http.get("/threads", params={"q": "answer"})
        assert [one["id"] for one in found.json()["threads"]] == ["a"]
        exported = json.loads((await client.http.get("/export")).text)
        assert texts(exported)[:2] == texts(thread)


async def test_a_call_and_its_answer_keep_nul(tmp_path: Path) -> None:
    call = call_reply(("pick_colour", '{"of":"t\\u0000ea"}'), ids=("call_1",))
    async with scripted_server(tmp_path, call, text_reply("Green.")) as server:
        client = server.http
        await client.turn({"thread_id": "a", "message": "Paint", "client_tools": [TOOL]})
        results = [{"tool_call_id": "call_1", "result": {"gr\0een": ["\0"]}}]
        await client.turn({"thread_id": "a", "tool_results": results})
        [part] = calls(await client.thread("a"))
        assert (part["args"], part["result"]) == ({"of": "t\0ea"}, {"gr\0een": ["\0"]})


async def test_a_decision_keeps_nul(tmp_path: Path) -> None:
    async with alone(tmp_path, tool_call_message(PAY)) as (served, ann):
        await ann.client.turn(ASK)
        [waiting] = (await ann.client.thread(THREAD))["approvals"]
        assert waiting["args"] == {"word": "re\0nt"}
        id = waiting["tool_call_id"]
        [listed] = (await ann.client.http.get("/approvals")).json()["approvals"]
        assert listed["args"] == {"word": "re\0nt"}
        decision = {"tool_call_id": id, "approved": True, "reason": "D\0ue."}
        given = {**decision, "args": {"word": "\0"}}
        await ann.client.turn({"thread_id": THREAD, "approvals": [given]})
        assert served.ledger == ["\0"]
        part = await ann.call(call_id=id)
        assert part["approval"]["reason"] == "D\0ue."


async def test_a_graphs_values_and_words_with_nul_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "agent_of_nul.py"
    file.write_text(AGENT)
    names = ("language", "topic", "tone")
    given = settings(tmp_path / "t.db", graph=f"{file}:graph", client_context=names)
    async with serving(given) as client:
        values = {"context": {"language": "a\0"}, "configurable": {"tone": "\0"}}
        body = {"thread_id": "a", "message": "Hi", "input": {"topic": "t\0"}, **values}
        await client.turn(body)
        [asked] = (await client.thread("a"))["interrupts"]
        assert asked["value"] == {"ask": "a\0b"}
        answer = {"thread_id": "a", "resume": {asked["id"]: "\0"}, "context": values["context"]}
        await client.turn(answer)
        thread = await client.thread("a")
        assert texts(thread)[-1] == "a\0\0True"
        [call] = calls(thread)
        assert (call["toolCallId"], call["toolName"]) == ("c\0", "n\0")


BODIES: list[tuple[int, Json]] = [
    (422, {"message": "Hi", "thread_id": "\0"}),
    (422, {"message": {"parts": [{"type": "text", "text": "Hi"}], "id": "\0"}}),
    (422, {"message": {"parts": [{"type": "image", "image": "http://\0"}]}}),
    (422, {"message": "Hi", "graph": "\0"}),
    (422, {"message": "Hi", "model": "\0"}),
    (422, {"message": "Hi", "allowed_tools": ["\0"]}),
    (409, {"message": "Hi", "based_on": "\0"}),
    (404, {"message": "Hi", "version": "\0"}),
    (422, {"message": "Hi", "context": {"\0": "\0"}}),
    (422, {"regenerate": "\0"}),
    (422, {"edit": {"message_id": "\0", "message": "Hi"}}),
    (409, {"tool_results": [{"tool_call_id": "\0", "result": None}]}),
    (409, {"approvals": [{"tool_call_id": "\0", "approved": True, "approval_id": "\0"}]}),
    (409, {"resume": {"\0": "\0"}}),
    (422, {"message": "Hi", "client_tools": [{**TOOL, "name": "\0"}]}),
    (200, {"message": "\0"}),
    (200, {"message": {"parts": [{"type": "text", "text": "\0"}]}}),
]
REQUESTS: list[tuple[int, str, str, Json | None]] = [
    (404, "GET", "/threads/a%00", None),
    (404, "PATCH", "/threads/a%00", {"title": "New"}),
    (404, "POST", "/chat/a%00/stop", None),
    (204, "GET", "/chat/a%00/stream", None),
    (204, "DELETE", "/threads/a%00", None),
    (422, "PATCH", "/threads/a", {"title": "\0"}),
    (422, "PATCH", "/threads/a", {"allowed_tools": ["\0"]}),
    (200, "GET", "/threads?q=hello%00", None),
    (422, "GET", "/threads?q=%00", None),
    (422, "GET", "/threads?cursor=%00", None),
    (422, "GET", "/threads?state=%00", None),
    (404, "POST", "/approvals/%00", {"approved": True}),
    (422, "DELETE", "/me", {"confirm": "\0"}),
    (404, "GET", "/langgraph/threads/a%00", None),
    (200, "GET", "/langgraph/threads/a%00/state", None),
    (409, "GET", "/langgraph/threads/a/state/%00", None),
    (409, "POST", "/langgraph/threads/a/history", {"before": "\0"}),
    (422, "POST", "/langgraph/threads", {"thread_id": "\0"}),
    (200, "POST", "/langgraph/threads", {"metadata": {"\0": "\0"}}),
    (200, "POST", "/langgraph/threads/search", {"metadata": {"tag": "\0"}, "status": "\0"}),
    (404, "GET", "/langgraph/assistants/%00", None),
]


async def test_no_request_with_nul_is_a_fault_of_the_server(client: Client) -> None:
    await client.turn({"thread_id": "a", "message": "Hello"})
    answers = [
        (status, await client.http.request(method, address, json=body))
        for status, method, address, body in [
            *REQUESTS,
            *((status, "POST", "/chat", {"thread_id": "a", **body}) for status, body in BODIES),
        ]
    ]
    for status, answer in answers:
        asked = answer.request
        assert answer.status_code == status, (asked.url, asked.content, answer.text)
