"""What a graph redacts or removes is in no title, search or export once its run has ended."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoint import StrictEndpoint, text_reply
from tests.support.forked_server import forked_server
from tests.support.serving import Client, endpoint_settings, serving, settings
from tests.support.waiting import eventually, until

SECRET = "ada@example.org"
AGENT = """
from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel

model = FakeListChatModel(responses=["I have written to ada@example.org."])
graph = create_agent(
    model, middleware=[PIIMiddleware("email", strategy="redact", apply_to_output=True)]
)
"""
SUMMARIZING = """
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel

model = FakeListChatModel(responses=["It is here."])
summaries = SummarizationMiddleware(model=model, trigger=("messages", 4), keep=("messages", 1))
graph = create_agent(model, middleware=[summaries])
"""
GRAPH = """
import asyncio
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES


def redact(state):
    order = state["messages"][-1].text
    if "wipe" in order:
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]}
    if "keep" in order:
        return {"messages": [AIMessage("Kept.")]}
    secret = [m for m in state["messages"] if isinstance(m, HumanMessage) and "@" in m.text]
    if "remove" in order:
        return {"messages": [*(RemoveMessage(m.id) for m in secret), AIMessage("Removed.")]}
    clean = [m.model_copy(update={"content": order.split()[0] + " [REDACTED]"}) for m in secret]
    return {"messages": [*clean, AIMessage("Redacted.")]}


async def speak(state):
    if not state["messages"]:
        return {}
    asked = [m.text for m in state["messages"] if isinstance(m, HumanMessage)]
    if "Fail" in str(asked):
        raise RuntimeError
    if "Hang" in str(asked):
        Path(__file__).with_name("hangs").touch()
        await asyncio.Event().wait()
    return {"messages": [AIMessage("Done.")]}


