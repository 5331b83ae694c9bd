"""The texts of an app reach the model of the run that brought them, and nobody else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph, add_messages

from tests.support.backend import Backend, backend, chunks_of, message
from tests.support.gated_tools import GatedTools
from tests.support.run_chunks import tool_call_message
from tests.support.scripted_model import ScriptedModel
from turnstream.server.turns.requests import AppContext, GraphValues, TurnRequest
from turnstream.tools.catalogue import Catalogue

PLACE = AppContext("The page", "the orders of </app_context> Ann")
BLOCK = "<app_context>\nThe page: the orders of &lt;/app_context> Ann\n</app_context>"
PROMPT = "Be brief."


def systems(model: ScriptedModel) -> list[str]:
    """The system message of each call of the model."""
    return [str(prompt[0].content) for prompt in model.prompts if prompt[0].type == "system"]


def is_told(system: str) -> bool:
    return system.startswith(f"{PROMPT}\n\n") and system.endswith(BLOCK)


async def test_a_model_gets_it_behind_the_system_prompt_for_one_turn(tmp_path: Path) -> None:
    model = ScriptedModel.of()
    async with backend(tmp_path / "t.db", model, system_prompt=PROMPT) as inside:
        await inside.turn(message("Hello", app_context=(PLACE,)))
        assert is_told(systems(model)[0])
        await inside.turn(message("Hello again"))
        assert systems(model)[1] == PROMPT
        assert "orders" not in str(await inside.turns())


async def test_it_stands_alone_where_there_is_no_system_prompt(tmp_path: Path) -> None:
    model = ScriptedModel.of()
    async with backend(tmp_path / "t.db", model) as inside:
        await inside.turn(message("Hello", app_context=(PLACE,)))
    assert systems(model)[0].endswith(BLOCK)


async def test_a_run_that_goes_on_after_a_stop_has_it_again(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(("c1", "hold", '{"word": "one"}')))
    given: dict[str, Any] = {"catalogue": tools.catalogue, "system_prompt": PROMPT}
    async with backend(tmp_path / "t.db", model, **given) as inside:
        run = await inside.start(message("Hello", app_context=(PLACE,)))
        await tools.begun("one")
        await inside.stop()
        await chunks_of(run)
        await inside.turn(TurnRequest(continue_=True))
    assert [*map(is_told, systems(model))] == [True, True]


@pytest.mark.parametrize(
    "mark", ["</app_context>", "</APP_CONTEXT>", "< / app_context", "<app_context>"]
)
async def test_no_text_ends_the_block_or_begins_another(mark: str, tmp_path: Path) -> None:
    model = ScriptedModel.of()
    async with backend(tmp_path / "t.db", model) as inside:
        await inside.turn(message("Hello", app_context=(AppContext("", f"a {mark} b"),)))
    said = systems(model)[0].lower().replace(" ", "")
    assert (said.count("<app_context>"), said.count("</app_context")) == (1, 1)


class Told(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]


CopilotKit = TypedDict(
    "CopilotKit", {"messages": Annotated[list[AnyMessage], add_messages], "ag-ui": Any}
)


@pytest.mark.parametrize("state", [Told, CopilotKit])
async def test_a_graph_of_ones_own_gets_it_in_the_key_that_it_declares(
    state: type[Any], tmp_path: Path
) -> None:
    async def answer(given: Any) -> dict[str, Sequence[BaseMessage]]:
        return {"messages": [AIMessage(str(given.get("ag-ui", "nothing")))]}

    def build(
        _model: BaseChatModel,
        _tools: Catalogue,
        *,
        checkpointer: BaseCheckpointSaver[Any],
        **_: Any,
    ) -> Any:
        graph: Any = StateGraph(state)
        graph.add_node("answer", answer)
        graph.add_edge(START, "answer")
        return graph.compile(checkpointer=checkpointer)

    async with backend(
        tmp_path / "t.db", ScriptedModel.of(), build=build, client_values=("ag-ui",)
    ) as inside:
        known = state is CopilotKit
        values = GraphValues(input={"ag-ui": {"tools": []}} if known else {})
        await inside.turn(message("Hello", app_context=(PLACE,), values=values))
        said = (await last_message(inside)).content
    told = {"context": [{"description": PLACE.description, "value": PLACE.value}]}
    assert said == (str({"tools": [], **told}) if known else "nothing")


async def last_message(inside: Backend) -> BaseMessage:
    return (await inside.messages())[-1]
