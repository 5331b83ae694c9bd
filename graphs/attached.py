"""A graph as its author compiled it, attached to our checkpointer.

The author's object is not touched: a copy gets the checkpointer, and a node that does nothing,
through which messages enter a thread outside a run. An update as that node asks no router and makes
no node due. Read in LangGraph 1.2.22: `CompiledStateGraph.attach_node`, and `aupdate_state`, which
runs the writers of the node that it is given.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    convert_to_messages,
)
from langchain_core.runnables.graph import Graph as DrawableGraph
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph, add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore
from langgraph.types import Overwrite

from turnstream.graphs import brought_tools
from turnstream.graphs.app_context import STATE_KEYS
from turnstream.graphs.approval_rules import refuse_gated_tools
from turnstream.graphs.client_state import NOTHING, ClientState
from turnstream.graphs.context import GraphContext
from turnstream.graphs.factories import Factory, FactoryCall
from turnstream.graphs.faults import GraphError
from turnstream.graphs.graph_tools import tools_of
from turnstream.graphs.result_view import ResultView, declared_results
from turnstream.graphs.sibling_calls import keep_answers_apart
from turnstream.graphs.ui_tools import GraphUITool
from turnstream.tools.contract import Disposition

logger = logging.getLogger(__name__)

ENTRY = "turnstream_entry"

Graph = CompiledStateGraph[Any, Any, Any, Any]
Reducer = Literal["by id", "appends", "replaces"]
"""The state's treatment of messages that come: a message of a known id takes the other's place;
they are put behind the others, whatever their ids; they take the place of all others."""


@dataclass(frozen=True, slots=True)
class RunFactory:
    """Makes a graph anew for each run."""

    factory: Factory
    checkpointer: BaseCheckpointSaver[Any]
    store: BaseStore | None

    async def make(
        self, config: Mapping[str, Any], user: Any, context: Any, stack: AsyncExitStack
    ) -> Graph:
        """Raises GraphError for a graph that cannot be served, and what the factory raises."""
        call = FactoryCall(config, user, self.store, is_run=True, context=context)
        graph = await self.factory(call, stack)
        refuse_gated_tools(graph)
        if not isinstance(graph, CompiledStateGraph):
            raise GraphError("its factory made a functional @entrypoint for a run")
        return _with_entry(graph, self.checkpointer, self.store)


@dataclass(frozen=True, slots=True)
class AttachedGraph:
    graph: Graph
    """The copy."""
    records: Graph
    """The same for reading and repairing threads: it makes no objects of a state, which a class of
    the author's may refuse."""
    reducer: Reducer
    context: GraphContext
    input_names: frozenset[str]
    """The keys of its input beside messages."""
    tool_names: frozenset[str]
    """The tools that it runs on the server."""
    results: ResultView
    """The part of its tools' results that clients see."""
    description: str | None = None
    configurable: Mapping[str, Any] = field(default_factory=dict)
    """The configurable values that a run has without its caller's."""
    client_state: ClientState = NOTHING
    """The part of its state that clients see beside the messages."""
    factory: RunFactory | None = None
    """None: the graph is the same for all runs."""
    folders: tuple[Path, ...] = ()
    """The folders of its author's files."""
    ui_tools: Mapping[str, GraphUITool] = field(default_factory=dict)
    """Its tools that live in the browser, by name."""
    is_built_in: bool = False
    """True if it keeps to the rights of its context by itself."""

    @property
    def ui_dispositions(self) -> Mapping[str, Disposition]:
        """The sides that end the calls of its UI tools, by the names of these."""
        return {name: tool.disposition for name, tool in self.ui_tools.items()}

    @property
    def state_schemas(self) -> Sequence[type[Any]]:
        """The classes of its states."""
        return [*self.graph.builder.schemas]

    @property
    def node_names(self) -> Sequence[str]:
        """The nodes that a client may take to have changed the state: none of the built-in
        graph."""
        return () if self.is_built_in else [name for name in self.graph.nodes if name != ENTRY]

    def drawing(self, levels: int | bool = False) -> DrawableGraph:
        """Draw the graph as its author made it. Subgraphs are drawn as nodes below so many levels;
        True: nowhere."""
        drawn = self.graph.get_graph(xray=levels)
        if ours := drawn.nodes.get(ENTRY):
            drawn.remove_node(ours)
        return drawn

    @property
    def has_messages(self) -> bool:
        """True if its state has messages."""
        return "messages" in self.graph.channels

    @property
    def takes_messages(self) -> bool:
        """True if its input has messages: else it runs on other input alone."""
        return "messages" in _input_schema(self.graph)

    @property
    def client_tool_keys(self) -> frozenset[str]:
        """The keys of its input that take tools of a client; none if its context takes them."""
        takes_keys = not self.context.is_ours
        return self.input_names & brought_tools.KEYS if takes_keys else frozenset()

    @property
    def takes_client_tools(self) -> bool:
        return self.context.is_ours or bool(self.client_tool_keys)

    @property
    def app_context_keys(self) -> frozenset[str]:
        """The keys of its input that take the texts of an app, as its adapters name them."""
        return self.input_names.intersection(STATE_KEYS)

    @property
    def takes_app_context(self) -> bool:
        return self.is_built_in or bool(self.app_context_keys)

    @property
    def streams_subgraphs(self) -> bool:
        """True if clients see what its subgraphs say while they say it: of a graph with our context
        a subgraph is a part of a tool, which does not speak to the user."""
        return not self.context.is_ours

    def messages(self, value: Any) -> Sequence[AnyMessage]:
        """Return the messages of the channel `messages`, all with ids.

        Where the reducer does not make messages of dicts and tuples, it is done here. One without
        an id is named for its place behind the last that has one. What cannot be read as a message
        is left out.
        """
        if self.context.is_ours or (isinstance(value, list) and all(map(_is_named, value))):
            return value  # type: ignore[no-any-return]
        return _with_ids(value)

    def update(self, before: Any, messages: Sequence[AnyMessage]) -> Any:
        """The value of `messages` that merges these by id into what the channel holds before, for a
        graph whose reducer does not."""
        merged: Any = add_messages(list(self.messages(before)), list(messages))  # type: ignore[arg-type]
        return Overwrite(merged) if self.reducer == "appends" else merged