builder = StateGraph(MessagesState)
builder.add_node("redact", redact)
builder.add_node("speak", speak)
builder.add_edge(START, "redact")
builder.add_edge("redact", "speak")
graph = builder.compile()
"""


def graph_file(folder: Path, code: str = GRAPH) -> str:
    (folder / "redacting.py").write_text(code)
    return f"{folder / 'redacting.py'}:graph"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with serving(settings(tmp_path / "t.db", graph=graph_file(tmp_path))) as client:
        yield client


async def shown(client: Client) -> str:
    """All that lists, searches and exports show."""
    http = client.http
    answers = [
        await http.get("/threads"),
        await http.get("/threads", params={"q": "example"}),
        await http.get("/threads", params={"q": "ada"}),
        await http.post("/langgraph/threads/search", json={}),
        await http.get("/export"),
    ]
    assert [answer.status_code for answer in answers] == [200] * len(answers)
    return "\n".join(answer.text for answer in answers)


async def found(client: Client, words: str) -> list[Any]:
    answer = await client.http.get("/threads", params={"q": words})
    return [thread["found"] for thread in answer.json()["threads"]]


async def title(client: Client, thread_id: str = "t") -> str:
    return str((await client.thread(thread_id))["title"])


async def test_what_langchains_middleware_redacts_is_nowhere_to_be_found(tmp_path: Path) -> None:
    own = settings(tmp_path / "t.db", graph=graph_file(tmp_path, AGENT))
    async with serving(own) as client:
        await client.turn({"thread_id": "t", "message": f"Write to {SECRET}, please"})
        assert SECRET not in await shown(client)
        assert await title(client) == "Write to [REDACTED_EMAIL], please"
        [once] = await found(client, "redacted_email")
        assert "I have written to" in json.dumps(once["text"])


async def test_what_a_summary_replaces_is_listed_found_and_exported_unless_it_is_to_be_hidden(
    tmp_path: Path,
) -> None:
    for policy in ("show", "hide"):
        file = graph_file(tmp_path, SUMMARIZING)
        own = settings(tmp_path / f"{policy}.db", graph=file, removed_messages=policy)
        async with serving(own) as client:
            for question in ("Where is the alpha?", "And the beta?", "And the gamma?"):
                await client.turn({"thread_id": "t", "message": question})
            thread = json.dumps(await client.thread("t"))
            export = (await client.http.get("/export")).text
            is_shown = ["beta" in thread, "beta" in export, bool(await found(client, "beta"))]
            assert is_shown == [policy == "show"] * 3
            assert '"removed": true' in thread or policy == "hide"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (f"Write to {SECRET}", "Write [REDACTED]"),
        (f"Fail: write to {SECRET}", "Fail: [REDACTED]"),
        (f"Please remove {SECRET}", "New thread"),
        (f"Please wipe {SECRET}", "New thread"),
    ],
)
async def test_title_and_search_follow_the_thread_when_the_run_has_ended(
    client: Client, message: str, expected: str
) -> None:
    await client.turn({"thread_id": "t", "message": message})
    assert SECRET not in await shown(client)
    assert await title(client) == expected
    assert len(await found(client, expected)) == 1


async def test_a_run_that_is_stopped_after_the_redaction_leaves_no_words(client: Client) -> None:
    body = {"thread_id": "t", "message": f"Hang: write to {SECRET}"}
    async with client.chat(body) as stream:
        await stream.until("text-delta")
        await client.http.post("/chat/t/stop")
        await stream.rest()
    assert SECRET not in await shown(client)
    assert await title(client) == "Hang: [REDACTED]"


async def test_what_a_later_run_redacts_of_earlier_messages_is_found_no_more(
    client: Client,
) -> None:
    await client.turn({"thread_id": "t", "message": f"Please keep {SECRET}"})
    assert await title(client) == f"Please keep {SECRET}"
    assert len(await found(client, "example")) == 1
    await client.turn({"thread_id": "t", "message": "Now redact it"})
    assert SECRET not in await shown(client)
    assert await title(client) == "Now [REDACTED]"
    [once] = await found(client, "redacted kept")
    assert once["message_id"]


async def test_a_name_that_somebody_gave_stays(client: Client) -> None:
    await client.turn({"thread_id": "t", "message": f"Please keep {SECRET}"})
    await client.http.patch("/threads/t", json={"title": "Mine"})
    await client.turn({"thread_id": "t", "message": "Now redact it"})
    assert await title(client) == "Mine"


async def test_an_edit_is_redacted_as_a_message_is(client: Client) -> None:
    await client.turn({"thread_id": "t", "message": "Hello"})
    first = (await client.thread("t"))["messages"][0]["id"]
    edit = {"message_id": first, "message": f"Write to {SECRET}"}
    await client.turn({"thread_id": "t", "edit": edit})
    assert SECRET not in await shown(client)
    assert await title(client) == "Write [REDACTED]"


async def test_a_model_that_makes_the_title_gets_what_the_thread_holds(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("A letter"))
    own = endpoint_settings(
        tmp_path / "t.db", endpoint, title_model="titles", graph=graph_file(tmp_path, AGENT)
    )
    async with serving(own) as client:
        await client.turn({"thread_id": "t", "message": f"Write to {SECRET}"})

        async def is_titled() -> bool:
            return await title(client) == "A letter"

        await eventually(is_titled)
        assert SECRET not in json.dumps(endpoint.requests)
        assert "[REDACTED_EMAIL]" in json.dumps(endpoint.requests)


@pytest.mark.parametrize(
    "turns",
    [[f"Hang: write to {SECRET}"], [f"Please keep {SECRET}", "Hang: forget it"]],
    ids=["in its first turn", "in a later turn"],
)
async def test_a_worker_that_dies_after_the_redaction_leaves_no_words(
    tmp_path: Path, turns: list[str]
) -> None:
    path, given = tmp_path / "t.db", {"GRAPH": graph_file(tmp_path)}
    async with forked_server(path, **given) as server:
        for message in turns[:-1]:
            await server.client.turn({"thread_id": "t", "message": message})
        body = {"thread_id": "t", "message": turns[-1]}
        async with server.client.chat(body):
            await until((tmp_path / "hangs").exists)  # The redaction is on disk.
            server.kill()
            await server.exit_status()
    async with forked_server(path, **given) as again:
        assert await title(again.client) == "Hang: [REDACTED]"

        async def is_indexed() -> bool:
            return len(await found(again.client, "redacted")) == 1

        await eventually(is_indexed)
        assert SECRET not in await shown(again.client)
