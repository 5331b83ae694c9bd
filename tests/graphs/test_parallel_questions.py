"""Parallel calls that ask: in whatever order they run, each gets the answer to its own question."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from tests.support.serving import Client, Event, serving, settings
from turnstream.graphs.sibling_calls import keep_answers_apart

GRAPH = """
import asyncio
import operator
import threading
from typing import Annotated

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send, interrupt

ASKED = threading.Event()
FAILS = set()
RUNS = {}


@tool
def erase(file: str) -> str:
    "Ask, late, in a worker thread."
    ASKED.wait(0.02)
    return interrupt(f"erase {file}")


@tool
def send(file: str) -> str:
    "Ask at once, in a worker thread."
    ASKED.set()
    return interrupt(f"send {file}")


@tool
async def aerase(file: str) -> str:
    "Ask when the other async calls have asked."
    for _ in range(50):
        await asyncio.sleep(0)
    return interrupt(f"aerase {file}")


@tool
async def asend(file: str) -> str:
    "Ask at once."
    return interrupt(f"asend {file}")


@tool
async def twice(file: str) -> str:
    "Ask two questions, one after the other."
    return f"{interrupt(f'first {file}')}, {interrupt(f'second {file}')}"


@tool
async def plain(file: str) -> str:
    "Ask nothing."
    return f"plain {file}"


@tool
async def counted(file: str) -> str:
    "Count its runs."
    RUNS[file] = RUNS.get(file, 0) + 1
    return f"run {RUNS[file]}"


@tool
def approved(file: str) -> str:
    "Ask, then count its runs, in a worker thread."
    answer = interrupt(f"approved {file}")
    RUNS[file] = RUNS.get(file, 0) + 1
    return f"{answer}, run {RUNS[file]}"


@tool
async def fails_later(file: str) -> str:
    "Ask, and find at the second run that there is nothing to ask."
    if file in FAILS:
        return "nothing to ask"
    FAILS.add(file)
    return interrupt(f"fails_later {file}")


def asking(state):
    return {"messages": [AIMessage(interrupt("inner " + state["messages"][-1].text))]}


inner = StateGraph(MessagesState).add_node("asking", asking).add_edge(START, "asking").compile()


@tool
async def late_inner(file: str) -> str:
    "Leave a question to a graph that starts late."
    for _ in range(50):
        await asyncio.sleep(0)
    return (await inner.ainvoke({"messages": [("user", file)]}))["messages"][-1].text


@tool
async def nested(file: str) -> str:
    "Leave a question to a graph."
    return (await inner.ainvoke({"messages": [("user", file)]}))["messages"][-1].text


TOOLS = [erase, send, aerase, asend, twice, plain, fails_later, late_inner, nested]
TOOLS += [counted, approved]
node = ToolNode(TOOLS)


def speak(state):
    names = state["messages"][-1].text.split()
    calls = [{"name": n, "args": {"file": f"f{i}"}, "id": f"c{i}"} for i, n in enumerate(names)]
    return {"messages": [AIMessage("", tool_calls=calls)]}


def built(tools):
    graph = StateGraph(MessagesState)
    graph.add_node("speak", speak)
    graph.add_node("tools", tools)
    graph.add_edge(START, "speak")
    graph.add_edge("speak", "tools")
    return graph


graph = built(node)
in_function = built(lambda state: node.invoke(state))


async def in_between(state):
    before = interrupt("before")
    answered = await node.ainvoke(state)
    after = interrupt("after")
    return {"messages": [*answered["messages"], AIMessage(f"{before}, {after}")]}


mixed = built(in_between)


async def wrapped(request, execute):
    if request.tool_call["name"] == "plain":
        for _ in range(50):
            await asyncio.sleep(0)
    allowed = interrupt(f"allow {request.tool_call['name']} {request.tool_call['args']['file']}")
    answer = await execute(request)
    return answer.model_copy(update={"content": f"{allowed}, {answer.content}"})


middleware = built(ToolNode(TOOLS, awrap_tool_call=wrapped))


def three(state):
    answers = [interrupt(question) for question in ("first", "second", "third")]
    return {"messages": [AIMessage(", ".join(map(str, answers)))]}