def attach(
    graph: Pregel[Any, Any, Any, Any],
    checkpointer: BaseCheckpointSaver[Any],
    context: Mapping[str, Any] | None = None,
    store: BaseStore | None = None,
    results: ResultView | None = None,
    client_context: Sequence[str] = (),
) -> AttachedGraph:
    """`context` are values for the fields of the graph's own context schema, of which clients may
    set those that `client_context` names; `store` takes the place of the graph's own. Without
    `results` clients see what the graph's tools declare.

    Raises GraphError if the graph cannot be served.
    """
    keep_answers_apart()
    if not isinstance(graph, CompiledStateGraph):
        raise GraphError(
            "it is a functional @entrypoint, which has no messages; call it in a node of a "
            "StateGraph of MessagesState"
        )
    made = GraphContext(graph.context_schema, context or {})
    _check_context(made, client_context)
    reducer: Reducer = "by id" if made.is_ours else _reducer(graph)
    copy = _with_entry(graph, checkpointer, store)
    tools = tools_of(graph)
    return AttachedGraph(
        copy,
        _without_classes(copy),
        reducer,
        made,
        _input_names(graph),
        frozenset(tools),
        results or declared_results(graph, {}),
        ui_tools={name: tool for name, tool in tools.items() if isinstance(tool, GraphUITool)},
    )


