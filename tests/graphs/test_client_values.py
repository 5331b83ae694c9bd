"""What a client may give a graph beside a message, and what it may not."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.serving import Client, serving, settings, text_of
from turnstream.graphs.faults import GraphError
from turnstream.server.settings import Settings

AGENT = """
from dataclasses import dataclass

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime


@dataclass
class Context:
    language: str = "English"
    secret: str = "none"

    def __post_init__(self):
        if self.language == "Klingon":
            raise ValueError("nobody speaks Klingon")


class State(MessagesState):
    topic: str
    owner: str


def speak(state, config: RunnableConfig, runtime: Runtime[Context]):
    tone = config["configurable"].get("tone", "plain")
    owner = state.get("owner", "nobody")
    words = [runtime.context.language, tone, state.get("topic", "anything"), owner]
    return {"messages": [AIMessage(", ".join(words))]}


builder = StateGraph(State, context_schema=Context)
builder.add_node("speak", speak)
builder.add_edge(START, "speak")
graph = builder.compile()
"""


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    file = tmp_path / "agent_of_values.py"
    file.write_text(AGENT)
    names = ("language", "tone", "topic")
    given = settings(tmp_path / "t.db", graph=f"{file}:graph", client_context=names)
    async with serving(given) as client:
        yield client


NATIVE = {"message": "Hello"}
AI_SDK = {
    "id": "t1",
    "trigger": "submit-message",
    "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}],
}
ASSISTANT_TRANSPORT = {
    "commands": [
        {
            "type": "add-message",
            "message": {"role": "user", "parts": [{"type": "text", "text": "Hello"}]},
        }
    ]
}


@pytest.mark.parametrize("body", [NATIVE, AI_SDK, ASSISTANT_TRANSPORT])
async def test_any_body_gives_context_configurable_values_and_input(
    body: dict[str, Any], client: Client
) -> None:
    values = {
        "context": {"language": "Dutch"},
        "configurable": {"tone": "kind"},
        "input": {"topic": "tides"},
    }
    thread_id, _ = await client.turn({**body, **values})
    last = (await client.thread(thread_id))["messages"][-1]
    assert last["parts"][-1]["text"] == "Dutch, kind, tides, nobody"


async def test_without_values_the_graphs_defaults_hold(client: Client) -> None:
    _, events = await client.turn(NATIVE)
    assert text_of(events) == "English, plain, anything, nobody"


async def test_context_is_the_runs_and_input_is_the_threads(client: Client) -> None:
    first = {"context": {"language": "Dutch"}, "input": {"topic": "tides"}}
    thread_id, _ = await client.turn({**NATIVE, **first})
    _, events = await client.turn({**NATIVE, "thread_id": thread_id})
    assert text_of(events) == "English, plain, tides, nobody"


@pytest.mark.parametrize(
    ("values", "code", "named"),
    [
        ({"context": {"secret": "x"}}, "value_not_allowed", "'secret'"),
        ({"context": {"topic": "x"}}, "value_not_allowed", "set language there"),
        ({"configurable": {"thread_id": "other"}}, "value_not_allowed", "'thread_id'"),
        ({"configurable": {"checkpoint_id": "x"}}, "value_not_allowed", "'checkpoint_id'"),
        ({"input": {"owner": "me"}}, "value_not_allowed", "'owner'"),
        ({"input": {"messages": []}}, "value_not_allowed", "'messages'"),
        ({"context": {"language": "Klingon"}}, "invalid_context", "context: 'language'."),
        ({"input": {"topic": {"__overwrite__": "x"}}}, "value_not_allowed", "overwrites"),
        (
            {"input": {"topic": {"type": "__overwrite__", "value": "x"}}},
            "value_not_allowed",
            "overwrites",
        ),
        ({"input": {"topic": json.loads("[" * 300 + "]" * 300)}}, "invalid_json_value", "input"),
        ({"context": []}, "invalid_body", "context"),
        ({"input": "x"}, "invalid_body", "input"),
        ({"configurable": {"tone": "x" * 40_000}}, "value_too_long", "configurable"),
    ],
)
async def test_what_a_client_may_not_give_is_refused_by_its_name(
    values: dict[str, Any], code: str, named: str, client: Client
) -> None:
    answer = await client.http.post("/chat", json={**NATIVE, **values})
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert named in answer.json()["detail"]
    assert (await client.http.get("/threads")).json()["threads"] == []


async def test_input_alone_runs_the_graph_without_a_message(client: Client) -> None:
    begun, events = await client.turn({"input": {"topic": "tides"}})
    assert text_of(events) == "English, plain, tides, nobody"
    body = {"assistant_id": "agent_of_values", "input": {"topic": "moons"}}
    answer = await client.http.post(f"/langgraph/threads/{begun}/runs/stream", json=body)
    assert answer.status_code == 200, answer.text
    _, events = await client.turn({**NATIVE, "thread_id": begun})
    said = [
        [part["text"] for part in message["parts"]]
        for message in (await client.thread(begun))["messages"]
    ]
    tides, moons = (f"English, plain, {topic}, nobody" for topic in ("tides", "moons"))
    assert said == [[tides, moons], ["Hello"], [moons]]


async def test_input_beside_an_answer_is_refused(client: Client) -> None:
    thread_id, _ = await client.turn(NATIVE)
    body = {"thread_id": thread_id, "continue": True, "input": {"topic": "x"}}
    answer = await client.http.post("/chat", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "value_not_allowed")


async def test_of_the_built_in_graph_a_client_may_set_nothing(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        for values in ({"context": {"run_id": "x"}}, {"configurable": {"x": 1}}):
            answer = await client.http.post("/chat", json={**NATIVE, **values})
            assert (answer.status_code, answer.json()["code"]) == (422, "value_not_allowed")


@pytest.mark.parametrize(
    "name", ["thread_id", "run_id", "checkpoint_ns", "langgraph_auth_user", "__x"]
)
def test_what_is_langgraphs_own_cannot_be_left_to_clients(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no client may set it"):
        settings(tmp_path / "t.db", client_context=(name,))


LISTED = """
from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass
class Context:
    price: Decimal | None = None


