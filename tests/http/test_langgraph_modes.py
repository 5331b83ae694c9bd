"""LangGraph SDK: the stream modes that tell of tasks and states."""

from pathlib import Path
from typing import Any

from tests.graphs.zoo.todos import SECRET
from tests.support.endpoint import call_reply, text_reply
from tests.support.langgraph_reader import named_frames
from tests.support.scripted_server import ScriptedServer, scripted_server
from tests.support.serving import serving, settings

PATH = "/langgraph/threads/t1"


async def streamed(server: ScriptedServer, *modes: str) -> list[Any]:
    said = {"type": "human", "content": "What is 1 + 2?", "id": "h1"}
    body = {"assistant_id": "chat", "input": {"messages": [said]}, "stream_mode": [*modes]}
    answer = await server.http.http.post(f"{PATH}/runs/stream", json=body)
    assert answer.status_code == 200, answer.text
    assert "x-turnstream-ignored" not in answer.headers
    return [(one.event, one.data) for one in named_frames(answer.content)]


def added(tmp_path: Path) -> Any:
    call = call_reply(("add", '{"a":1,"b":2}'), ids=("call_1",))
    return scripted_server(tmp_path, call, text_reply("It is 3."))


def ids(state: Any) -> list[str]:
    return [one["id"] for one in state["values"]["messages"]]


async def test_a_task_begins_and_ends_for_each_model_call_and_tool(tmp_path: Path) -> None:
    async with added(tmp_path) as server:
        told = await streamed(server, "tasks")
    tasks = [data for event, data in told if event == "tasks"]
    begun = [one["name"] for one in tasks if "input" in one]
    ended = [one for one in tasks if "result" in one]
    assert begun == ["agent", "tools", "agent"]
    assert [one["name"] for one in ended] == begun
    assert {one["id"] for one in ended} == {one["id"] for one in tasks}
    assert [one["result"]["messages"][0]["type"] for one in ended] == ["ai", "tool", "ai"]
    assert {event for event, _ in told} == {"metadata", "tasks", "end"}


async def test_a_checkpoint_is_the_state_that_a_history_has(tmp_path: Path) -> None:
    async with added(tmp_path) as server:
        told = await streamed(server, "checkpoints")
        history = (await server.http.http.post(f"{PATH}/history", json={})).json()
    known = {one["checkpoint"]["checkpoint_id"]: ids(one) for one in history}
    states = [data for event, data in told if event == "checkpoints"]
    assert len(states) == 5
    for one in states:
        assert one["config"]["configurable"] == one["checkpoint"]
        assert known[one["checkpoint"]["checkpoint_id"]] == ids(one)
    assert states[-1]["values"] == history[0]["values"]


async def test_debug_numbers_both(tmp_path: Path) -> None:
    async with added(tmp_path) as server:
        told = await streamed(server, "debug")
    kinds = [(data["type"], data["step"]) for event, data in told if event == "debug"]
    steps = [(kind, step) for step in (1, 2, 3) for kind in ("task", "task_result", "checkpoint")]
    assert kinds == [("checkpoint", -1), ("checkpoint", 0), *steps]


async def test_raw_events_are_of_the_run_its_model_calls_and_its_tools(tmp_path: Path) -> None:
    async with added(tmp_path) as server:
        told = [data for event, data in await streamed(server, "events") if event == "events"]
    names = [one["event"] for one in told]
    assert (names[0], names[-1]) == ("on_chain_start", "on_chain_end")
    assert [names.count(f"on_chat_model_{what}") for what in ("start", "end")] == [2, 2]
    assert [names.count(f"on_tool_{what}") for what in ("start", "end")] == [1, 1]
    said = [one["data"]["chunk"] for one in told if one["event"] == "on_chat_model_stream"]
    assert "".join(str(one["content"]) for one in said) == "It is 3."
    assert {one["run_id"] for one in told if one["event"] == "on_chain_stream"} < {
        one["run_id"] for one in told
    }
    assert told[-1]["data"]["output"]["messages"][-1]["content"] == "It is 3."


TODOS = """
from tests.graphs.zoo.model import ReplyingModel
from tests.graphs.zoo.todos import note_both, todo_agent


def make():
    return todo_agent(ReplyingModel(replies=note_both))
"""


MILK, EGGS = ({"text": text, "done": False} for text in ("milk", "eggs"))


