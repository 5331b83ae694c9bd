"""A task that makes the calls of several messages: an answer serves the call it was given for."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, RetryPolicy, interrupt

from turnstream.graphs.sibling_calls import keep_answers_apart

Turn = Sequence[str]
"""The calls of a message, by their subject; a model server numbers them anew in each message."""


async def act(what: str) -> str:
    """Ask."""
    return f"{what}: {interrupt(what)}"


def read(what: str) -> str:
    """Ask nothing."""
    return f"content of {what}"


def act_in_thread(what: str) -> str:
    """Ask in a worker thread."""
    return f"{what}: {interrupt(what)}"


TOOLS = ToolNode([act, read, act_in_thread])


def message(turn: Turn) -> dict[str, Any]:
    names = ["read" if what.startswith("file") else "act" for what in turn]
    calls = [
        {"name": name, "args": {"what": what}, "id": f"functions:{number}"}
        for number, (name, what) in enumerate(zip(names, turn, strict=True))
    ]
    return {"messages": [AIMessage("", tool_calls=calls)]}


async def loop(turns: Sequence[Turn]) -> list[Any]:
    return [one for turn in turns for one in (await TOOLS.ainvoke(message(turn)))["messages"]]


def loop_in_threads(turns: Sequence[Turn]) -> list[Any]:
    """The same in worker threads."""
    found = []
    for turn in turns:
        calls = message(turn)
        for call in calls["messages"][0].tool_calls:
            call["name"] = call["name"].replace("act", "act_in_thread")
        found += TOOLS.invoke(calls)["messages"]
    return found


async def side_by_side(turns: Sequence[Turn]) -> list[Any]:
    return [one for found in await asyncio.gather(*(loop([t]) for t in turns)) for one in found]


async def as_entrypoint(turns: Sequence[Turn]) -> list[Any]:
    @entrypoint()
    async def inner(_: str) -> list[str]:
        return [one.content for one in await loop(turns)]

    return [ToolMessage(one, tool_call_id="x") for one in await inner.ainvoke("Go")]


@pytest.fixture(autouse=True)
def apart() -> None:
    keep_answers_apart()


async def played(agent: Any, retry: RetryPolicy | None = None) -> tuple[list[str], list[str]]:
    """The results, and the questions, each of which is answered with its own words."""
    builder: Any = StateGraph(MessagesState)
    graph = builder.add_node("agent", agent, retry_policy=retry).add_edge(START, "agent")
    graph, asked = graph.compile(checkpointer=InMemorySaver()), []
    config = {"configurable": {"thread_id": "t"}}
    state = await graph.ainvoke({"messages": [("user", "Go")]}, config)
    while open_ := state.get("__interrupt__"):
        asked += [one.value for one in open_]
        answers = {one.id: f"yes to {one.value}" for one in open_}
        state = await graph.ainvoke(Command(resume=answers), config)
    messages = state["messages"]
    return [str(one.content) for one in messages if isinstance(one, ToolMessage)], asked


def right(turns: Sequence[Turn]) -> tuple[list[str], list[str]]:
    subjects = [what for turn in turns for what in turn]
    asked = [what for what in subjects if not what.startswith("file")]
    return [f"{one}: yes to {one}" if one in asked else f"content of {one}" for one in subjects], [
        *asked
    ]


Loop = Callable[[Sequence[Turn]], Any]


@pytest.mark.parametrize("run", [loop, loop_in_threads, side_by_side, as_entrypoint])
@pytest.mark.parametrize(
    "turns",
    [
        [("list", "file x"), ("DELETE", "file y")],
        [("pay", "file x"), ("pay", "file x")],
        [("pay", "pay"), ("pay", "pay")],
        [("pay", "file x"), ("pay", "file x", "send")],
        [("pay", "file x"), ("pay", "file y"), ("pay", "file x")],
        [("a", "b"), ("b", "a")],
    ],
)
async def test_each_call_of_a_loop_is_asked_for_though_ids_repeat(
    run: Loop, turns: Sequence[Turn]
) -> None:
    def agent(_state: MessagesState) -> dict[str, Any]:
        return {"messages": run(turns)}

    async def async_agent(_state: MessagesState) -> dict[str, Any]:
        return {"messages": await run(turns)}

    results, asked = await played(agent if run is loop_in_threads else async_agent)
    assert results == right(turns)[0]
    assert sorted(asked) == sorted(right(turns)[1])


async def test_a_retry_of_the_task_finds_the_answers_of_its_calls() -> None:
    turns, faults = [("pay", "file x"), ("pay", "file x")], iter([ValueError])

    async def agent(_state: MessagesState) -> dict[str, Any]:
        messages = await loop(turns)
        for fault in faults:
            raise fault
        return {"messages": messages}

    policy = RetryPolicy(initial_interval=0, jitter=False, retry_on=ValueError)
    assert await played(agent, policy) == right(turns)


async def test_a_model_that_changes_its_mind_gets_no_answer_to_its_earlier_call() -> None:
    minds: Iterator[Turn] = iter([("list", "file x"), *[("DELETE", "file x")] * 2])

    async def agent(_state: MessagesState) -> dict[str, Any]:
        return {"messages": await loop([next(minds)])}

    assert await played(agent) == (
        ["DELETE: yes to DELETE", "content of file x"],
        ["list", "DELETE"],
    )
