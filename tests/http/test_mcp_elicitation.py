"""Questions that MCP servers ask in the middle of a call, in served turns."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.http.test_chat_turns import said
from tests.http.test_interrupts import named
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.serving import (
    PROJECT,
    Client,
    Event,
    endpoint_settings,
    serving,
    settings,
)
from tests.support.waiting import until
from tests.tools.test_mcp import by_address, file_of

TRIP = {"city": "Rome", "nights": 2}
ACCEPTED = {"action": "accept", "content": TRIP}


@asynccontextmanager
async def served(
    folder: Path, endpoint: StrictEndpoint, protocol: str = "2025", **options: Any
) -> AsyncIterator[Client]:
    asking = {
        "command": sys.executable,
        "args": ["-m", "tests.support.asking_server"],
        "cwd": str(PROJECT),
        "env": {"ASKING": protocol, "ASKING_LOG": str(folder / "log")},
        "turnstream": {"tools": {"*": {"client_fields": ["*"]}}, **options},
    }
    file = file_of(folder, a=asking)
    async with serving(endpoint_settings(folder / "t.db", endpoint, mcp=file)) as client:
        yield client


def log(folder: Path) -> list[str]:
    path = folder / "log"
    return path.read_text().splitlines() if path.exists() else []


def interrupts(events: list[Event]) -> list[dict[str, Any]]:
    return named(events, "interrupt")


async def asked(client: Client, text: str = "Go") -> tuple[str, list[dict[str, Any]]]:
    thread, events = await client.turn({"message": text})
    return thread, interrupts(events)


async def answered(client: Client, thread: str, **answers: Any) -> list[dict[str, Any]]:
    """What is asked next."""
    _, events = await client.turn({"thread_id": thread, "resume": answers})
    return interrupts(events)


def told(endpoint: StrictEndpoint) -> list[str]:
    """The results of the last turn's calls, as the model gets them."""
    messages = endpoint.requests[-1]["messages"]
    newest = max(i for i, message in enumerate(messages) if message["role"] == "user")
    return [m["content"] for m in messages[newest:] if m["role"] == "tool"]


