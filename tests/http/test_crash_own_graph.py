"""A server with another graph than ours, killed with kill -9: in a subgraph, and while it waits."""

import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.forked_server import ForkedServer, forked_server
from tests.support.serving import Event, text_of
from tests.support.waiting import eventually

AGENT = """
import asyncio
from pathlib import Path

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

HERE = Path(__file__).parent


def look(state):
    with (HERE / "looked").open("a") as file:
        file.write("once ")
    return {"messages": [AIMessage("I have looked.")]}


async def think(state):
    while not (HERE / "go").exists():
        await asyncio.sleep(0.01)
    return {"messages": [AIMessage("I have thought.")]}


def ask(state):
    return {"messages": [AIMessage(f"You say {interrupt('And you?')}.")]}


thinking = StateGraph(MessagesState).add_node("think", think).add_edge(START, "think")
graph = StateGraph(MessagesState)
graph.add_node("look", look)
graph.add_node("inner", thinking.compile())
graph.add_node("ask", ask)
graph.add_edge(START, "look")
graph.add_edge("look", "inner")
graph.add_edge("inner", "ask")
"""


def server(folder: Path) -> Any:
    (folder / "killed_agent.py").write_text(AGENT)
    return forked_server(folder / "t.db", GRAPH=f"{folder / 'killed_agent.py'}:graph")


async def hydrated(server: ForkedServer, thread_id: str) -> tuple[dict[str, Any], list[str]]:
    thread = await server.client.thread(thread_id)
    answers = [message for message in thread["messages"] if message["role"] == "assistant"]
    return thread, [part["text"] for answer in answers for part in answer["parts"]]


async def is_saved(database: Path, words: bytes) -> bool:
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        rows = connection.execute("SELECT checkpoint FROM checkpoints").fetchall()
    finally:
        connection.close()
    return any(words in blob for (blob,) in rows)


async def test_a_killed_turn_is_continued_and_a_killed_question_is_answered(
    tmp_path: Path,
) -> None:
    async with server(tmp_path) as first, first.client.chat({"message": "Go"}) as stream:
        thread_id = stream.thread_id
        said: list[Event] = []
        async for event in stream:
            said.append(event)
            if text_of(said) == "I have looked.":
                break
        # It is said before its checkpoint is on disk: a crash in between would run the node again.
        await eventually(partial(is_saved, tmp_path / "t.db", b"I have looked."))
        first.kill()
    (tmp_path / "go").touch()
    async with server(tmp_path) as second:
        thread, parts = await hydrated(second, thread_id)
        assert (thread["run_state"], parts) == ("interrupted", ["I have looked."])
        _, events = await second.client.turn({"thread_id": thread_id, "continue": True})
        # A message whose task had no checkpoint yet is part of the run that continues.
        assert text_of(events).removeprefix("I have looked.") == "I have thought."
        second.kill()
    async with server(tmp_path) as third:
        thread, parts = await hydrated(third, thread_id)
        assert thread["run_state"] == "waiting"
        assert thread["interrupts"][0]["value"] == "And you?"
        _, events = await third.client.turn({"thread_id": thread_id, "resume": "well"})
        assert text_of(events) == "You say well."
        _, parts = await hydrated(third, thread_id)
    assert parts == ["I have looked.", "I have thought.", "You say well."]
    assert (tmp_path / "looked").read_text() == "once "
