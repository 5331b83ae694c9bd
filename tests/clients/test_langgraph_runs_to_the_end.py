"""Python's `langgraph_sdk` and LangGraph's `RemoteGraph` wait for whole runs of the real server, on
threads and without them."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.errors import NotFoundError, UnprocessableEntityError

from tests.clients.test_langgraph_sdk_python import ASK, human, messages, new_thread, sdk
from tests.clients.test_use_stream import agent, is_in
from tests.support.endpoint import Fail, Pause, Say, reply, text_reply
from tests.support.scripted_server import scripted_server
from tests.support.waiting import eventually


async def test_a_run_is_awaited_and_its_result_had_again(tmp_path: Path) -> None:
    async with (
        scripted_server(tmp_path, text_reply("High."), text_reply("Low.")) as server,
        sdk(server.url) as client,
    ):
        thread_id = await new_thread(client)
        values: Any = await client.runs.wait(thread_id, "chat", input=human("The tide?"))
        assert values == {"messages": await messages(client, thread_id)}
        assert [message["content"] for message in values["messages"]] == ["The tide?", "High."]
        (first,) = await client.runs.list(thread_id)
        assert (first["thread_id"], first["status"]) == (thread_id, "success")
        await client.runs.wait(thread_id, "chat", input=human("And now?"))
        assert await client.runs.join(thread_id, first["run_id"]) == values
        (last,) = await client.runs.list(thread_id)
        assert last["run_id"] != first["run_id"]
        assert await client.runs.list(thread_id, offset=1) == []


async def test_a_run_that_asks_or_fails_says_so_in_its_result(tmp_path: Path) -> None:
    async with (
        scripted_server(tmp_path, ASK, *[Fail(404, "No.")] * 2) as server,
        sdk(server.url) as client,
    ):
        thread_id = await new_thread(client)
        asked: Any = await client.runs.wait(thread_id, "chat", input=human("Book a trip"))
        assert asked["messages"][-1]["tool_calls"][0]["name"] == "request_user_selection"
        with pytest.raises(Exception, match="model_not_found"):
            await client.runs.wait(thread_id, "chat", input=human("Never mind"))
        failed: Any = await client.runs.wait(
            thread_id, "chat", input=human("Again"), raise_error=False
        )
        assert failed["__error__"]["error"] == "model_not_found"


@pytest.mark.parametrize("completion", ["delete", "keep"])
async def test_a_run_without_a_thread_leaves_one_only_if_it_is_to_be_kept(
    completion: Any, tmp_path: Path
) -> None:
    async with (
        scripted_server(tmp_path, *map(text_reply, ("High.", "Low.", "High."))) as server,
        sdk(server.url) as client,
    ):
        asked: dict[str, Any] = {"input": human("The tide?"), "on_completion": completion}
        values: Any = await client.runs.wait(None, "chat", **asked)
        assert values["messages"][-1]["content"] == "High."
        parts = [part async for part in client.runs.stream(None, "chat", **asked)]
        assert parts[-1].event == "end"
        made: Any = await client.runs.create(None, "chat", **asked)
        assert made["status"] == "running"
        left = 3 if completion == "keep" else 0
        idle: Any = {"status": "idle"}

        async def is_left() -> bool:
            return await client.threads.count(**idle) == await client.threads.count() == left

        await eventually(is_left)


async def test_a_run_without_a_thread_goes_on_when_its_reader_leaves_and_its_thread_goes_then(
    tmp_path: Path,
) -> None:
    pause = Pause(asyncio.Event())
    async with (
        scripted_server(tmp_path, reply(Say("The tide "), pause, Say("is high."))) as server,
        sdk(server.url) as client,
    ):
        waiting = asyncio.create_task(client.runs.wait(None, "chat", input=human("Go on")))
        await server.endpoint.arrived(1)
        (thread,) = await client.threads.search()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert await is_in(server.http, str(thread["thread_id"]), "live")
        pause.event.set()

        async def is_gone() -> bool:
            return not await client.threads.search()

        await eventually(is_gone)


async def test_who_waits_and_leaves_ends_the_run_if_it_has_said_so(tmp_path: Path) -> None:
    never = Pause(asyncio.Event())
    async with (
        scripted_server(tmp_path, reply(Say("The tide "), never)) as server,
        sdk(server.url) as client,
    ):
        thread_id = await new_thread(client)
        asked = client.runs.wait(thread_id, "chat", input=human("Go on"), on_disconnect="cancel")
        waiting = asyncio.create_task(asked)
        await server.endpoint.arrived(1)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await eventually(partial(is_in, server.http, thread_id, "stopped"))


async def test_graphs_are_counted_searched_and_drawn(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as server, sdk(server.url) as client:
        assert await client.assistants.count() == 1
        assert await client.assistants.count(name="CHA") == 1
        assert await client.assistants.search(offset=1) == []
        assert await client.assistants.search(metadata={"owner": "ann"}) == []
        drawing = await client.assistants.get_graph("chat")
        names = {node["id"] for node in drawing["nodes"]}
        assert names == {"__start__", "agent", "tools", "recover", "__end__"}
        assert all({edge["source"], edge["target"]} <= names for edge in drawing["edges"])
        with pytest.raises(NotFoundError):
            await client.assistants.get_graph("none")


async def test_remote_graph_is_a_client_and_a_node_of_another_graph(tmp_path: Path) -> None:
    replies = map(text_reply, ("High.", "Low.", "High again.", "Low again."))
    async with scripted_server(tmp_path, *replies) as server, sdk(server.url) as client:
        remote = RemoteGraph("chat", client=client)
        whole = await remote.ainvoke(human("The tide?"))
        assert [message["content"] for message in whole["messages"]] == ["The tide?", "High."]
        streamed = [
            values async for values in remote.astream(human("And now?"), stream_mode="values")
        ]
        assert streamed[-1]["messages"][-1]["content"] == "Low."
        outer = StateGraph(MessagesState).add_node("tides", remote).add_edge(START, "tides")
        said = await outer.compile().ainvoke({"messages": [HumanMessage("Once more?", id="m1")]})
        assert isinstance(said["messages"][-1], AIMessage)
        assert [message.content for message in said["messages"]] == ["Once more?", "High again."]
        thread: Any = {"configurable": {"thread_id": await new_thread(client)}}
        await remote.ainvoke(human("And then?"), thread)
        state = await remote.aget_state(thread)
        assert state.values["messages"][-1]["content"] == "Low again."
        history = [one async for one in remote.aget_state_history(thread)]
        assert [len(one.values["messages"]) for one in history] == [2, 1, 0]
        first = await remote.aget_state(history[-1].config)
        assert first.values == {"messages": []}
        assert "agent" in (await remote.aget_graph()).nodes


async def test_items_of_a_graphs_store_are_kept_found_and_deleted(tmp_path: Path) -> None:
    async with agent(tmp_path, "asking") as http, sdk(http.url) as client:
        await client.store.put_item(("memories", "ann"), "colour", {"is": "blue"})
        await client.store.put_item(("memories", "bob"), "colour", {"is": "red"})
        item = await client.store.get_item(("memories", "ann"), "colour")
        assert (item["namespace"], item["value"]) == (["memories", "ann"], {"is": "blue"})
        assert await client.store.get_item(("memories", "ann"), "size") is None
        found = await client.store.search_items(("memories",), filter={"is": "red"})
        assert [one["namespace"] for one in found["items"]] == [["memories", "bob"]]
        named = await client.store.list_namespaces(prefix=["memories"], max_depth=1)
        assert named == {"namespaces": [["memories"]]}
        await client.store.delete_item(("memories", "ann"), "colour")
        assert await client.store.get_item(("memories", "ann"), "colour") is None
        with pytest.raises(UnprocessableEntityError):
            await client.store.put_item(("langgraph",), "colour", {})
