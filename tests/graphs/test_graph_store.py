"""A graph that uses LangGraph's store gets one, on the server's database."""

import asyncio
import logging
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import GetOp, PutOp

from tests.support.forked_server import forked_server
from tests.support.serving import serving, settings, text_of
from turnstream.server.storage.checkpointer import open_checkpointer
from turnstream.server.storage.graph_store import SqliteGraphStore, open_graph_store
from turnstream.server.storage.interfaces import StorageUnavailable

AGENT = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

PLACE = ("people", "names")


async def remember(state, runtime: Runtime):
    await runtime.store.aput(PLACE, "last", {"name": state["messages"][0].text})


def recall(state, *, store: BaseStore):
    return {"messages": [AIMessage(f"It was {store.get(PLACE, 'last').value['name']}.")]}


async def first(state, runtime: Runtime):
    known = await runtime.store.aget(PLACE, "last")
    return {"messages": [AIMessage(f"Before: {known.value['name'] if known else 'nobody'}.")]}


builder = StateGraph(MessagesState)
builder.add_sequence([first, remember, recall])
builder.add_edge(START, "first")
graph = builder.compile(store=InMemoryStore())
"""


@pytest.fixture
def setting(tmp_path: Path) -> str:
    file = tmp_path / "agent_with_store.py"
    file.write_text(AGENT)
    return f"{file}:graph"


async def test_items_outlive_their_thread_and_the_process(tmp_path: Path, setting: str) -> None:
    async with forked_server(tmp_path / "t.db", GRAPH=setting) as one:
        _, events = await one.client.turn({"message": "Ada"})
        assert text_of(events) == "Before: nobody.It was Ada."
    async with forked_server(tmp_path / "t.db", GRAPH=setting) as two:
        _, events = await two.client.turn({"message": "Grace"})
        assert text_of(events) == "Before: Ada.It was Grace."
        two.terminate()
        assert await two.exit_status() == 0
    assert not [line for line in two.log if b"Task was destroyed" in line]


async def test_a_store_of_the_graphs_own_is_replaced_and_it_is_said(
    tmp_path: Path, setting: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(settings(tmp_path / "t.db", graph=setting)) as client:
        await client.turn({"message": "Ada"})
    said = "graph agent_with_store: its own store (InMemoryStore) is replaced by the server's"
    assert said in caplog.text


async def test_the_built_in_graph_has_no_store(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        await client.turn({"message": "Hello"})
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    assert "threads" in tables
    assert "store" not in tables


def file_is_there() -> None:
    pass


async def test_what_a_batch_has_read_nobody_changes_before_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite would refuse the write at once, however long it may wait for locks."""
    path, put = tmp_path / "t.db", SqliteGraphStore._batch_put_ops

    async def put_after_another(store: SqliteGraphStore, ops: Any, cursor: Any) -> None:
        refused = pytest.raises(sqlite3.OperationalError, match="locked")
        with closing(sqlite3.connect(path, timeout=0)) as other, refused:
            other.execute("CREATE TABLE another (x)")
        await put(store, ops, cursor)

    monkeypatch.setattr(SqliteGraphStore, "_batch_put_ops", put_after_another)
    async with open_checkpointer(path), open_graph_store(path, 50, file_is_there) as items:
        read, _ = await items.abatch([GetOp(("a",), "x"), PutOp(("a",), "x", {"n": 1})])
        assert read is None
        item = await items.aget(("a",), "x")
        assert item is not None
        assert item.value == {"n": 1}


async def test_a_batch_that_fails_changes_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with open_checkpointer(path), open_graph_store(path, 50, file_is_there) as items:
        await items.aput(("a",), "x", {"n": 1})
        with pytest.raises(sqlite3.IntegrityError):
            await items.abatch([PutOp(("a",), "x", None), PutOp(("a",), None, {})])  # type: ignore[arg-type]
        await items.aput(("a",), "y", {"n": 3})
        found = await items.asearch(("a",))
        assert {item.key: item.value["n"] for item in found} == {"x": 1, "y": 3}


async def test_items_written_within_a_second_have_times_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with open_checkpointer(path), open_graph_store(path, 50, file_is_there) as items:
        times = set[datetime]()
        while len(times) < 3:
            await items.aput(("a",), "x", {"n": 1})
            [found] = await items.asearch(("a",))
            times.add(found.updated_at)
        assert any(time.microsecond for time in times)


async def test_a_locked_database_is_a_storage_fault_and_reading_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with open_checkpointer(path), open_graph_store(path, 50, file_is_there) as items:
        await items.aput(("a",), "x", {"n": 1})
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageUnavailable) as raised:
                await items.aput(("a",), "x", {"n": 2})
            assert raised.value.code == "storage_busy"
            item = await items.aget(("a",), "x")
            assert item is not None
            assert item.value == {"n": 1}
            other.execute("ROLLBACK")
        await items.aput(("a",), "x", {"n": 3})


async def test_no_task_of_the_store_is_left_behind(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with open_checkpointer(tmp_path / "t.db"):
        async with open_graph_store(tmp_path / "t.db", 50, file_is_there) as items:
            await items.aget(("a",), "x")
        assert asyncio.all_tasks() == before


async def test_nothing_is_written_to_a_file_that_is_gone(tmp_path: Path) -> None:
    def gone() -> None:
        raise StorageUnavailable("database_gone")

    path = tmp_path / "t.db"
    async with open_checkpointer(path), open_graph_store(path, 50, gone) as items:
        with pytest.raises(StorageUnavailable):
            await items.aput(("a",), "x", {"n": 1})
        assert await items.aget(("a",), "x") is None


SUBGRAPH = """
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

inner = StateGraph(MessagesState)
inner.add_node("speak", lambda state: {"messages": [AIMessage("Inside.")]})
inner.add_edge(START, "speak")
inner = inner.compile(checkpointer=InMemorySaver())


async def by_hand(state):
    config = {"configurable": {"thread_id": "its own"}}
    return {"messages": (await inner.ainvoke({"messages": []}, config))["messages"][-1:]}


graph = StateGraph(MessagesState)
graph.add_node("by_hand", by_hand)
graph.add_node("inside", inner)
graph.add_edge(START, "by_hand")
graph.add_edge("by_hand", "inside")
"""


async def test_a_subgraph_keeps_its_own_checkpointer_under_its_own_thread_alone_and_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "agent_with_subgraph.py"
    file.write_text(SUBGRAPH)
    with caplog.at_level(logging.WARNING):
        async with serving(settings(tmp_path / "t.db", graph=f"{file}:graph")) as client:
            await client.turn({"message": "Hello"})
    assert "subgraph by_hand has a checkpointer of its own (InMemorySaver)" in caplog.text
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        rows = connection.execute("SELECT thread_id, checkpoint_ns FROM checkpoints").fetchall()
    assert "its own" not in {thread_id for thread_id, _ in rows}
    assert {namespace.partition(":")[0] for _, namespace in rows} == {"", "inside"}
