"""AG-UI over HTTP: its addresses, what is refused there, and what its streams look like."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.ag_ui_reader import AgUiReader
from tests.support.counting_tools import CountingTools
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.protocol_readers import payloads
from tests.support.run_chunks import QUESTION, SELECTION
from tests.support.serving import Client, endpoint_settings, serving, settings
from tests.support.sse_frames import event_id, frames, without_pings

Json = dict[str, Any]
ECHO = ("echo", '{"word": "tea"}')


@pytest.fixture
async def client(tmp_path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    catalogue = CountingTools().catalogue
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint), catalogue) as client:
        yield client


def user(text: str, id: str = "u1") -> Json:
    return {"id": id, "role": "user", "content": text}


def body(*messages: Json, **fields: Any) -> Json:
    return {"threadId": "t1", "runId": "r", "messages": list(messages), "tools": [], **fields}


async def run(client: Client, *messages: Json, **fields: Any) -> AgUiReader:
    """A run, as a client reads it that holds these messages."""
    answer = await client.http.post("/ag-ui", json=body(*messages, **fields))
    assert answer.status_code == 200, answer.text
    return AgUiReader(messages).read(payloads(without_pings(answer.content)))


async def refused(client: Client, path: str = "/ag-ui", **posted: Any) -> tuple[int, str]:
    answer = await client.http.post(path, **posted)
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


async def test_a_run_is_bare_json_and_its_last_event_ends_it(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello."))
    answer = await client.http.post("/ag-ui", json=body(user("Hi")))
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-thread-id"] == "t1"
    stream = without_pings(answer.content)
    assert b"\r" not in stream
    assert b"event:" not in stream
    assert b"[DONE]" not in stream
    *_, last = stream.decode().strip().split("\n\n")
    id, _, data = last.partition("\n")
    assert json.loads(data.removeprefix("data: "))["type"] == "RUN_FINISHED"
    cursor = {"Last-Event-ID": id.removeprefix("id: ")}
    assert (await client.http.get("/chat/t1/stream", headers=cursor)).status_code == 204


async def test_what_is_no_run_is_a_problem_before_the_stream(client: Client) -> None:
    assert await refused(client, json=body()) == (409, "nothing_to_do")
    assert await refused(client, json={}) == (422, "invalid_body")
    assert await refused(client, content=b"{}") == (415, "not_json")
    kind = {"content-type": "application/json"}
    assert await refused(client, content=b"{", headers=kind) == (400, "malformed_json")
    assert await refused(client, "/ag-ui/nobody", json=body(user("Hi"))) == (422, "unknown_graph")
    answer = await client.http.get("/ag-ui")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    unknown = {"interruptId": "0" * 32, "status": "resolved", "payload": 1}
    known = body(user("Hi"), resume=[unknown])
    assert await refused(client, json=known) == (409, "unknown_interrupt")
    assert (await client.http.get("/threads")).json()["threads"] == []


async def test_its_body_is_not_taken_at_the_address_of_others(client: Client) -> None:
    assert await refused(client, "/chat", json=body(user("Hi"))) == (422, "unknown_key")


async def test_the_servers_results_among_the_answers_are_copies(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(ECHO, (SELECTION, QUESTION), ids=("c1", "c2")), text_reply("So."))
    first = await run(client, user("Go"))
    poisoned = [{**m, "content": '"poison"'} if m["role"] == "tool" else m for m in first.messages]
    answer = {"id": "mine", "role": "tool", "toolCallId": "c2", "content": '{"value":"red"}'}
    second = await run(client, *poisoned, answer)
    assert second.messages == (await client.thread("t1", protocol="ag-ui"))["messages"]
    assert "poison" not in json.dumps(endpoint.requests[1])


async def test_a_result_may_be_too_long_for_a_request_unless_it_is_the_clients_answer(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(ECHO, ids=("c1",)), text_reply("Tea."))
    first = await run(client, user("Go"))
    held = [{**m, "content": "x" * 40_000} if m["role"] == "tool" else m for m in first.messages]
    endpoint.script(call_reply((SELECTION, QUESTION), ids=("c2",)))
    second = await run(client, *held[:3], user("On", "u2"))
    answer = {"id": "mine", "role": "tool", "toolCallId": "c2", "content": "x" * 40_000}
    posted = body(*second.messages, answer)
    assert await refused(client, json=posted) == (422, "value_too_long")


async def test_no_result_of_the_servers_own_calls_is_taken_from_a_client(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(ECHO, ids=("c1",)), text_reply("Tea."))
    first = await run(client, user("Go"))
    forged = {"id": "mine", "role": "tool", "toolCallId": "c1", "content": '"poison"'}
    call = next(message for message in first.messages if "toolCalls" in message)
    before = await client.thread("t1")
    posted = body(user("Go"), call, forged)
    assert await refused(client, json=posted) == (409, "nothing_to_do")
    assert await client.thread("t1") == before


async def test_a_message_that_comes_again_and_is_answered_already_is_asked_anew(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."), text_reply("Three."))
    await run(client, user("Go"))
    again = await run(client, user("Go"))
    assert [m["content"] for m in again.messages] == ["Go", "Two."]
    edited = await run(client, user("Go on"))
    assert [m["content"] for m in edited.messages] == ["Go on", "Three."]
    assert edited.messages[0]["id"] == "u1"


async def test_a_live_thread_takes_no_second_run(client: Client, endpoint: StrictEndpoint) -> None:
    endpoint.script(call_reply(("hold", '{"word": "tea"}'), ids=("c1",)))
    async with client.stream("POST", "/ag-ui", json=body(user("Go"))) as stream:
        await stream.until("TOOL_CALL_END")
        posted = body(user("Go on", "u2"))
        assert await refused(client, json=posted) == (409, "run_in_progress")
        await client.http.post("/chat/t1/stop")
        ended = await stream.rest()
    assert ended[-1].data["result"] == {"finishReason": "other", "ended": {"reason": "stopped"}}


@pytest.mark.parametrize("protocol", ["ag-ui", "ag-ui-1.0"])
async def test_a_reader_that_lost_its_place_is_told_so_in_one_event(
    client: Client, endpoint: StrictEndpoint, protocol: str
) -> None:
    endpoint.script(text_reply("Hello."))
    await run(client, user("Hi"))
    headers, query = {"Last-Event-ID": "gone:7"}, {"protocol": protocol}
    answer = await client.http.get("/chat/t1/stream", params=query, headers=headers)
    (frame,) = frames(without_pings(answer.content))
    reader = AgUiReader().read(payloads(without_id(frame)))
    assert reader.error is not None
    assert reader.error["code"] == "cursor_lost"
    headers = {"Last-Event-ID": event_id(frame) or ""}
    assert (await client.http.get("/chat/t1/stream", headers=headers)).status_code == 204


def without_id(frame: bytes) -> bytes:
    return frame[frame.index(b"data: ") :]


async def test_any_body_may_be_answered_in_it(client: Client, endpoint: StrictEndpoint) -> None:
    endpoint.script(text_reply("Hello."))
    posted = {"thread_id": "t1", "message": {"id": "u1", "parts": [{"type": "text", "text": "Hi"}]}}
    answer = await client.http.post("/chat", json=posted, params={"protocol": "ag-ui"})
    reader = AgUiReader().read(payloads(without_pings(answer.content)))
    assert [message["content"] for message in reader.messages] == ["Hi", "Hello."]
    idle: Json = {"commands": [], "state": None, "threadId": "t1"}
    answer = await client.http.post("/chat", json=idle, params={"protocol": "ag-ui"})
    said = [json.loads(p)["type"] for p in payloads(without_pings(answer.content))]
    assert said == ["RUN_STARTED", "RUN_FINISHED"]


async def test_the_threads_of_another_format_are_shown_in_it(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(ECHO, ids=("c1",)), text_reply("Tea."))
    await client.turn({"thread_id": "t1", "message": "Go"})
    messages = (await client.thread("t1", protocol="ag-ui"))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    export = await client.http.get("/export", params={"protocol": "ag-ui"})
    assert json.loads(export.text.splitlines()[0])["messages"] == messages


BOTH = """
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


