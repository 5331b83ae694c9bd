"""Graphs whose nodes write what no model says: their runs end in order, their threads are whole."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph, add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Overwrite, Send, interrupt
from pydantic import BaseModel

from tests.graphs.zoo.model import ReplyingModel, calls
from tests.support.backend import backend, message
from tests.support.served_run import VARIANTS, ServedRun, serve_run
from turnstream.server.turns.messages import AssistantTurn, Text, ToolCall
from turnstream.server.turns.requests import Resume, TurnRequest

Write = Callable[[MessagesState], Any]


def writing(write: Write) -> Callable[..., Any]:
    """The build of a graph whose one node writes these messages."""

    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": write(state)}

    return lambda *_, **__: (
        StateGraph(MessagesState).add_node(node).add_edge(START, "node").compile()
    )


async def checked(run: ServedRun) -> ServedRun:
    """A run whose stream is its thread in every wire format."""
    run.check_chunks()
    for variant in VARIANTS:
        await run.check_format(variant)
    return run


def last(run: ServedRun) -> AssistantTurn:
    turn = run.kept[-1]
    assert isinstance(turn, AssistantTurn)
    return turn


def model() -> ReplyingModel:
    return ReplyingModel(replies=lambda *_: "unused")


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text"}, {"type": "text", "text": "words"}],
        [{"type": "text", "text": None}, {"type": "reasoning", "reasoning": None}, "words"],
    ],
)
@pytest.mark.parametrize("provider", [None, "openai", "anthropic"])
async def test_incomplete_content_of_a_node_is_streamed_as_the_thread_has_it(
    tmp_path: Path, content: Any, provider: str | None
) -> None:
    metadata = {"model_provider": provider} if provider else {}
    build = writing(lambda _: [AIMessage(content, response_metadata=metadata)])
    async with backend(tmp_path / "test.db", model(), build=build) as inside:
        for _ in range(2):
            run = await checked(await serve_run(inside, message()))
            assert run.reason == "stop"


def leaving(kind: type[BaseException], *, sync: bool, inner: bool) -> Callable[..., Any]:
    """The build of a graph whose node, or that of its subgraph, ends its process."""

    async def leave(state: MessagesState) -> dict[str, Any]:
        raise kind(len(state["messages"]))

    def leave_at_once(state: MessagesState) -> dict[str, Any]:
        raise kind(len(state["messages"]))

    async def wait(_: MessagesState) -> None:
        await asyncio.sleep(0)

    graph: Any = StateGraph(MessagesState)
    graph.add_node("leave", leave_at_once if sync else leave).add_edge(START, "leave")
    if inner:
        graph = StateGraph(MessagesState).add_node("inner", graph.compile())
        graph.add_node(wait).add_edge(START, "inner").add_edge(START, "wait")
    return lambda *_, **__: graph.compile()


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
async def test_a_node_that_ends_its_process_ends_its_run_alone(
    tmp_path: Path, kind: type[BaseException], sync: bool, inner: bool
) -> None:
    build = leaving(kind, sync=sync, inner=inner)
    async with backend(tmp_path / "t.db", model(), build=build) as inside:
        for _ in range(2):
            run = await checked(await serve_run(inside, message()))
            assert run.reason == "error"


async def test_messages_without_ids_that_overwrite_a_thread_stay_apart(tmp_path: Path) -> None:
    """LangGraph names the messages that its reducer takes, and no others."""
    said = [HumanMessage("Hi"), AIMessage("One."), HumanMessage("Hm."), AIMessage("Two.")]
    build = writing(lambda _: Overwrite([m.model_copy() for m in said]))
    async with backend(tmp_path / "t.db", model(), build=build) as inside:
        run = await serve_run(inside, message())
        assert [step.parts for step in last(run).steps] == [(Text("Two."),)]
        ids = [known.id for known in await inside.messages()]
        assert len({*ids}) == len(said)
        assert None not in ids


@pytest.mark.parametrize("value", [{"n": float("nan")}, "long " * 50_000], ids=["NaN", "long"])
async def test_a_question_that_cannot_be_sent_is_hidden_and_can_be_answered(
    tmp_path: Path, value: Any
) -> None:
    build = writing(lambda _: [AIMessage(f"{interrupt(value)}!")])
    async with backend(tmp_path / "t.db", model(), build=build) as inside:
        asking = await checked(await serve_run(inside, message()))
        (asked,) = asking.named("Interrupt")
        assert asked.value == {"hidden": True}
        run = await checked(await serve_run(inside, TurnRequest(resume=Resume("Yes"))))
        assert last(run).parts == (Text("Yes!"),)


class Counted(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    count: int = 0


async def test_a_thread_whose_state_its_class_refuses_can_be_read(tmp_path: Path) -> None:
    """LangGraph makes an object of the state for each node, and would to read the thread."""

    async def count(state: Counted) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{state.count} so far.")], "count": "many"}

    async def tell(state: Counted) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{state.count}")]}

    graph: Any = StateGraph(Counted).add_node(count).add_node(tell)
    graph = graph.add_edge(START, "count").add_edge("count", "tell").compile()
    async with backend(tmp_path / "t.db", model(), build=lambda *_, **__: graph) as inside:
        for _ in range(2):
            run = await checked(await serve_run(inside, message()))
            assert run.reason == "error"


async def test_a_users_message_that_the_graph_rewrites_incompletely_can_be_read(
    tmp_path: Path,
) -> None:
    content: Any = [
        {"type": "image_url", "image_url": "https://example.org/a.png"},
        {"type": "text"},
    ]
    build = writing(
        lambda state: [HumanMessage(content, id=state["messages"][-1].id), AIMessage("seen")]
    )
    async with backend(tmp_path / "test.db", model(), build=build) as inside:
        for _ in range(2):
            assert (await serve_run(inside, message())).reason == "stop"


@pytest.mark.parametrize("wrong", [[RemoveMessage("of no message")], [5], {"words": "x"}])
async def test_what_a_node_writes_and_the_state_does_not_take_fails_one_run_alone(
    tmp_path: Path, wrong: Any
) -> None:
    build = writing(
        lambda state: wrong if state["messages"][-1].text == "Hello" else [AIMessage("fine")]
    )
    async with backend(tmp_path / "test.db", model(), build=build) as inside:
        assert (await checked(await serve_run(inside, message()))).reason == "error"
        run = await checked(await serve_run(inside, message("Again")))
    assert run.reason == "stop"


async def test_a_format_of_another_package_is_not_taken_for_ours(tmp_path: Path) -> None:
    """A node that changes what its model said, with a `format` in the message's metadata."""

    def build(model: BaseChatModel, *_: Any, **__: Any) -> Any:
        async def node(state: MessagesState) -> dict[str, Any]:
            said = await model.ainvoke(state["messages"])
            changed = AIMessage("changed", id=said.id, response_metadata={"format": "markdown"})
            return {"messages": [changed]}

        return StateGraph(MessagesState).add_node(node).add_edge(START, "node").compile()

    async with backend(tmp_path / "test.db", model(), build=build) as inside:
        await checked(await serve_run(inside, message()))