@pytest.mark.parametrize("protocol", ["2025", pytest.param("2026", marks=pytest.mark.full)])
async def test_a_question_ends_the_run_and_its_answer_goes_on_with_the_same_call(
    protocol: str, tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    tool = "reserve" if protocol == "2026" else "book"
    calls = (f"a_{tool}", '{"name": "Ann"}'), ("a_plain", '{"word": "x"}')
    endpoint.script(call_reply(*calls), text_reply("Booked."))
    async with served(tmp_path, endpoint, protocol) as client:
        thread, (question,) = await asked(client)
        assert question["value"]["message"].startswith("Where does ")
        assert question["value"]["requested_schema"]["required"] == ["city", "nights"]
        for wrong, why in (
            ("Rome", "is not of type object"),
            ({"action": "accept"}, "lacks the required property 'content'"),
            ({"action": "accept", "content": {**TRIP, "nights": "2"}}, "$.content.nights: '2'"),
            ({"action": "accept", "content": {**TRIP, "more": 1}}, "$.content.more"),
        ):
            body = {"thread_id": thread, "resume": {question["id"]: wrong}}
            refused = await client.http.post("/chat", json=body)
            assert (refused.status_code, refused.json()["code"]) == (422, "invalid_resume")
            assert why in refused.json()["detail"]
            assert '{"action": "decline"}' in refused.json()["detail"]
        assert (await client.thread(thread))["interrupts"] == [question]
        assert await answered(client, thread, **{question["id"]: ACCEPTED}) == []
    assert "Rome" in told(endpoint)[0]
    assert [line.split()[0] for line in log(tmp_path)].count("plain") == 1
    if protocol == "2025":
        assert log(tmp_path).count("book Ann") == 1
    else:  # It has two rounds, and no more.
        assert log(tmp_path).count("round Ann") == 2


async def test_each_question_of_calls_and_of_a_call_gets_its_own_answer(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    yes, no = ({"action": "accept", "content": {"sure": sure}} for sure in (True, False))
    async with served(tmp_path, endpoint) as client:
        endpoint.script(call_reply(("a_twice", "{}")), text_reply("."))
        thread, (first,) = await asked(client)
        (second,) = await answered(client, thread, **{first["id"]: yes})
        assert second["value"]["message"] == "Second?"
        assert await answered(client, thread, **{second["id"]: {"action": "decline"}}) == []
        assert 'accept {\\"sure\\":true}, decline' in told(endpoint)[0]

        endpoint.script(call_reply(("a_both", "{}")), text_reply("."))
        thread, (first,) = await asked(client)
        _, events = await client.turn({"thread_id": thread, "resume": yes})
        (second,) = interrupts(events)
        assert {first["value"]["message"], second["value"]["message"]} == {"Left?", "Right?"}
        await client.turn({"thread_id": thread, "resume": no})
        assert told(endpoint)[0].count("accept") == 2

        endpoint.script(call_reply(("a_impatient", "{}")), text_reply("."))
        thread, (first,) = await asked(client)
        await until(lambda: "withdrew" in log(tmp_path))
        (third,) = await answered(client, thread, **{first["id"]: yes})
        assert third["value"]["message"] == "Third?"
        assert await answered(client, thread, **{third["id"]: no}) == []
        assert told(endpoint)[0].count("accept") == 2

        names = "Ann", "Bob"
        calls = (("a_book", json.dumps({"name": name})) for name in names)
        endpoint.script(call_reply(*calls), text_reply("."))
        thread, both = await asked(client)
        of = {name: next(q["id"] for q in both if name in q["value"]["message"]) for name in names}
        (left,) = await answered(client, thread, **{of["Bob"]: {"action": "cancel"}})
        assert left["id"] == of["Ann"]
        assert await answered(client, thread, **{of["Ann"]: ACCEPTED}) == []
        ann, bob = told(endpoint)
        assert "Rome" in ann
        assert "cancel" in bob
        assert log(tmp_path).count("book Ann") == log(tmp_path).count("book Bob") == 1

        endpoint.script(call_reply(("a_many", "{}")), text_reply("."))
        thread, questions = await asked(client)
        for _ in range(9):
            questions = await answered(client, thread, **{questions[0]["id"]: yes})
        assert await answered(client, thread, **{questions[0]["id"]: yes}) == []
        assert told(endpoint)[0].count("cancel") == 2


async def test_whoever_leaves_a_question_open_cancels_it_at_the_server(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with served(tmp_path, endpoint) as client:

        async def written(thread: str) -> None:
            endpoint.script(text_reply("Well."))
            _, events = await client.turn({"thread_id": thread, "message": "Never mind."})
            assert said(events) == "Well."

        async def stopped(thread: str) -> None:
            await client.http.post(f"/chat/{thread}/stop", json={})

        async def deleted(thread: str) -> None:
            await client.http.delete(f"/threads/{thread}")

        def is_left() -> bool:
            return not {"cancel", f"gone {name}"}.isdisjoint(log(tmp_path))

        for leave in (written, stopped, deleted):
            name = leave.__name__
            endpoint.script(call_reply(("a_book", json.dumps({"name": name}))))
            thread, _ = await asked(client)
            await leave(thread)
            await until(is_left)
            (tmp_path / "log").unlink()


@pytest.mark.parametrize("way", ["restart", "expiry"])
async def test_an_answer_that_comes_too_late_is_an_error_of_the_call_which_is_not_made_again(
    way: str, tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    seconds = 600 if way == "restart" else 0.01
    endpoint.script(call_reply(("a_book", '{"name": "Ann"}')), text_reply("Sorry."))
    async with served(tmp_path, endpoint, elicitation_seconds=seconds) as client:
        thread, (question,) = await asked(client)
        await until(lambda: way == "restart" or len(log(tmp_path)) > 1)
        if way == "expiry":
            assert await answered(client, thread, **{question["id"]: ACCEPTED}) == []
    if way == "restart":
        async with served(tmp_path, endpoint) as client:
            assert await answered(client, thread, **{question["id"]: ACCEPTED}) == []
    assert "the call may have run in part" in told(endpoint)[0]
    assert log(tmp_path).count("book Ann") == 1


async def test_a_server_that_asks_where_nobody_can_answer_is_declined_at_once(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with served(tmp_path, endpoint) as client:
        answer = await client.http.post("/tools/a_book", json={"name": "Ann"})
        assert answer.json()["result"] == {"result": "decline"}
        url = "https://pay.example.org/x?y=1"
        endpoint.script(call_reply(("a_pay", json.dumps({"url": url}))), text_reply("Paid."))
        thread, (question,) = await asked(client)
        assert question["value"]["url"] == url
        assert await answered(client, thread, **{question["id"]: {"action": "accept"}}) == []
        assert "accept" in told(endpoint)[0]
        endpoint.script(call_reply(("a_gated", json.dumps({"url": url}))), text_reply("In."))
        thread, (question,) = await asked(client)
        assert question["value"]["message"] == "Log in."
        assert await answered(client, thread, **{question["id"]: {"action": "accept"}}) == []
        assert "let in" in told(endpoint)[0]
        for bad in ("javascript:alert(1)", "https://good.example@bad.example/", "http://a b/"):
            endpoint.script(call_reply(("a_pay", json.dumps({"url": bad}))), text_reply("No."))
            assert (await asked(client))[1] == []
            assert "decline" in told(endpoint)[0]


async def test_a_server_that_may_not_ask_is_not_offered_it(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with served(tmp_path, endpoint, elicitation_seconds=0, error_texts=True) as client:
        answer = await client.http.post("/tools/a_book", json={"name": "Ann"})
        assert "not supported" in answer.json()["detail"]


async def test_a_call_that_a_person_has_approved_asks_and_goes_on_with_its_approval(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    tools = {"book": {"approval": True, "client_fields": ["*"]}}
    endpoint.script(call_reply(("a_book", '{"name": "Ann"}'), ids=("c1",)), text_reply("Booked."))
    async with served(tmp_path, endpoint, tools=tools) as client:
        thread, _ = await asked(client)
        approvals = [{"tool_call_id": "c1", "approved": True}]
        _, events = await client.turn({"thread_id": thread, "approvals": approvals})
        (question,) = interrupts(events)
        before = await client.thread(thread)
        assert before["messages"][-1]["parts"][0]["approval"]["approved"] is True
        assert "approvals" not in before
        assert (await client.http.get("/approvals")).json()["approvals"] == []
        assert await answered(client, thread, **{question["id"]: ACCEPTED}) == []
    assert "Rome" in told(endpoint)[0]
    assert log(tmp_path).count("book Ann") == 1


OWN = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


def build(model, catalogue, *, checkpointer, limits, system_prompt):
    def agent(state):
        if len(state["messages"]) > 1:
            return {"messages": [AIMessage("; ".join(m.text for m in state["messages"][2:]))]}
        call = {"type": "tool_call", "name": "a_book"}
        calls = [{**call, "id": name, "args": {"name": name}} for name in ("Ann", "Bob")]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    def after(state):
        return "tools" if state["messages"][-1].tool_calls else "__end__"

    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode(catalogue.real))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", after)
    graph.add_edge("tools", "agent")
    return graph.compile(checkpointer=checkpointer)
"""


async def test_parallel_calls_of_a_graph_of_ones_own_ask_one_after_the_other_by_http(
    tmp_path: Path,
) -> None:
    (tmp_path / "own.py").write_text(OWN)
    async with by_address("tests.support.asking_server", ASKING_LOG=str(tmp_path / "log")) as url:
        file = file_of(tmp_path, a={"url": url})
        own = settings(tmp_path / "t.db", graph=f"{tmp_path / 'own.py'}:build", mcp=file)
        async with serving(own) as client:
            thread, (first,) = await asked(client)
            assert "Ann" in first["value"]["message"]
            (second,) = await answered(client, thread, **{first["id"]: ACCEPTED})
            assert "Bob" in second["value"]["message"]
            _, events = await client.turn({"thread_id": thread, "resume": {"action": "decline"}})
    ann, bob = said(events).split("; ")
    assert "Rome" in ann
    assert "decline" in bob
    assert log(tmp_path).count("book Ann") == log(tmp_path).count("book Bob") == 1
