"""LangGraph SDK: messages that a graph writes in the user's name, or as the result of no call, are
in the state, where they stand."""

from pathlib import Path
from typing import Any

from tests.support.langgraph_reader import named_frames
from tests.support.serving import Client, serving, settings

GRAPH = """
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph


def draft(state):
    said = [one for one in state["messages"] if isinstance(one, HumanMessage)]
    gone = [RemoveMessage(one.id) for one in said if one.text == "Shorter."][:1]
    return {"messages": [*gone, AIMessage("A draft.")]}


def judge(state):
    note = ToolMessage("Noted.", tool_call_id="none", name="note")
    return {"messages": [HumanMessage("Shorter."), note]}


def rewrite(state):
    return {"messages": [AIMessage("Short.")]}


graph = StateGraph(MessagesState).add_sequence([draft, judge, rewrite]).add_edge(START, "draft")
graph = graph.compile()
"""
PATH = "/langgraph/threads/t1"
TURN = ["A draft.", "Shorter.", "Noted.", "Short."]


def texts(values: Any) -> list[str]:
    return [one["content"] for one in values["messages"]]


async def run(client: Client, words: str) -> list[Any]:
    said = {"type": "human", "content": words}
    modes = ["values", "messages-tuple"]
    body = {"assistant_id": "judged", "input": {"messages": [said]}, "stream_mode": modes}
    answer = await client.http.post(f"{PATH}/runs/stream", json=body)
    assert answer.status_code == 200, answer.text
    told = named_frames(answer.content)
    joined = await client.http.get(f"/langgraph{answer.headers['location']}")
    assert joined.content == answer.content
    return told


async def test_they_are_in_the_stream_and_in_the_thread(tmp_path: Path) -> None:
    file = tmp_path / "judged.py"
    file.write_text(GRAPH)
    async with serving(settings(tmp_path / "t.db", graph=f"{file}:graph")) as client:
        told = await run(client, "Write")
        values = [texts(one.data) for one in told if one.event == "values"]
        whole = ["Write", *TURN]
        assert values == [whole[:1], whole[:2], whole[:4], whole]
        state = (await client.http.get(f"{PATH}/state")).json()
        assert texts(state["values"]) == whole
        kinds = [one["type"] for one in state["values"]["messages"]]
        assert kinds == ["human", "ai", "human", "tool", "ai"]
        history = (await client.http.post(f"{PATH}/history", json={})).json()
        assert [texts(one["values"]) for one in history] == [whole[:n] for n in range(5, -1, -1)]
        again = await run(client, "Again")
        rest = [text for text in whole if text != "Shorter."]
        ends = [texts(one.data) for one in again if one.event == "values"]
        assert ends[0] == [*whole, "Again"]
        assert ends[-1] == [*rest, "Again", *TURN]
        state = (await client.http.get(f"{PATH}/state")).json()
        assert texts(state["values"]) == ends[-1]
        removed = [one.data[0] for one in again if one.event == "messages"]
        assert [one["type"] for one in removed if one["type"] == "remove"] == ["remove"]


CHANGES = """
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, MessagesState, StateGraph


def judge(state):
    notes = [HumanMessage("Shorter.", id="n1"), HumanMessage("Politer.", id="n2")]
    return {"messages": [AIMessage("A draft."), *notes]}


def think(state):
    return {"messages": [RemoveMessage("n1"), HumanMessage("Polite.", id="n2")]}


def rewrite(state):
    return {"messages": [AIMessage("Short.")]}


graph = StateGraph(MessagesState).add_sequence([judge, think, rewrite]).add_edge(START, "judge")
graph = graph.compile()
"""


async def test_one_that_its_own_run_changes_or_removes_is_in_the_stream_as_in_the_thread(
    tmp_path: Path,
) -> None:
    file = tmp_path / "judged.py"
    file.write_text(CHANGES)
    async with serving(settings(tmp_path / "t.db", graph=f"{file}:graph")) as client:
        told = await run(client, "Write")
        state = (await client.http.get(f"{PATH}/state")).json()
        assert texts(state["values"]) == ["Write", "A draft.", "Polite.", "Short."]
        assert [one.data for one in told if one.event == "values"][-1] == state["values"]


async def test_an_answer_behind_one_is_made_anew_and_the_branch_that_is_left_has_them(
    tmp_path: Path,
) -> None:
    file = tmp_path / "judged.py"
    file.write_text(GRAPH)
    async with serving(settings(tmp_path / "t.db", graph=f"{file}:graph")) as client:
        await run(client, "Write")
        before = (await client.http.post(f"{PATH}/history", json={})).json()
        parents = [one["checkpoint"] for one in before if 1 < len(texts(one["values"])) < 5]
        assert len(parents) == 3
        for parent in parents:
            body = {"assistant_id": "judged", "checkpoint": parent}
            again = await client.http.post(f"{PATH}/runs/wait", json=body)
            assert again.status_code == 200, again.text
            assert texts(again.json()) == ["Write", *TURN]
            history = (await client.http.post(f"{PATH}/history", json={})).json()
            assert texts(before[0]["values"]) in [texts(one["values"]) for one in history]
        said = {"messages": [{"type": "human", "content": "Mine."}]}
        body = {"assistant_id": "judged", "checkpoint": parents[-1], "input": said}
        refused = await client.http.post(f"{PATH}/runs/wait", json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "unsupported_checkpoint")