thrice = StateGraph(MessagesState).add_node("three", three).add_edge(START, "three")
"""


@asynccontextmanager
async def served(folder: Path, name: str = "graph") -> AsyncIterator[Client]:
    file = folder / "parallel_agent.py"
    file.write_text(GRAPH)
    given = {"graph": f"{file}:{name}", "undeclared_results": "show"}
    async with serving(settings(folder / "t.db", **given)) as client:
        yield client


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with served(tmp_path) as client:
        yield client


Questions = dict[str, str]
"""The questions of a run, by interrupt id."""


def questions(events: list[Event]) -> Questions:
    items = [item for event in events if event.type == "data" for item in event.data["data"]]
    return {
        item["data"]["id"]: item["data"]["value"] for item in items if item["name"] == "interrupt"
    }


async def played(client: Client, calls: str) -> list[str]:
    """The results of the calls, in order, when each question is answered with its own words."""
    thread_id, events = await client.turn({"message": calls})
    while asked := questions(events):
        _, events = await client.turn({"thread_id": thread_id, "resume": asked})
    thread = await client.thread(thread_id)
    parts = [part for message in thread["messages"] for part in message["parts"]]
    return [part["result"] for part in parts if part["type"] == "tool-call"]


@pytest.mark.parametrize(
    ("calls", "results"),
    [
        ("erase send", ["erase f0", "send f1"]),
        ("send erase send", ["send f0", "erase f1", "send f2"]),
        ("aerase asend", ["aerase f0", "asend f1"]),
        ("asend aerase erase", ["asend f0", "aerase f1", "erase f2"]),
        ("aerase twice asend", ["aerase f0", "first f1, second f1", "asend f2"]),
        ("twice aerase", ["first f0, second f0", "aerase f1"]),
        ("plain aerase plain asend", ["plain f0", "aerase f1", "plain f2", "asend f3"]),
        ("late_inner nested", ["inner f0", "inner f1"]),
        ("late_inner asend nested", ["inner f0", "asend f1", "inner f2"]),
    ],
)
async def test_each_parallel_call_gets_the_answer_to_its_own_question(
    client: Client, calls: str, results: list[str]
) -> None:
    assert await played(client, calls) == results


async def test_a_call_that_asks_no_more_leaves_the_answers_of_others_alone(client: Client) -> None:
    results = await played(client, "fails_later send asend")
    assert results == ["nothing to ask", "send f1", "asend f2"]


async def test_calls_in_the_threads_of_a_function_get_their_own_answers(tmp_path: Path) -> None:
    async with served(tmp_path, "in_function") as client:
        assert await played(client, "erase send erase") == [
            "erase f0",
            "send f1",
            "erase f2",
        ]


async def test_a_node_that_asks_before_and_after_its_calls_gets_its_own_answers(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, "mixed") as client:
        assert await played(client, "aerase twice asend") == [
            "aerase f0",
            "first f1, second f1",
            "asend f2",
        ]
        thread = (await client.http.get("/threads")).json()["threads"][0]["id"]
        *_, text = (await client.thread(thread))["messages"][-1]["parts"]
        assert text["text"] == "before, after"


async def test_middleware_that_asks_gets_the_answer_for_its_call(tmp_path: Path) -> None:
    async with served(tmp_path, "middleware") as client:
        assert await played(client, "plain aerase asend") == [
            "allow plain f0, plain f0",
            "allow aerase f1, aerase f1",
            "allow asend f2, asend f2",
        ]


@pytest.mark.parametrize("graph", ["graph", "in_function"])
async def test_what_has_ended_does_not_run_again_with_the_answers_of_others(
    graph: str, tmp_path: Path
) -> None:
    async with served(tmp_path, graph) as client:
        calls = "approved erase send" if graph == "in_function" else "approved counted twice erase"
        first, *others = await played(client, calls)
        assert first == "approved f0, run 1"
        assert others[0] in ("erase f1", "run 1")


async def test_a_restart_between_two_answers_loses_neither(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        thread_id, events = await client.turn({"message": "twice aerase"})
        for _ in range(2):
            answers = questions(events)
            _, events = await client.turn({"thread_id": thread_id, "resume": answers})
    async with served(tmp_path) as client:
        _, events = await client.turn({"thread_id": thread_id, "resume": questions(events)})
        assert questions(events) == {}
        parts = (await client.thread(thread_id))["messages"][-1]["parts"]
        assert [part["result"] for part in parts] == ["first f0, second f0", "aerase f1"]


def two_calls() -> Any:
    """A graph of LangGraph alone, whose two calls ask in the threads of a synchronous run."""

    def ask(name: str) -> str:
        """Ask."""
        return str(interrupt(name))

    calls = [{"name": "ask", "args": {"name": name}, "id": name} for name in ("a", "b")]
    graph: Any = StateGraph(MessagesState)
    graph.add_node("speak", lambda _state: {"messages": [AIMessage("", tool_calls=calls)]})
    graph.add_node("tools", ToolNode([ask]))
    graph.add_edge(START, "speak").add_edge("speak", "tools")
    return graph.compile(checkpointer=InMemorySaver())


def test_a_graph_that_is_run_without_the_server_takes_answers_without_ids_as_before() -> None:
    keep_answers_apart()
    graph, config = two_calls(), {"configurable": {"thread_id": "t"}}
    graph.invoke({"messages": [("user", "Go")]}, config)
    assert [one.value for one in graph.get_state(config).interrupts] == ["a"]
    for answer in ("yes", "no"):
        graph.invoke(Command(resume=answer), config)
    results = graph.get_state(config).values["messages"][-2:]
    assert sorted(message.content for message in results) == ["no", "yes"]


async def test_an_answer_reaches_no_later_question_of_its_node(tmp_path: Path) -> None:
    async with served(tmp_path, "thrice") as client:
        thread_id, events = await client.turn({"message": "Go"})
        _, events = await client.turn({"thread_id": thread_id, "resume": "yes"})
        asked = questions(events)
        _, events = await client.turn({"thread_id": thread_id, "resume": dict.fromkeys(asked)})
        assert [*questions(events).values()] == ["third"]
        await client.turn({"thread_id": thread_id, "resume": "no"})
        thread = await client.thread(thread_id)
        assert thread["messages"][-1]["parts"][0]["text"] == "yes, None, no"


async def test_calls_ask_in_their_order_and_a_new_message_discards_the_questions_that_are_left(
    client: Client,
) -> None:
    thread_id, events = await client.turn({"message": "aerase asend erase"})
    assert [*questions(events).values()] == ["aerase f0"]
    _, events = await client.turn({"thread_id": thread_id, "resume": "yes"})
    assert [*questions(events).values()] == ["asend f1"]
    _, events = await client.turn({"thread_id": thread_id, "message": "send aerase"})
    assert [*questions(events).values()] == ["send f0"]


async def test_in_every_thread_each_of_two_calls_gets_its_answer(client: Client) -> None:
    for number in range(25):
        calls = "erase send" if number % 2 else "aerase send"
        assert await played(client, calls) == [f"{calls.split()[0]} f0", "send f1"]