async def test_of_a_graph_of_ones_own_each_node_is_a_task_and_tells_what_clients_see(
    tmp_path: Path,
) -> None:
    file = tmp_path / "todos.py"
    file.write_text(TODOS)
    given = settings(tmp_path / "t.db", graph=f"{file}:make", client_state=("todos", "plan"))
    said = {"type": "human", "content": "Milk", "id": "h1"}
    modes = ["tasks", "updates", "debug", "events"]
    body = {"assistant_id": "todos", "input": {"messages": [said]}, "stream_mode": modes}
    async with serving(given) as client:
        answer = await client.http.post(f"{PATH}/runs/stream", json=body)
        assert answer.status_code == 200, answer.text
    told = [(one.event, one.data) for one in named_frames(answer.content)]
    assert SECRET not in answer.text
    assert "secrets" not in answer.text
    nodes = ["plan", "agent", "tools", "agent"]
    tasks = [data for event, data in told if event == "tasks"]
    begun = [one for one in tasks if "input" in one]
    ended = [one for one in tasks if "result" in one]
    assert [one["name"] for one in begun] == nodes
    assert sorted(one["id"] for one in ended) == sorted(one["id"] for one in begun)
    written = [sorted(one["result"]) for one in ended]
    assert written == [["plan"], ["messages"], ["messages", "todos"], ["messages"]]
    (result,) = [one["result"] for one in ended if one["name"] == "tools"]
    assert [message["type"] for message in result["messages"]] == ["tool", "tool"]
    assert result["todos"] == {"$writes": [[MILK], [EGGS]]}
    updates = [data for event, data in told if event == "updates"]
    assert [next(iter(one)) for one in updates] == ["plan", "agent", "tools", "tools", "agent"]
    assert updates[-1]["agent"]["messages"][0]["content"] == "Both noted."
    assert updates[0]["plan"]["plan"]["title"] == "Milk"
    todos = [one["tools"]["todos"] for one in updates if "todos" in one.get("tools", ())]
    assert todos == [[MILK], [EGGS]]
    debug = [
        data["payload"]["name"]
        for event, data in told
        if event == "debug" and data["type"] == "task"
    ]
    assert debug == nodes
    chains = [
        one["name"] for event, one in told if event == "events" and one["event"] == "on_chain_end"
    ]
    assert chains == [*nodes, "LangGraph"]


BESIDE = """
from typing import Any, TypedDict

from langgraph.graph import START, MessagesState, StateGraph

from tests.graphs.zoo.model import ReplyingModel


class Planned(MessagesState):
    plan: str


class Own(TypedDict):
    plan: str


def make() -> Any:
    model = ReplyingModel(replies=lambda prompt, tools: "Hello.")

    async def speak(state: Planned) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def think(state: Own) -> Own:
        return {"plan": "the subgraph's"}

    chain = StateGraph(Own)
    for number in range(9):  # The first of them begin while the other node speaks.
        chain.add_node(f"think{number}", think)
        chain.add_edge(f"think{number - 1}" if number else START, f"think{number}")
    subgraph: Any = chain.compile()

    async def consider(state: Planned) -> dict[str, Any]:
        await subgraph.ainvoke({"plan": ""})
        return {"plan": "Greet."}

    builder = StateGraph(Planned).add_node(speak).add_node(consider)
    return builder.add_edge(START, "speak").add_edge(START, "consider").compile()
"""


async def test_a_node_beside_a_subgraph_is_told_whole_and_the_state_of_the_subgraph_is_its_own(
    tmp_path: Path,
) -> None:
    file = tmp_path / "beside.py"
    file.write_text(BESIDE)
    given = settings(tmp_path / "t.db", graph=f"{file}:make", client_state=("plan",))
    said = {"type": "human", "content": "Hi", "id": "h1"}
    body = {"assistant_id": "beside", "input": {"messages": [said]}, "stream_mode": ["updates"]}
    async with serving(given) as client:
        answer = await client.http.post(
            f"{PATH}/runs/stream", json={**body, "stream_subgraphs": True}
        )
    told = named_frames(answer.content)
    updates = {node: one for f in told if f.event == "updates" for node, one in f.data.items()}
    (message,) = updates["speak"]["messages"]
    assert message["response_metadata"]["finish_reason"] == "stop"
    assert updates["consider"] == {"plan": "Greet."}
    below = [frame.data for frame in told if frame.event.startswith("updates|consider:")]
    assert below == [{f"think{number}": None} for number in range(9)]
