"""Calls of MCP servers that wait for a person's answer: how many, how long, and which answer is
whose."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from langchain_core.tools import ToolException
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt
from mcp_types import CallToolResult, ElicitRequestFormParams
from typing_extensions import TypedDict

from tests.support.waiting import until
from turnstream.tools.held_calls import MAX_HELD, MAX_HELD_OF_THREAD, HeldCall, HeldCalls
from turnstream.tools.mcp.elicitation import Asking, Elicitation

SURE = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}


class State(TypedDict, total=False):
    said: list[str]


class Asked:
    """A graph with one call, whose server asks what `server` asks."""

    def __init__(
        self, held: HeldCalls, server: Callable[["Asked"], Awaitable[None]], seconds: float = 60
    ) -> None:
        self.held, self.said, self.calls = held, list[str](), 0
        self._asked: Sequence[Interrupt] = ()
        self._server, self._seconds = server, seconds
        builder = StateGraph(State)
        builder.add_node("call", self._call)
        builder.add_edge(START, "call")
        self._graph = builder.compile(InMemorySaver())

    async def ask(self, message: str) -> None:
        params = ElicitRequestFormParams(message=message, requested_schema=SURE)
        answer = await Elicitation()(None, params)  # type: ignore[arg-type]
        self.said.append(f"{message} {answer.action} {answer.content}")

    async def go(self, given: Any, thread: str = "t") -> list[str]:
        """Run the graph; returns the messages of the questions that it ends with."""
        config = {"configurable": {"thread_id": thread}}
        out = await self._graph.ainvoke(given, config)  # type: ignore[call-overload]
        self._asked = out.get("__interrupt__", ())
        return [one.value["message"] for one in self._asked]

    async def answer(self, *, sure: bool) -> list[str]:
        """Answer the question by its id."""
        (asked,) = self._asked
        content = {"action": "accept", "content": {"sure": sure}}
        return await self.go(Command(resume={asked.id: content}))

    async def _call(self, state: State) -> State:  # noqa: ARG002  its name is LangGraph's
        async def make(_progress: Any) -> CallToolResult:
            self.calls += 1
            await self._server(self)
            return CallToolResult(content=[])

        try:
            await Asking(self.held, self._seconds, "book", "c1").result(make, "trips", None)
        except ToolException as error:
            self.said.append(str(error))
        return {"said": self.said}


async def test_a_question_that_was_withdrawn_takes_no_answer_of_those_behind_it() -> None:
    async def server(asked: Asked) -> None:
        first = asyncio.create_task(asked.ask("First?"))
        await asyncio.sleep(0)
        second = asyncio.create_task(asked.ask("Withdrawn?"))
        await asyncio.sleep(0)
        second.cancel()
        await first
        await asked.ask("Third?")

    asked = Asked(HeldCalls(), server)
    assert await asked.go({}) == ["First?"]
    assert await asked.answer(sure=True) == ["Third?"]
    assert await asked.answer(sure=False) == []
    answers = ["First? accept {'sure': True}", "Third? accept {'sure': False}"]
    assert (asked.said, asked.calls) == (answers, 1)


async def one_question(asked: Asked) -> None:
    await asked.ask("Sure?")


@pytest.mark.parametrize(
    ("thread", "count"), [("t", MAX_HELD_OF_THREAD), ("another", MAX_HELD)], ids=["thread", "all"]
)
async def test_a_question_beyond_the_bounds_of_held_calls_is_declined(
    thread: str, count: int
) -> None:
    held = HeldCalls()
    for number in range(count - 1):
        held.hold(HeldCall(thread, str(number), lambda: None), 60)
    asked = Asked(held, one_question)
    assert await asked.go({}) == ["Sure?"]
    held.hold(HeldCall(thread, "last", lambda: None), 60)
    beyond = Asked(held, one_question)
    assert await beyond.go({}) == []
    assert beyond.said == ["Sure? decline None"]


async def test_an_answer_that_reaches_another_worker_ends_the_call_with_an_error() -> None:
    asked = Asked(HeldCalls(), one_question)
    assert await asked.go({}) == ["Sure?"]
    asked.held = HeldCalls()  # As another worker has it.
    assert await asked.answer(sure=True) == []
    (said,) = asked.said
    assert "another worker" in said
    assert "may have run in part" in said
    assert asked.calls == 1


async def test_a_call_that_is_not_answered_in_time_is_cancelled_and_held_no_longer() -> None:
    cancelled = list[str]()
    held = HeldCalls()
    held.hold(HeldCall("t", "c1", lambda: cancelled.append("c1")), 0)
    await until(lambda: cancelled == ["c1"])
    assert len(held) == 0
    assert held.has_room("t")