@pytest.mark.parametrize(
    "metadata",
    [{"layout": "grid"}, {"args_text": 3}, {"timing": 1.5}, {"ended": True}, {"error": "private"}],
    ids=str,
)
async def test_metadata_of_another_package_under_our_names_is_left_alone(
    tmp_path: Path, metadata: dict[str, Any]
) -> None:
    build = writing(lambda _: [AIMessage("words", response_metadata=metadata)])
    async with backend(tmp_path / "test.db", model(), build=build) as inside:
        for _ in range(2):
            assert (await checked(await serve_run(inside, message()))).reason == "stop"


async def test_a_breakpoint_before_the_first_node_is_asked(tmp_path: Path) -> None:
    def build(*_: Any, **__: Any) -> Any:
        def node(state: MessagesState) -> dict[str, Any]:
            del state
            return {"messages": [AIMessage("passed")]}

        graph = StateGraph(MessagesState).add_node(node).add_edge(START, "node")
        return graph.compile(interrupt_before=["node"])

    async with backend(tmp_path / "test.db", model(), build=build) as inside:
        for _ in range(2):
            asked = await checked(await serve_run(inside, message()))
            entry = await inside.entry()
            assert entry is not None
            assert entry.run_state == "waiting"
            assert [i.node for i in asked.named("Interrupt")] == ["node"]
            await checked(await serve_run(inside, TurnRequest(resume=Resume(True))))


@tool
def ask() -> str:
    """Asks."""
    return str(interrupt("May I?"))


async def test_a_resumed_run_waits_for_the_clients_answer_beside_it(tmp_path: Path) -> None:
    def build(model: BaseChatModel, *_: Any, **__: Any) -> Any:
        async def agent(state: MessagesState) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state["messages"])]}

        def servers(state: MessagesState) -> Any:
            made = state["messages"][-1].tool_calls  # type: ignore[union-attr]
            return [Send("tools", [call]) for call in made if call["name"] == "ask"]

        graph = StateGraph(MessagesState).add_node(agent).add_node("tools", ToolNode([ask]))
        graph.add_edge(START, "agent").add_conditional_edges("agent", servers, ["tools"])
        return graph.add_edge("tools", END).compile()

    both = calls(("ask", {}), ("request_user_selection", {}))
    speaker = ReplyingModel(replies=lambda *_: both)
    async with backend(tmp_path / "test.db", speaker, build=build) as inside:
        await checked(await serve_run(inside, message()))
        run = await checked(await serve_run(inside, TurnRequest(resume=Resume("yes"))))
        entry = await inside.entry()
    assert run.reason == "tool-calls"
    assert entry is not None
    assert entry.run_state == "waiting"
    shown = [part for part in last(run).parts if isinstance(part, ToolCall)]
    assert [call.end for call in shown] == ["result", None]