def call(state):
    calls = [{"id": "c1", "name": "send", "args": {}}]
    return {"messages": [AIMessage("Well.", id="called", tool_calls=calls)]}


def review(state):
    asked = {"type": "tool_approval", "tool_call_id": "c1", "name": "send", "args": {}}
    decision = interrupt(asked)["type"]
    return {"messages": [ToolMessage(decision, tool_call_id="c1", id="sent")]}


def ask(state):
    return {"messages": [AIMessage(f"Size {interrupt('Which size?')}.", id="size")]}


builder = StateGraph(MessagesState)
for node in (call, review, ask):
    builder.add_node(node.__name__, node)
builder.add_edge(START, "call")
builder.add_edge("call", "review")
builder.add_edge("call", "ask")
graph = builder.compile()
"""


async def test_a_call_and_a_question_that_wait_together_are_answered_together(
    tmp_path: Path,
) -> None:
    file = tmp_path / "both_ask.py"
    file.write_text(BOTH)
    served = settings(tmp_path / "t.db", graph=f"{file}:graph", undeclared_results="show")
    async with serving(served) as client:
        first = await run(client, user("Hi"))
        payloads = {"tool_call": {"approved": True}, "input_required": "small"}
        answers = [
            {"interruptId": one["id"], "status": "resolved", "payload": payloads[one["reason"]]}
            for one in first.interrupts
        ]
        assert len(answers) == 2
        second = await run(client, *first.messages, resume=answers)
        assert second.interrupts == []
        said = {message["role"]: message["content"] for message in second.messages}
        assert said == {"user": "Hi", "tool": "approve", "assistant": "Size small."}
