"""Graphs that stop to ask, over HTTP: what a client sees, sends, and is refused."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import Client, Event, serving, settings, text_of

AGENT = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


class State(MessagesState):
    questions: int


def first(state):
    return {"messages": [AIMessage(f"Colour {interrupt({'question': 'Which colour?'})}.")]}


def second(state):
    return {"messages": [AIMessage(f"Size {interrupt('Which size?')}.")]}


def wanted(state):
    asks_both = "both" in state["messages"][-1].content
    return ["first", "second"] if asks_both else ["first"]


asking = StateGraph(State)
asking.add_node("first", first)
asking.add_node("second", second)
asking.add_conditional_edges(START, wanted, ["first", "second"])

stopping = StateGraph(State)
stopping.add_node("draft", lambda state: {"messages": [AIMessage("A draft.")]})
stopping.add_node("send", lambda state: {"messages": [AIMessage("Sent.")]})
stopping.add_edge(START, "draft")
stopping.add_edge("draft", "send")
after = stopping.compile(interrupt_after=["draft"])
"""


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with served(tmp_path, "asking") as client:
        yield client


def served(folder: Path, name: str) -> Any:
    file = folder / "asking_agent.py"
    file.write_text(AGENT)
    return serving(settings(folder / "t.db", graph=f"{file}:{name}"))


def reason(events: list[Event]) -> str:
    return str(next(e.data["finishReason"] for e in events if e.type == "message-finish"))


def named(events: list[Event], name: str) -> list[dict[str, Any]]:
    """The data of the data chunks of a name."""
    items = [item for event in events if event.type == "data" for item in event.data["data"]]
    return [item["data"] for item in items if item["name"] == name]


async def asked(client: Client, text: str = "Hello") -> tuple[str, dict[str, str]]:
    """The thread's id, and the open interrupts: node to id."""
    thread_id, events = await client.turn({"message": text})
    assert reason(events) == "tool-calls"
    return thread_id, {one["node"]: one["id"] for one in named(events, "interrupt")}


async def refused(client: Client, thread_id: str, **body: Any) -> tuple[int, str]:
    answer = await client.http.post("/chat", json={"thread_id": thread_id, **body})
    return answer.status_code, answer.json()["code"]


async def state_of(client: Client, thread_id: str) -> Any:
    return (await client.http.get(f"/threads/{thread_id}")).json()


async def test_a_thread_that_waits_says_for_what_and_is_found_by_its_state(client: Client) -> None:
    thread_id, ids = await asked(client)
    thread = await state_of(client, thread_id)
    value = {"question": "Which colour?"}
    assert thread["interrupts"] == [{"id": ids["first"], "value": value, "node": "first"}]
    assert thread["run_state"] == "waiting"
    listed = (await client.http.get("/threads", params={"state": "waiting"})).json()["threads"]
    assert [entry["id"] for entry in listed] == [thread_id]
    await client.turn({"thread_id": thread_id, "resume": "red"})
    assert (await client.http.get("/threads", params={"state": "waiting"})).json()["threads"] == []
    assert "interrupts" not in await state_of(client, thread_id)


async def test_a_state_that_there_is_not_is_refused_with_those_there_are(client: Client) -> None:
    answer = await client.http.get("/threads", params={"state": "asleep"})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_state")
    assert "waiting" in answer.json()["detail"]


@pytest.mark.parametrize("by_id", [True, False])
async def test_an_answer_by_id_or_alone_goes_on_with_the_graph(client: Client, by_id: bool) -> None:
    thread_id, ids = await asked(client)
    resume = {ids["first"]: "red"} if by_id else "red"
    _, events = await client.turn({"thread_id": thread_id, "resume": resume})
    assert text_of(events) == "Colour red."
    assert reason(events) == "stop"
    assert (await state_of(client, thread_id))["run_state"] == "finished"


async def test_one_of_several_is_answered_and_the_others_stay_open(client: Client) -> None:
    thread_id, ids = await asked(client, "both")
    assert await refused(client, thread_id, resume="red") == (422, "invalid_resume")
    _, events = await client.turn({"thread_id": thread_id, "resume": {ids["second"]: "big"}})
    assert [one["id"] for one in named(events, "interrupt")] == [ids["first"]]
    _, events = await client.turn({"thread_id": thread_id, "resume": "red"})
    assert reason(events) == "stop"
    (_, answer) = (await state_of(client, thread_id))["messages"]
    assert [part["text"] for part in answer["parts"]] == ["Colour red.", "Size big."]


async def test_an_answer_that_nobody_asked_for_is_refused(client: Client) -> None:
    thread_id, ids = await asked(client)
    unknown = "0" * 32
    assert await refused(client, thread_id, resume={unknown: 1}) == (409, "unknown_interrupt")
    await client.turn({"thread_id": thread_id, "resume": "red"})
    again = await refused(client, thread_id, resume={ids["first"]: "blue"})
    assert again == (409, "unknown_interrupt")


@pytest.mark.parametrize(
    "body",
    [
        {"continue": True},
        {"tool_results": [{"tool_call_id": "c1", "result": 1}]},
        {"message": "Hi", "on_interrupt": "reject"},
        {"regenerate": True, "on_interrupt": "reject"},
    ],
)
async def test_nothing_goes_past_an_interrupt_that_is_not_to(
    client: Client, body: dict[str, Any]
) -> None:
    thread_id, ids = await asked(client)
    answer = await client.http.post("/chat", json={"thread_id": thread_id, **body})
    assert (answer.status_code, answer.json()["code"]) == (409, "interrupt_pending")
    assert ids["first"] in answer.json()["detail"]
    assert (await state_of(client, thread_id))["interrupts"][0]["id"] == ids["first"]


