"""A graph is attached to our checkpointer as it is; messages enter it without asking its nodes."""

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel

from turnstream.graphs.attached import ENTRY, AttachedGraph, attach
from turnstream.graphs.context import TurnContext
from turnstream.graphs.faults import GraphError
from turnstream.graphs.state import ChatState

CONFIG: Any = {"configurable": {"thread_id": "t"}}
RUN = TurnContext(run_id="run_1")


class Appended(TypedDict):
    messages: Annotated[list[AnyMessage], operator.add]


class Plain(TypedDict):
    messages: list[AnyMessage]


class Model(BaseModel):
    messages: Annotated[list[AnyMessage], operator.add]
    language: str


def only_the_last(_old: list[AnyMessage], new: list[AnyMessage]) -> list[AnyMessage]:
    return [*new[-1:], *new[-1:]]


def fussy(_old: list[AnyMessage], new: list[AnyMessage]) -> list[AnyMessage]:
    raise ValueError(f"no {len(new)}")


class Odd(TypedDict):
    messages: Annotated[list[AnyMessage], only_the_last]


class Fussy(TypedDict):
    messages: Annotated[list[AnyMessage], fussy]


@dataclass
class Language:
    name: str = "English"


@dataclass
class Needy:
    name: str
    tone: str = field(default="kind")


class Typed(TypedDict):
    name: str


class Settings(BaseModel):
    name: str = "German"


class Secretive(BaseModel):
    key: str
    port: int


