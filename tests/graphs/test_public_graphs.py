"""The shapes of graphs that people start from: each is served as it is, or refused with the remedy.

The templates are written anew, as small as their shape allows; docs/graph.md has the table.
`tests/graphs/zoo` has react-agent, the supervisor, the swarm, deepagents and langmem, from their
own packages.
"""

import asyncio
import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from langchain.agents import create_agent
from langchain.agents import middleware as of_langchain
from langchain_core.language_models import BaseChatModel, LangSmithParams
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import END, START, MessagesState, StateGraph, add_messages
from langgraph.prebuilt import ToolNode
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from typing_extensions import TypedDict

from tests.graphs.zoo import Animal
from tests.graphs.zoo.model import Gate, ReplyingModel, calls, question, results
from tests.graphs.zoo.served import served
from tests.support.backend import message
from tests.support.served_run import VARIANTS, ended, serve_run
from tests.support.waiting import WAIT_SECONDS
from turnstream.graphs.attached import attach
from turnstream.server.turns.messages import Text

pytestmark = [
    pytest.mark.filterwarnings("ignore:create_react_agent has been moved"),
    # LangChain's shell leaves the pipes of its process to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@tool
def look_up(page: int) -> str:
    """Read a page."""
    return f"page {page}"


def reply(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    """Calls each tool that is there once, as the tools of these graphs want it."""
    known = results(prompt)
    wanted: dict[str, dict[str, Any]] = {
        "ToolSelectionResponse": {"tools": ["look_up"]},
        "look_up": {"page": 1},
        "remember": {"what": "red"},
        "choose_tools": {"query": "pages"},
    }
    for name, args in wanted.items():
        if name in tools and not known:
            return calls((name, args))
    return f"Told {known[-1]}." if known else f"An answer to {question(prompt)}"


MIDDLEWARE: dict[str, Callable[[BaseChatModel, Path], Any]] = {
    "ContextEditingMiddleware": lambda *_: of_langchain.ContextEditingMiddleware(
        edits=[of_langchain.ClearToolUsesEdit(trigger=1, keep=0)]
    ),
    "FilesystemFileSearchMiddleware": lambda _, path: of_langchain.FilesystemFileSearchMiddleware(
        root_path=str(path)
    ),
    "HumanInTheLoopMiddleware": lambda *_: of_langchain.HumanInTheLoopMiddleware(
        interrupt_on={"another": True}
    ),
    "LLMToolEmulator": lambda model, _: of_langchain.LLMToolEmulator(model=model),
    "LLMToolSelectorMiddleware": lambda model, _: of_langchain.LLMToolSelectorMiddleware(
        model=model, max_tools=1
    ),
    "ModelCallLimitMiddleware": lambda *_: of_langchain.ModelCallLimitMiddleware(run_limit=5),
    "ModelFallbackMiddleware": lambda model, _: of_langchain.ModelFallbackMiddleware(model),
    "ModelRetryMiddleware": lambda *_: of_langchain.ModelRetryMiddleware(),
    "PIIMiddleware": lambda *_: of_langchain.PIIMiddleware("email"),
    "ProviderToolSearchMiddleware": lambda *_: of_langchain.ProviderToolSearchMiddleware(
        searchable_tools=["look_up"]
    ),
    "ShellToolMiddleware": lambda _, path: of_langchain.ShellToolMiddleware(
        workspace_root=str(path)
    ),
    "SummarizationMiddleware": lambda model, _: of_langchain.SummarizationMiddleware(
        model=model, trigger=("messages", 4), keep=("messages", 2)
    ),
    "TodoListMiddleware": lambda *_: of_langchain.TodoListMiddleware(),
    "ToolCallLimitMiddleware": lambda *_: of_langchain.ToolCallLimitMiddleware(run_limit=5),
    "ToolErrorMiddleware": lambda *_: of_langchain.ToolErrorMiddleware(
        on_error=lambda error, _: str(error)
    ),
    "ToolRetryMiddleware": lambda *_: of_langchain.ToolRetryMiddleware(),
}
SAID_INSTEAD = {"LLMToolEmulator": "An answer to ", "ContextEditingMiddleware": "[cleared]"}
"""What the model gets of the tool's result."""


def test_every_middleware_of_langchain_is_tried() -> None:
    known = {name for name in of_langchain.__all__ if name.endswith(("Middleware", "Emulator"))}
    assert known - {"AgentMiddleware"} == MIDDLEWARE.keys()


class OfOpenAI(ReplyingModel):
    """A model whose provider has the tool search that `ProviderToolSearchMiddleware` asks for."""

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return {**super()._get_ls_params(stop, **kwargs), "ls_provider": "openai"}


async def plays(animal: Animal, path: Path) -> list[str]:
    """Serve two turns, one that is stopped, and one after it. Returns the texts of the first two
    answers, after a reload."""
    async with served(path / "t.db", animal, OfOpenAI(replies=animal.replies)) as home:
        for words in ("One", "Two"):
            run = await serve_run(home.inside, message(words))
            run.check_chunks()
            for variant in VARIANTS:
                await run.check_format(variant)
            assert run.reason == "stop"
        home.model.gate = Gate(2)
        live = await home.inside.start(message("Three"))
        await asyncio.wait_for(home.model.gate.reached.wait(), WAIT_SECONDS)
        await home.inside.stop()
        home.model.gate.open()
        stopped = await ended(home.inside, live)
        stopped.check_chunks()
        assert stopped.reason == "other"
        after = await serve_run(home.inside, message("Four"))
        after.check_chunks()
        assert after.reason == "stop"
        assert not home.model.refused
        async with served(path / "t.db", animal, crashed=True) as again:
            turns = await again.inside.turns()
            assert turns == await home.inside.turns()
    parts = [getattr(turn, "parts", ()) for turn in turns[1:4:2]]
    return ["".join(part.text for part in said if isinstance(part, Text)) for said in parts]


@pytest.mark.parametrize("name", MIDDLEWARE)
async def test_an_agent_with_middleware_is_served_unchanged(name: str, tmp_path: Path) -> None:
    def build(model: BaseChatModel) -> Any:
        added = MIDDLEWARE[name](model, tmp_path)
        return create_agent(model, tools=[look_up], middleware=[added])

    said = await plays(Animal(name, build, reply, "", thread=()), tmp_path)
    told = SAID_INSTEAD.get(name, "page 1")
    assert len(said) == 2
    assert all(text.startswith("Told ") and told in text for text in said), said


# Templates and packages of LangChain's.


@tool
def remember(what: str) -> str:
    """Keep a memory."""
    get_store().put(("memories",), what, {"what": what})
    return f"memory {len(get_store().search(('memories',)))}"


def memory_agent(model: BaseChatModel) -> Any:
    async def call_model(state: MessagesState, store: BaseStore) -> dict[str, Any]:
        known = [item.key for item in await store.asearch(("memories",))]
        prompt = [("system", f"You know {known}."), *state["messages"]]
        return {"messages": [await model.bind_tools([remember]).ainvoke(prompt)]}

    async def store_memory(state: MessagesState, store: BaseStore) -> dict[str, Any]:
        said = []
        for call in state["messages"][-1].tool_calls:  # type: ignore[union-attr]
            await store.aput(("memories",), call["args"]["what"], call["args"])
            said.append(ToolMessage("memory 1", tool_call_id=call["id"]))
        return {"messages": said}

    def route(state: MessagesState) -> Literal["store_memory", "__end__"]:
        return "store_memory" if getattr(state["messages"][-1], "tool_calls", None) else "__end__"

    builder = StateGraph(MessagesState)
    builder.add_node(call_model)
    builder.add_node(store_memory)
    builder.add_edge(START, "call_model")
    builder.add_conditional_edges("call_model", route)
    builder.add_edge("store_memory", "call_model")
    return builder.compile(store=InMemoryStore())


class Asked(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class Retrieved(Asked, total=False):
    queries: Annotated[list[str], operator.add]
    documents: list[str]


def retrieval_agent(model: BaseChatModel) -> Any:
    async def generate_query(state: Retrieved) -> dict[str, Any]:
        return {"queries": [state["messages"][-1].text]}

    async def retrieve(state: Retrieved) -> dict[str, Any]:
        return {"documents": [f"on {state['queries'][-1]}"]}

    async def respond(state: Retrieved) -> dict[str, Any]:
        prompt = [("system", " ".join(state["documents"])), *state["messages"]]
        return {"messages": [await model.ainvoke(prompt)]}

    builder = StateGraph(Retrieved, input_schema=Asked)
    for node in (generate_query, retrieve, respond):
        builder.add_node(node)
    builder.add_edge(START, "generate_query")
    builder.add_edge("generate_query", "retrieve")
    builder.add_edge("retrieve", "respond")
    return builder.compile()


class Research(MessagesState, total=False):
    supervisor_messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]


def open_deep_research(model: BaseChatModel) -> Any:
    async def clarify_with_user(state: Research) -> Command[Literal["supervisor"]]:  # noqa: ARG001
        return Command(goto="supervisor", update={"notes": []})

    async def supervise(state: Research) -> dict[str, Any]:
        said = await model.ainvoke([("system", "Research."), *state["messages"]])
        return {"supervisor_messages": [said], "notes": [said.text]}

    async def report(state: Research) -> dict[str, Any]:
        prompt = [("system", "\n".join(state["notes"])), *state["messages"]]
        return {"messages": [await model.ainvoke(prompt)]}

    inner = StateGraph(Research).add_node("supervise", supervise).add_edge(START, "supervise")
    builder = StateGraph(Research, input_schema=MessagesState)
    builder.add_node("clarify_with_user", clarify_with_user)
    builder.add_node("supervisor", inner.compile())
    builder.add_node("report", report)
    builder.add_edge(START, "clarify_with_user")
    builder.add_edge("supervisor", "report")
    return builder.compile()


class Chosen(MessagesState):
    selected_tool_ids: Annotated[list[str], operator.add]


def bigtool(model: BaseChatModel) -> Any:
    """langgraph-bigtool 0.0.3, its latest, calls a method that ToolNode no longer has."""

    @tool
    def choose_tools(query: str) -> str:
        """Find tools."""
        return f"look_up, for {query}"

    async def agent(state: Chosen) -> dict[str, Any]:
        tools = [look_up] if state.get("selected_tool_ids") else [choose_tools]
        return {"messages": [await model.bind_tools(tools).ainvoke(state["messages"])]}

    async def select_tools(state: Chosen) -> dict[str, Any]:
        (call,) = state["messages"][-1].tool_calls  # type: ignore[union-attr]
        found = choose_tools.invoke(call["args"])
        said = ToolMessage(found, tool_call_id=call["id"])
        return {"messages": [said], "selected_tool_ids": ["look_up"]}

    def route(state: Chosen) -> str:
        asked = getattr(state["messages"][-1], "tool_calls", None)
        if not asked:
            return END
        return "select_tools" if asked[0]["name"] == "choose_tools" else "tools"

    builder = StateGraph(Chosen)
    builder.add_node("agent", agent)
    builder.add_node("select_tools", select_tools)
    builder.add_node("tools", ToolNode([look_up]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", route, ["select_tools", "tools", END])
    builder.add_edge("select_tools", "agent")
    builder.add_edge("tools", "agent")
    return builder.compile(store=InMemoryStore())


SERVED: dict[str, tuple[Callable[[BaseChatModel], Any], tuple[str, str]]] = {
    "memory-agent": (memory_agent, ("Told memory 1.",) * 2),
    "retrieval-agent": (retrieval_agent, ("An answer to One", "An answer to Two")),
    "open_deep_research": (open_deep_research, ("An answer to One", "An answer to Two")),
    "bigtool": (bigtool, ("Told look_up, for pages.", "Told page 1.")),
}


@pytest.mark.parametrize("name", SERVED)
async def test_a_public_graph_is_served_unchanged(name: str, tmp_path: Path) -> None:
    build, expected = SERVED[name]
    assert await plays(Animal(name, build, reply, "", thread=()), tmp_path) == [*expected]


class Project(TypedDict):
    changeme: str


class Enrichment(TypedDict):
    topic: str
    extraction_schema: dict[str, Any]


class Email(TypedDict):
    email_input: dict[str, Any]


class Triage(MessagesState):
    email_input: dict[str, Any]


def step(state: Any) -> dict[str, Any]:  # noqa: ARG001  its name is LangGraph's
    return {}


@pytest.mark.parametrize(
    ("builder", "names", "has_messages"),
    [
        (StateGraph(Project), {"changeme"}, False),
        (StateGraph(Enrichment), {"topic", "extraction_schema"}, False),
        (StateGraph(Triage, input_schema=Email), {"email_input"}, True),
    ],
    ids=["new-langgraph-project", "data-enrichment", "agents-from-scratch"],
)
def test_a_graph_without_messages_takes_its_own_input(
    builder: Any, names: set[str], has_messages: bool
) -> None:
    graph = builder.add_node("step", step).add_edge(START, "step").compile()
    attached = attach(graph, InMemorySaver())
    assert (attached.takes_messages, attached.has_messages) == (False, has_messages)
    assert attached.input_names == names


def test_a_graph_without_messages_in_a_node_of_one_that_has_them_takes_them() -> None:
    """A graph without messages in a node of one that has them."""
    inner = StateGraph(Project).add_node("step", step).add_edge(START, "step").compile()

    async def call(state: MessagesState) -> dict[str, Any]:
        done = await inner.ainvoke({"changeme": state["messages"][-1].text})
        return {"messages": [AIMessage(done["changeme"])]}

    outer = StateGraph(MessagesState).add_node("call", call).add_edge(START, "call").compile()
    assert attach(outer, InMemorySaver()).reducer == "by id"