def _check_context(context: GraphContext, client_context: Sequence[str]) -> None:
    """Raises GraphError if the context lacks a field that no client may set, or cannot be made."""
    missing = context.missing({})
    if missing and missing.issubset(client_context):
        return  # The first request that brings them shows the rest.
    try:
        context.check({})
    except ValueError as error:
        remedy = ""
        if missing:
            names = ",".join(sorted(missing))
            remedy = f"; give them there, or let clients: TURNSTREAM_CLIENT_CONTEXT={names}"
        raise GraphError(
            f"its context cannot be made of TURNSTREAM_CONTEXT, which gives "
            f"{', '.join(context.settings) or 'nothing'}: {error}{remedy}"
        ) from error


def _with_entry(
    graph: Graph, checkpointer: BaseCheckpointSaver[Any], store: BaseStore | None = None
) -> Graph:
    fresh = {"nodes": dict(graph.nodes), "channels": dict(graph.channels)}
    copy = graph.copy({**fresh, "checkpointer": checkpointer, "store": store or graph.store})
    lone: Any = StateGraph(graph.builder.state_schema)
    copy.attach_node(ENTRY, lone.add_node(ENTRY, _do_nothing).nodes[ENTRY])
    copy.validate()
    return copy


def _without_classes(graph: Graph) -> Graph:
    if all(node.mapper is None for node in graph.nodes.values()):
        return graph
    nodes = {name: node.copy({"mapper": None}) for name, node in graph.nodes.items()}
    return graph.copy({"nodes": nodes})


def _reducer(graph: Graph) -> Reducer:
    """Tried, with messages of ids that are the same and others. Raises GraphError."""
    if "messages" not in graph.channels:
        return "by id"
    trial = _with_entry(graph, InMemorySaver())
    config: Any = {"configurable": {"thread_id": "trial"}}
    rounds = (
        [HumanMessage("one", id="1")],
        [HumanMessage("two", id="1"), AIMessage("three", id="2")],
        [HumanMessage("four", id="3")],
    )
    try:
        for messages in rounds:
            trial.update_state(config, {"messages": messages}, as_node=ENTRY)
        kept = convert_to_messages(trial.get_state(config).values["messages"])
    except Exception as error:
        raise GraphError(f"its state does not take messages: {error}") from error
    match " ".join(str(message.content) for message in kept):
        case "two three four":
            return "by id"
        case "one two three four":
            return "appends"
        case "four":
            return "replaces"
        case other:
            raise GraphError(
                "the reducer of its messages neither replaces by id nor appends: of one, two (in "
                f"its place), three and four it makes {other!r}; use add_messages"
            )


def _with_ids(value: Any) -> list[AnyMessage]:
    messages: list[AnyMessage] = []
    places, before = Counter[str](), "start"
    for message in _converted(value if isinstance(value, list) else [value]):
        if message.id:
            before = message.id
            messages.append(message)
        else:
            places[before] += 1
            # A copy: the author's object is a part of the graph's state.
            id = f"{before}.{places[before]}"
            messages.append(message.model_copy(update={"id": id}))
    return messages


def _is_named(item: Any) -> bool:
    return isinstance(item, BaseMessage) and bool(item.id)


def _converted(items: Sequence[Any]) -> Iterator[AnyMessage]:
    for item in items:
        try:
            yield from cast(list[AnyMessage], convert_to_messages([item]))
        except Exception:  # noqa: BLE001  whatever a graph keeps there, its thread can be read
            _warn_of(type(item).__name__)


@cache
def _warn_of(kind: str) -> None:
    """Once a type: a thread is read again and again."""
    logger.warning(
        "the graph's messages hold a value of type %(kind)s that is no message; clients do not see "
        "it, and stopping a run removes it: keep it under another key of the state",
        {"kind": kind},
    )


def _input_schema(graph: Graph) -> Mapping[str, Any]:
    return graph.builder.schemas[graph.builder.input_schema]


def _input_names(graph: Graph) -> frozenset[str]:
    return frozenset(_input_schema(graph)) - {"messages"}


async def _do_nothing(_state: Any) -> None:
    pass
