"""ToolNodes that make calls in a way of their own work as they do in LangGraph alone."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.config import get_config_list
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolRuntime
from langgraph.types import Command, interrupt

from turnstream.graphs import sibling_calls
from turnstream.graphs.sibling_calls import keep_answers_apart


async def ask(q: str) -> str:
    """Ask."""
    return f"{q}={interrupt(q)}"


class OneAtATime(ToolNode):
    async def _afunc(self, input: Any, config: Any, runtime: Any) -> Any:
        calls, kind = self._parse_input(input)
        return {"messages": [await self._made(one, kind, config, input, runtime) for one in calls]}

    async def _made(self, call: Any, kind: Any, config: Any, state: Any, runtime: Any) -> Any:
        own: Any = ToolRuntime(
            state=state,
            tool_call_id=call["id"],
            config=get_config_list(config, 1)[0],
            context=runtime.context,
            store=runtime.store,
            stream_writer=runtime.stream_writer,
        )
        return await self._arun_one(call, kind, own)


class LastAlone(OneAtATime):
    async def _afunc(self, input: Any, config: Any, runtime: Any) -> Any:
        calls, kind = self._parse_input(input)
        return {"messages": [await self._made(calls[-1], kind, config, input, runtime)]}


class TwiceEach(OneAtATime):
    async def _afunc(self, input: Any, config: Any, runtime: Any) -> Any:
        calls, kind = self._parse_input(input)
        both = [one for one in calls for _ in range(2)]
        made = [await self._made(one, kind, config, input, runtime) for one in both]
        return {"messages": [one.model_copy(update={"id": str(n)}) for n, one in enumerate(made)]}


class Limited(ToolNode):
    def __init__(self, tools: Any, limit: int = 1) -> None:
        super().__init__(tools)
        self.limit = asyncio.Semaphore(limit)

    async def _arun_one(self, call: Any, input_type: Any, tool_runtime: Any) -> Any:
        async with self.limit:
            return await super()._arun_one(
                call=call, input_type=input_type, tool_runtime=tool_runtime
            )


class Shouts(ToolNode):
    async def _arun_one(self, call: Any, input_type: Any, tool_runtime: Any) -> Any:
        call = {**call, "args": {"q": call["args"]["q"].upper()}}
        return await super()._arun_one(call, input_type, tool_runtime)


class ShoutsInThreads(ToolNode):
    def _run_one(self, call: Any, input_type: Any, tool_runtime: Any) -> Any:
        call = {**call, "args": {"q": call["args"]["q"].upper()}}
        return super()._run_one(call, input_type, tool_runtime)


class OtherIds(ToolNode):
    async def _arun_one(self, call: Any, input_type: Any, tool_runtime: Any) -> Any:
        call = {**call, "id": f"own {call['id']}"}
        return await super()._arun_one(call, input_type, tool_runtime)


class OtherInput(ToolNode):
    async def _afunc(self, input: Any, config: Any, runtime: Any) -> Any:
        state = {"messages": [input["messages"][0]]}
        return await super()._afunc(state, config, runtime)

    def _parse_input(self, input: Any) -> Any:
        if len(input["messages"]) > 1:
            raise ValueError("one message alone")
        return super()._parse_input(input)


async def played(node: ToolNode, calls: str = "ab") -> list[str]:
    """The results, when each question is answered with its own words."""
    made = [{"name": "ask", "args": {"q": q}, "id": q} for q in calls]
    first: Any = {"messages": [AIMessage("", tool_calls=made)]}
    builder: Any = StateGraph(MessagesState).add_node("speak", lambda _state: first)
    builder.add_node("tools", node).add_edge(START, "speak").add_edge("speak", "tools")
    graph = builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    state = await graph.ainvoke({"messages": []}, config)
    while open_ := state.get("__interrupt__"):
        answers = {one.id: f"yes to {one.value}" for one in open_}
        state = await graph.ainvoke(Command(resume=answers), config)
    return [str(one.content) for one in state["messages"] if isinstance(one, ToolMessage)]


def answers(*questions: str) -> list[str]:
    return [f"{one}=yes to {one}" for one in questions]


@pytest.fixture(autouse=True)
def apart() -> None:
    keep_answers_apart()


@pytest.mark.parametrize(
    ("node", "results"),
    [
        (OneAtATime([ask]), answers("a", "b")),
        (LastAlone([ask]), answers("b")),
        (TwiceEach([ask]), answers("a", "a", "b", "b")),
        (Limited([ask], 1), answers("a", "b")),
        (Shouts([ask]), answers("A", "B")),
        (OtherIds([ask]), answers("a", "b")),
        (OtherInput([ask]), answers("a", "b")),
    ],
    ids=lambda it: type(it).__name__ if isinstance(it, ToolNode) else "",
)
async def test_a_tool_node_of_ones_own_ends_with_the_answer_to_each_question(
    node: ToolNode, results: list[str]
) -> None:
    assert await asyncio.wait_for(played(node), 10) == results


async def test_calls_that_wait_for_a_place_are_asked_in_turn() -> None:
    node = Limited([ask], 2)
    assert await asyncio.wait_for(played(node, "abcd"), 10) == answers(*"abcd")


async def test_a_tool_node_that_changes_arguments_in_threads_gets_each_answer() -> None:
    def ask_in_thread(q: str) -> str:
        return f"{q}={interrupt(q)}"

    node = ShoutsInThreads(
        [StructuredTool.from_function(ask_in_thread, name="ask", description="")]
    )
    in_thread: Any = RunnableLambda(node.invoke)
    assert await played(in_thread) == answers("A", "B")


async def test_a_call_that_waits_for_the_answer_of_another_does_not_hold_the_question_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sibling_calls, "PATIENCE_SECONDS", 0)
    answered = asyncio.Event()

    async def ask_or_wait(q: str) -> str:
        if q == "a":
            await answered.wait()
            return "a waited"
        answer = interrupt(q)
        answered.set()
        return f"{q}={answer}"

    tool = StructuredTool.from_function(coroutine=ask_or_wait, name="ask", description="")
    assert await asyncio.wait_for(played(ToolNode([tool])), 10) == ["a waited", *answers("b")]


async def test_code_that_wraps_a_tool_node_after_the_first_graph_stays_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, before = [], ToolNode._arun_one

    async def traced(self: ToolNode, call: Any, *rest: Any) -> Any:
        seen.append(call["id"])
        return await before(self, call, *rest)

    monkeypatch.setattr(ToolNode, "_arun_one", traced)
    keep_answers_apart()
    assert await played(ToolNode([ask])) == answers("a", "b")
    assert {*seen} == {"a", "b"}