def graph_of(state: Any = MessagesState, context: Any = None, first: Any = None) -> Any:
    """It answers with the name in its context."""

    async def speak(_state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        given = runtime.context
        name = given["name"] if isinstance(given, dict) else getattr(given, "name", "nobody")
        return {"messages": [AIMessage(name, id="said")]}

    graph: Any = StateGraph(state, context_schema=context)
    graph.add_node("speak", speak)
    if first:
        graph.add_conditional_edges(START, first, ["speak", END])
    else:
        graph.add_edge(START, "speak")
    graph.add_edge("speak", END)
    return graph.compile()


def attached(graph: Any, **context: Any) -> AttachedGraph:
    return attach(graph, InMemorySaver(), context)


@pytest.mark.parametrize(
    ("state", "reducer"),
    [
        (MessagesState, "by id"),
        (ChatState, "by id"),
        (Appended, "appends"),
        (Model, "appends"),
        (Plain, "replaces"),
    ],
)
def test_what_a_state_does_with_messages_is_found_out_by_trying(state: Any, reducer: str) -> None:
    assert attached(graph_of(state)).reducer == reducer


@pytest.mark.parametrize(
    ("state", "fault"),
    [(Odd, "makes 'four four'; use add_messages"), (Fussy, "does not take messages: no 1")],
)
def test_a_reducer_that_does_something_else_is_refused(state: Any, fault: str) -> None:
    with pytest.raises(GraphError, match=fault):
        attached(graph_of(state))


@pytest.mark.parametrize("state", [MessagesState, Appended, Plain])
async def test_messages_enter_by_id_whatever_the_reducer_does(state: Any) -> None:
    attachment = attached(graph_of(state))
    rounds: list[list[AnyMessage]] = [
        [HumanMessage("one", id="1"), AIMessage("two", id="2")],
        [AIMessage("three", id="2"), HumanMessage("four", id="4")],
    ]
    for messages in rounds:
        before = (await attachment.graph.aget_state(CONFIG)).values.get("messages", [])
        update: Any = messages
        if attachment.reducer != "by id":
            update = attachment.update(before, messages)
        await attachment.graph.aupdate_state(CONFIG, {"messages": update}, as_node=ENTRY)
    state_now = await attachment.graph.aget_state(CONFIG)
    assert [m.content for m in state_now.values["messages"]] == ["one", "three", "four"]
    assert state_now.next == ()


QUESTION = HumanMessage("Hello", id="1")


@pytest.mark.parametrize("state", [Appended, Plain])
def test_what_a_state_keeps_as_it_came_is_read_as_messages(state: Any) -> None:
    said = [{"role": "ai", "content": "dict"}, ("ai", "tuple"), "text", AIMessage("message")]
    messages = attached(graph_of(state)).messages([QUESTION, *said])
    assert [message.content for message in messages[1:]] == ["dict", "tuple", "text", "message"]
    assert [message.type for message in messages] == ["human", "ai", "ai", "human", "ai"]


@pytest.mark.parametrize("value", [("ai", "Hello"), {"role": "ai", "content": "Hello"}])
def test_one_message_that_is_no_list_is_read_as_one(value: Any) -> None:
    (message,) = attached(graph_of(Plain)).messages(value)
    assert (message.type, message.content) == ("ai", "Hello")


def test_messages_without_ids_keep_theirs_when_others_come_or_go() -> None:
    first, second = ("ai", "one"), AIMessage("two")
    read = attached(graph_of(Plain)).messages
    ids = [message.id for message in read([QUESTION, first, second])]
    more = [QUESTION, first, second, HumanMessage("And?", id="2"), ("ai", "three")]
    assert [message.id for message in read([("system", "Be brief."), *more])][1:4] == ids
    assert len({message.id for message in read(more)}) == len(more)
    assert second.id is None


def test_ids_stay_apart_where_two_messages_have_the_same_one() -> None:
    messages = attached(graph_of(Appended)).messages([QUESTION, ("ai", "a"), QUESTION, ("ai", "b")])
    assert messages[1].id != messages[3].id


def test_what_is_no_message_is_left_out_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    class Draft:
        pass

    read = attached(graph_of(Appended)).messages
    for _ in range(2):
        assert read([QUESTION, Draft(), {"role": "nobody", "content": ""}, None]) == [QUESTION]
    assert [record.getMessage() for record in caplog.records if "Draft" in record.getMessage()] == [
        "the graph's messages hold a value of type Draft that is no message; clients do not see "
        "it, and stopping a run removes it: keep it under another key of the state"
    ]


def test_messages_that_the_reducer_has_made_are_taken_as_they_are() -> None:
    kept = [QUESTION]
    assert attached(graph_of(MessagesState)).messages(kept) is kept


async def test_a_message_that_enters_asks_no_router_and_makes_no_node_due() -> None:
    def first(_state: Any) -> str:
        raise KeyError("language")

    attachment = attached(graph_of(first=first))
    update = {"messages": [HumanMessage("one", id="1")]}
    await attachment.graph.aupdate_state(CONFIG, update, as_node=ENTRY)
    assert (await attachment.graph.aget_state(CONFIG)).next == ()


async def test_the_authors_object_is_not_touched() -> None:
    graph = graph_of()
    nodes, channels = set(graph.nodes), set(graph.channels)
    attached(graph)
    assert (set(graph.nodes), set(graph.channels), graph.checkpointer) == (nodes, channels, None)


async def said(attachment: AttachedGraph) -> str:
    state: Any = {"messages": [HumanMessage("Hello", id="1")]}
    context: Any = attachment.context.of(RUN, {})
    result = await attachment.graph.ainvoke(state, CONFIG, context=context)
    return str(result["messages"][-1].content)


@pytest.mark.parametrize(
    ("schema", "given", "name"),
    [
        (None, {}, "nobody"),
        (Language, {}, "English"),
        (Language, {"name": "Dutch"}, "Dutch"),
        (Settings, {}, "German"),
        (Settings, {"name": "Dutch"}, "Dutch"),
        (Typed, {"name": "Dutch"}, "Dutch"),
        (Needy, {"name": "Dutch"}, "Dutch"),
    ],
)
async def test_a_graph_gets_the_context_that_it_declares(
    schema: Any, given: dict[str, str], name: str
) -> None:
    attachment = attached(graph_of(context=schema), **given)
    assert await said(attachment) == name
    assert not attachment.takes_client_tools


def test_a_graph_that_declares_ours_gets_ours() -> None:
    attachment = attached(graph_of(context=TurnContext))
    assert attachment.context.of(RUN, {}) is RUN
    assert attachment.takes_client_tools


@pytest.mark.parametrize(
    ("schema", "given", "fault"),
    [
        (Needy, {}, "gives nothing: .*'name'"),
        (Typed, {}, "missing name"),
        (Language, {"tone": "kind"}, "gives tone: .*'tone'"),
        (Settings, {"name": 5}, "valid string"),
    ],
)
def test_a_context_that_cannot_be_made_is_refused_at_the_start(
    schema: Any, given: dict[str, Any], fault: str
) -> None:
    with pytest.raises(GraphError, match=fault):
        attached(graph_of(context=schema), **given)


def test_a_refused_context_shows_no_value() -> None:
    with pytest.raises(GraphError) as raised:
        attached(graph_of(context=Secretive), key="sk-secret")
    assert "port: Field required" in str(raised.value)
    assert "sk-secret" not in str(raised.value)