class State(TypedDict):
    messages: list


async def known():
    return 2


NUMBER = asyncio.run(known())


def speak(state):
    return {"messages": [*state["messages"], AIMessage(f"Told {NUMBER}.")]}


builder = StateGraph(State, context_schema=Context)
builder.add_node("speak", speak)
builder.add_edge(START, "speak")
graph = builder.compile()
"""


async def test_a_graph_without_a_reducer_and_with_names_for_type_checkers_is_served(
    tmp_path: Path,
) -> None:
    """The first answer is made anew: that empties the thread, whatever its state is."""
    file = tmp_path / "agent_of_lists.py"
    file.write_text(LISTED)
    async with serving(settings(tmp_path / "t.db", graph=f"{file}:graph")) as client:
        thread_id, _ = await client.turn(NATIVE)
        for body in ({"regenerate": True}, {"message": "Again"}):
            _, events = await client.turn({"thread_id": thread_id, **body})
            assert text_of(events) == "Told 2."
        assert (await client.thread(thread_id))["run_state"] == "finished"


async def test_a_required_field_that_clients_may_set_is_asked_of_them(tmp_path: Path) -> None:
    file = tmp_path / "agent_of_tenants.py"
    required = 'tenant: str\n    language: str = "English"'
    file.write_text(AGENT.replace('language: str = "English"', required))
    given = settings(tmp_path / "t.db", graph=f"{file}:graph")
    with pytest.raises(GraphError, match="or let clients: TURNSTREAM_CLIENT_CONTEXT=tenant"):
        async with serving(given):
            pass
    allowed = given.model_copy(update={"client_context": ("tenant",)})
    async with serving(allowed) as client:
        answer = await client.http.post("/chat", json=NATIVE)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_context")
        assert "needs 'tenant': send it in context" in answer.json()["detail"]
        _, events = await client.turn({**NATIVE, "context": {"tenant": "t"}})
        assert text_of(events).startswith("English")


def test_the_address_of_a_model_server_needs_no_model_of_ours_for_a_graph_of_ones_own() -> None:
    access = {"openai_base_url": "http://127.0.0.1:9/v1", "openai_api_key": "k"}
    given = Settings.model_validate({"graph": "./agent.py:graph", **access})
    assert given.model_name == "offline"
    with pytest.raises(ValidationError, match="name the model that it serves"):
        Settings.model_validate(access)
