"""Tools without code of their own, which ask the client to run their calls."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.support.backend import Backend, answers, backend, message
from tests.support.run_chunks import tool_call_message
from tests.support.scripted_model import ScriptedModel
from tests.support.served_run import VARIANTS, ServedRun, serve_run
from turnstream.server.turns.messages import AssistantTurn, ToolCall
from turnstream.server.turns.requests import InvalidRequest, Resume, ToolAnswer, TurnRequest

TWO = tool_call_message(("c1", "locate", '{"who":"Ann"}'), ("c2", "locate", '{"who":"Bob"}'))
ONE = tool_call_message(("c1", "locate", '{"who":"Ann"}'))


@pytest.fixture(params=["toolCall", "tool_call"])
def key(request: pytest.FixtureRequest) -> str:
    """Under which a call stands in LangChain for JavaScript, and for Python."""
    return str(request.param)


def build_with(key: str, **beside: Any) -> Any:
    @tool
    def locate(who: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Find somebody."""
        call = {"id": tool_call_id, "name": "locate", "args": {"who": who}}
        answer = interrupt({"type": "tool", key: call, **beside})[tool_call_id]
        return f"{who} is in {answer}."

    def build(model: Any, _tools: Any, *, checkpointer: Any, **_: Any) -> Any:
        return create_agent(model, tools=[locate], checkpointer=checkpointer)

    return build


async def calls(inside: Backend) -> list[ToolCall]:
    turn = (await inside.turns())[-1]
    assert isinstance(turn, AssistantTurn)
    return [part for part in turn.parts if isinstance(part, ToolCall)]


async def served(inside: Backend, request: TurnRequest) -> ServedRun:
    """Serve a run whose stream every format shows as the thread is."""
    run = await serve_run(inside, request)
    run.check_chunks()
    for variant in VARIANTS:
        await run.check_format(variant)
    return run


async def test_a_call_waits_for_the_client_whose_answer_goes_to_the_tool(
    key: str, tmp_path: Path
) -> None:
    model = ScriptedModel.of(ONE)
    async with backend(tmp_path / "t.db", model, build=build_with(key)) as inside:
        run = await served(inside, message())
        assert run.reason == "tool-calls"
        assert [(call.disposition, call.end) for call in await calls(inside)] == [("client", None)]
        assert (await inside.state()).pending("client")
        run = await served(inside, answers(("c1", "Rome")))
        assert run.reason == "stop"
        (call,) = await calls(inside)
        assert (call.disposition, call.end) == ("client", "result")
    assert model.prompts[1][-1].content == "Ann is in Rome."


async def test_parallel_calls_are_answered_one_by_one_in_any_order(
    key: str, tmp_path: Path
) -> None:
    model = ScriptedModel.of(TWO)
    async with backend(tmp_path / "t.db", model, build=build_with(key)) as inside:
        await served(inside, message())
        run = await served(inside, answers(("c2", "Oslo")))
        assert run.reason == "tool-calls"
        # A client that keeps its own answers sends the first one again.
        again = (ToolAnswer("c2", "Oslo"), ToolAnswer("c1", "Rome"))
        run = await served(inside, TurnRequest(answers=again, answers_are_copies=True))
        assert run.reason == "stop"
    said = [one.content for one in model.prompts[1][-2:]]
    assert said == ["Ann is in Rome.", "Bob is in Oslo."]


async def test_an_error_of_the_client_is_the_answer_too(key: str, tmp_path: Path) -> None:
    model = ScriptedModel.of(ONE)
    async with backend(tmp_path / "t.db", model, build=build_with(key)) as inside:
        await served(inside, message())
        failed = TurnRequest(answers=(ToolAnswer("c1", "No signal.", is_error=True),))
        await served(inside, failed)
    assert model.prompts[1][-1].content == "Ann is in {'error': 'No signal.'}."


async def test_a_malformed_call_beside_it_is_passed_over(tmp_path: Path) -> None:
    build = build_with("tool_call", toolCall="none")
    async with backend(tmp_path / "t.db", ScriptedModel.of(ONE), build=build) as inside:
        await served(inside, message())
        await served(inside, answers(("c1", "Rome")))


async def test_it_is_answered_as_an_interrupt_too(key: str, tmp_path: Path) -> None:
    model = ScriptedModel.of(ONE)
    async with backend(tmp_path / "t.db", model, build=build_with(key)) as inside:
        await served(inside, message())
        (asked,) = (await inside.state()).interrupts
        await served(inside, TurnRequest(resume=Resume({asked.id: {"c1": "Rome"}})))
    assert model.prompts[1][-1].content == "Ann is in Rome."


async def test_a_message_goes_past_it(tmp_path: Path) -> None:
    model = ScriptedModel.of(ONE)
    async with backend(tmp_path / "t.db", model, build=build_with("toolCall")) as inside:
        await served(inside, message())
        with pytest.raises(InvalidRequest, match="something else to do"):
            await inside.start(answers(("c1", "Rome"), words="And now?"))
        await served(inside, message("Never mind"))
        (call,) = [
            part
            for turn in await inside.turns()
            for part in getattr(turn, "parts", ())
            if isinstance(part, ToolCall)
        ]
        assert call.end == "cancelled"
    assert "not_answered" in str(model.prompts[1][-2].content)


async def test_a_message_goes_past_it_with_an_answer_beside_it(tmp_path: Path) -> None:
    """A client that keeps its own answers sends them with each message."""
    model = ScriptedModel.of(ONE)
    async with backend(tmp_path / "t.db", model, build=build_with("toolCall")) as inside:
        await served(inside, message())
        again = replace(answers(("c1", "Rome"), words="And now?"), answers_are_copies=True)
        run = await served(inside, again)
        assert run.reason == "stop"
        await served(inside, replace(again, message=message("And then?").message))
    assert "not_answered" in str(model.prompts[1][-2].content)


async def test_an_answer_without_an_id_holds_beside_one_to_the_call(tmp_path: Path) -> None:
    model = ScriptedModel.of(ONE)
    async with backend(tmp_path / "t.db", model, build=build_with("toolCall")) as inside:
        await served(inside, message())
        given = replace(answers(("c1", "Oslo")), resume=Resume("Rome"))
        with pytest.raises(InvalidRequest, match="something else to do"):
            await inside.start(given)
        await served(inside, replace(given, answers_are_copies=True))


async def test_a_value_that_names_no_open_call_is_a_question_like_any_other(
    tmp_path: Path,
) -> None:
    def build(_model: Any, _tools: Any, *, checkpointer: Any, **_: Any) -> Any:
        def ask(_state: Any) -> None:
            interrupt({"type": "tool", "toolCall": {"id": "c9", "name": "locate"}})

        graph: Any = StateGraph(MessagesState)
        graph.add_node("ask", ask)
        graph.add_edge(START, "ask")
        return graph.compile(checkpointer=checkpointer)

    async with backend(tmp_path / "t.db", ScriptedModel.of(), build=build) as inside:
        await served(inside, message())
        (asked,) = (await inside.state()).interrupts
        assert asked.client_call is None
        with pytest.raises(InvalidRequest, match="waits for an answer"):
            await inside.start(answers(("c9", "Rome")))
