"""LangGraph SDK: the stream modes that tell of tasks and states."""

from pathlib import Path
from typing import Any

from tests.support.endpoint import call_reply, text_reply
from tests.support.langgraph_reader import named_frames
from tests.support.scripted_server import ScriptedServer, scripted_server

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
    assert len(states) == 4
    for one in states:
        assert one["config"]["configurable"] == one["checkpoint"]
        assert known[one["checkpoint"]["checkpoint_id"]] == ids(one)
    assert states[-1]["values"] == history[0]["values"]


async def test_debug_numbers_both(tmp_path: Path) -> None:
    async with added(tmp_path) as server:
        told = await streamed(server, "debug")
    kinds = [(data["type"], data["step"]) for event, data in told if event == "debug"]
    turn = [("task", 0), ("task_result", 0), ("checkpoint", 0)]
    assert [one for one in kinds if one[0] != "task"][:2] == turn[1:]
    assert sorted({step for _, step in kinds}) == [*range(4)]


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