async def test_a_new_message_discards_what_was_asked_and_says_so(client: Client) -> None:
    thread_id, ids = await asked(client)
    _, events = await client.turn({"thread_id": thread_id, "message": "Ask again."})
    assert named(events, "interrupts-discarded") == [{"ids": [ids["first"]]}]
    (again,) = named(events, "interrupt")
    assert again["id"] != ids["first"]
    _, events = await client.turn({"thread_id": thread_id, "resume": "green"})
    assert text_of(events) == "Colour green."


@pytest.mark.parametrize(
    "body",
    [
        {"resume": "red", "message": "Hi"},
        {"resume": "red", "continue": True},
        {"resume": "red", "commands": [{"type": "add-tool-result", "toolCallId": "c"}]},
    ],
)
async def test_a_resume_goes_alone(client: Client, body: dict[str, Any]) -> None:
    thread_id, _ = await asked(client)
    assert await refused(client, thread_id, **body) == (422, "conflicting_actions")


async def test_an_answer_that_a_thread_cannot_hold_as_it_is_does_not_fail_the_run(
    client: Client,
) -> None:
    thread_id, _ = await asked(client)
    _, events = await client.turn({"thread_id": thread_id, "resume": -(10**25)})
    assert reason(events) == "stop"


async def test_an_answer_that_is_nested_too_deep_is_refused(client: Client) -> None:
    thread_id, _ = await asked(client)
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    assert await refused(client, thread_id, resume=deep) == (422, "invalid_json_value")


async def test_what_a_message_does_to_an_interrupt_is_one_of_two_words(client: Client) -> None:
    thread_id, _ = await asked(client)
    answered = await refused(client, thread_id, message="Hi", on_interrupt="wait")
    assert answered == (422, "invalid_on_interrupt")


async def test_use_chat_resumes_with_its_history_along(client: Client) -> None:
    """It posts all messages each time; with a resume none of them is new."""
    thread_id, ids = await asked(client)
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}
    body = {
        "id": thread_id,
        "messages": [message],
        "trigger": "submit-message",
        "resume": {ids["first"]: "red"},
    }
    await client.turn(body)
    (_, answer) = (await state_of(client, thread_id))["messages"]
    assert [part["text"] for part in answer["parts"]] == ["Colour red."]


async def test_an_agent_of_an_older_copilotkit_resumes_by_its_command(client: Client) -> None:
    thread_id, _ = await asked(client)
    body = {
        "threadId": thread_id,
        "messages": [{"id": "u9", "role": "user", "content": "Hi"}],
        "forwardedProps": {"command": {"resume": "red", "interruptEvent": "?"}},
    }
    answer = await client.http.post("/ag-ui", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-turnstream-ignored"] == "forwardedProps.command.interruptEvent"
    (_, told) = (await state_of(client, thread_id))["messages"]
    assert [part["text"] for part in told["parts"]] == ["Colour red."]


async def test_assistant_ui_resumes_without_commands(client: Client) -> None:
    thread_id, _ = await asked(client)
    state = {"thread_id": thread_id, "messages": []}
    body = {"commands": [], "state": state, "threadId": thread_id, "resume": "red"}
    _, events = await client.turn(body)
    updates = [event for event in events if event.type == "update-state"]
    assert updates


async def test_a_breakpoint_has_an_id_and_no_value_and_takes_any_answer(tmp_path: Path) -> None:
    async with served(tmp_path, "after") as client:
        thread_id, events = await client.turn({"message": "Hello"})
        (stop,) = named(events, "interrupt")
        assert stop.keys() == {"id", "node"}
        assert stop["id"].startswith("send@")
        assert (await state_of(client, thread_id))["interrupts"] == [stop]
        assert await refused(client, thread_id, **{"continue": True}) == (409, "interrupt_pending")
        _, events = await client.turn({"thread_id": thread_id, "resume": {stop["id"]: "go"}})
        assert text_of(events) == "Sent."


async def test_what_a_graph_asks_is_discarded_when_its_version_is_left(client: Client) -> None:
    thread_id, ids = await asked(client)
    asks = (await client.thread(thread_id))["messages"][0]["id"]
    edit = {"message_id": asks, "message": "Hello again"}
    await client.turn({"thread_id": thread_id, "edit": edit})
    thread = await client.thread(thread_id)
    assert thread["run_state"] == "waiting"
    [first, second] = thread["messages"][0]["versions"]
    assert thread["messages"][0]["version"] == second

    left = await client.thread(thread_id, version=first)
    assert "interrupts" not in left
    answer = {"resume": {ids["first"]: "red"}, "version": first}
    assert await refused(client, thread_id, **answer) == (409, "unknown_interrupt")
    stays = {"message": "Hi", "version": first, "on_interrupt": "reject"}
    assert await refused(client, thread_id, **stays) == (409, "interrupt_pending")
    _, events = await client.turn({"thread_id": thread_id, "message": "Hi", "version": first})
    assert reason(events) == "tool-calls"
