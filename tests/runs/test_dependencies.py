"""What we rest on inside other packages: these tests fail first when a package changes it."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Overwrite, Send

from turnstream.graphs.state import ChatState
from turnstream.server.storage.checkpointer import open_checkpointer

TASKS = ("one", "two", "three")


class Words(TypedDict):
    words: Annotated[list[str], lambda left, right: [*left, *right]]


def side_by_side() -> StateGraph[Any, Any, Any, Any]:
    """Tasks that run beside each other, each with a write of its own."""

    async def speak(word: Any) -> dict[str, list[str]]:
        return {"words": [word]}

    # What `Send` gives a node is anything; its type says otherwise.
    node: Any = speak
    graph = StateGraph(Words)
    graph.add_node("speak", node)
    graph.add_conditional_edges(START, lambda _state: [Send("speak", word) for word in TASKS])
    graph.add_edge("speak", END)
    return graph


async def test_langgraph_begins_a_tasks_writes_before_it_streams_the_tasks_update(
    tmp_path: Path,
) -> None:
    """`ThreadWrites.committed` waits for writes that have begun one turn of the loop later."""
    begun: list[str] = []
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.db")) as saver:
        put_writes = saver.aput_writes

        async def noted(
            config: RunnableConfig,
            writes: Sequence[tuple[str, Any]],
            task_id: str,
            task_path: str = "",
        ) -> None:
            begun.extend(word for channel, value in writes if channel == "words" for word in value)
            await put_writes(config, writes, task_id, task_path)

        saver.aput_writes = noted  # type: ignore[method-assign]
        stream = (
            side_by_side()
            .compile(checkpointer=saver)
            .astream(
                {"words": []},
                {"configurable": {"thread_id": "t"}},
                stream_mode="updates",
                durability="sync",
            )
        )
        async with aclosing(stream) as updates:  # type: ignore[type-var]
            async for update in updates:
                await asyncio.sleep(0)
                assert update["speak"]["words"][0] in begun
    assert sorted(begun) == sorted(TASKS)


async def test_what_was_streamed_is_on_disk_once_the_writes_are_committed(tmp_path: Path) -> None:
    async with open_checkpointer(tmp_path / "t.db") as checkpointer:
        graph = side_by_side().compile(checkpointer=checkpointer)
        config: RunnableConfig = {"configurable": {"thread_id": "t"}}
        with checkpointer.watch("t") as writes:
            stream = graph.astream({"words": []}, config, stream_mode="updates", durability="sync")
            seen: list[str] = []
            async with aclosing(stream) as updates:  # type: ignore[type-var]
                async for update in updates:
                    seen += update["speak"]["words"]
                    await writes.committed()
                    saved = await checkpointer.aget_tuple(config)
                    assert saved is not None
                    on_disk = [
                        word
                        for _, channel, value in saved.pending_writes or ()
                        if channel == "words"
                        for word in value
                    ]
                    stored = saved.checkpoint["channel_values"].get("words", [])
                    assert set(seen) <= {*on_disk, *stored}
            assert writes.newest is not None


async def test_a_delta_channel_replays_its_updates_and_takes_an_overwrite(tmp_path: Path) -> None:
    """`graphs/state.py` rests on LangGraph's `DeltaChannel`, which is in beta."""
    assert isinstance(ChatState.__annotations__["messages"].__metadata__[0], DeltaChannel)
    graph = StateGraph(ChatState)
    graph.add_node("nothing", lambda _state: {})
    graph.add_edge(START, "nothing")
    async with open_checkpointer(tmp_path / "t.db") as checkpointer:
        compiled = graph.compile(checkpointer=checkpointer)
        config: RunnableConfig = {"configurable": {"thread_id": "t"}}
        for number in range(3):
            await compiled.ainvoke(
                {"messages": [HumanMessage(str(number), id=str(number))]}, config
            )
        before = (await compiled.aget_state(config)).values["messages"]
        only = HumanMessage("only", id="only")
        overwritten: Any = {"messages": Overwrite([only])}
        await compiled.ainvoke(overwritten, config)
        after = (await compiled.aget_state(config)).values["messages"]
    assert [message.content for message in before] == ["0", "1", "2"]
    assert [message.content for message in after] == ["only"]
