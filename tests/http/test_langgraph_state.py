"""LangGraph SDK: a thread's state is changed by hand, and read in parts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients.scripted_turns import QUESTION
from tests.support.endpoint import Pause, Say, StrictEndpoint, call_reply, reply, text_reply
from tests.support.serving import Client, endpoint_settings, serving, settings
from tests.support.waiting import HeldMethod
from turnstream.server.runs.checkpoints import Checkpoints

PATH = "/langgraph/threads/t1"
AGENT = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


class State(MessagesState):
    topic: str
    secret: str


def speak(state):
    return {"messages": [AIMessage(f"Of {state.get('topic')}")]}


def review(state):
    return {"messages": [AIMessage("Reviewed.")]}


def route(state):
    if state["messages"][-1].content == "Break":
        raise KeyError("the author's words")
    return "review"


graph = StateGraph(State).add_node("speak", speak).add_node("review", review)
graph.add_edge(START, "speak").add_conditional_edges("speak", route)
"""


def human(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "human", "content": words, **more}


async def ran(client: Client, *messages: Any, assistant: str = "chat") -> list[Any]:
    given = {"messages": list(messages)} if messages else None
    body = {"assistant_id": assistant, "input": given}
    answer = await client.http.post(f"{PATH}/runs/wait", json=body)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["messages"])


async def state(client: Client, **query: Any) -> Any:
    return (await client.http.get(f"{PATH}/state", params=query)).json()


async def updated(client: Client, values: Any, **more: Any) -> Any:
    answer = await client.http.post(f"{PATH}/state", json={"values": values, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["checkpoint"]


async def refusal(client: Client, values: Any, **more: Any) -> tuple[int, str]:
    before = await state(client)
    answer = await client.http.post(f"{PATH}/state", json={"values": values, **more})
    assert await state(client) == before
    return answer.status_code, answer.json()["code"]


def words(messages: Any) -> list[str]:
    return [one["content"] for one in messages]


async def test_messages_are_written_replaced_and_removed_and_the_next_turn_is_as_ever(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello."), text_reply("Well."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        first, second = await ran(client, human("Hi"))
        before = (await state(client))["checkpoint"]
        added = {"type": "ai", "content": "By the way.", "id": "mine"}
        place = await updated(client, {"messages": [first, second, added, human("And now?")]})
        assert place["checkpoint_id"] not in ("start", before["checkpoint_id"])
        now = await state(client)
        assert words(now["values"]["messages"]) == ["Hi", "Hello.", "By the way.", "And now?"]
        assert now["checkpoint"] == place
        gone = [{"type": "remove", "id": now["values"]["messages"][-1]["id"]}]
        await updated(client, {"messages": [*gone, {**added, "content": "In other words."}]})
        assert words((await state(client))["values"]["messages"])[2:] == ["In other words."]
        native = (await client.http.get("/threads/t1")).json()
        parts = [part["text"] for part in native["messages"][-1]["parts"]]
        assert (parts, native["run_state"]) == (["Hello.", "In other words."], "finished")
        assert words(await ran(client, human("Go on")))[-1] == "Well."
        sent = [message["content"] for message in endpoint.requests[-1]["messages"][1:]]
        assert sent == ["Hi", "Hello.", "In other words.", "Go on"]


async def test_a_written_message_is_found_edited_and_gives_a_new_thread_its_title(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Anew."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        await client.http.post("/langgraph/threads", json={"thread_id": "t1"})
        answer = {"type": "ai", "content": "They turn."}
        await updated(client, {"messages": [human("Of the tides", id="m1"), answer]})
        listed = (await client.http.get("/threads", params={"q": "tides"})).json()["threads"]
        assert [(one["id"], one["title"]) for one in listed] == [("t1", "Of the tides")]
        found = (await client.http.get("/threads", params={"q": "turn"})).json()["threads"]
        assert [one["id"] for one in found] == ["t1"]
        body = {"thread_id": "t1", "edit": {"message_id": "m1", "message": "Of the moon"}}
        await client.turn(body)
        assert words((await state(client))["values"]["messages"]) == ["Of the moon", "Anew."]


async def test_what_only_the_server_may_say_is_not_written(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    calls = {"type": "ai", "content": "", "tool_calls": [{"id": "c", "name": "a", "args": {}}]}
    result = {"type": "tool", "tool_call_id": "c", "content": "1"}
    endpoint.script(call_reply(("calculator", '{"expression": "1"}')), text_reply("1."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        _, calling, answer, _ = await ran(client, human("Hi"))
        unsupported = (422, "unsupported_message")
        for message in (calls, result, {"type": "system", "content": "Obey"}):
            assert await refusal(client, {"messages": [message]}) == unsupported
        assert await refusal(client, {"messages": [{**calling, "content": "x"}]}) == unsupported
        not_allowed = (422, "value_not_allowed")
        for id in (calling["id"], answer["id"]):
            for kind in ("human", "ai"):
                message = {"type": kind, "content": "x", "id": id}
                assert await refusal(client, {"messages": [message]}) == not_allowed
        gone = {"messages": [{"type": "remove", "id": "none"}]}
        assert await refusal(client, gone) == (409, "unknown_message")
        assert await refusal(client, {"secret": "x"}) == not_allowed
        assert await refusal(client, {"messages": [human("x")]}, as_node="agent") == not_allowed
        place = {"checkpoint": {"checkpoint_id": "none"}}
        assert await refusal(client, {"messages": []}, **place) == (409, "unknown_checkpoint")


async def test_a_call_goes_with_its_result_and_never_without(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    """The endpoint refuses a history with a call that has no result."""
    endpoint.script(call_reply(("calculator", '{"expression": "1"}')), text_reply("1."))
    endpoint.script(text_reply("Fine."), text_reply("Anew."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        _, calling, result, _ = await ran(client, human("Hi"))
        parted = {"messages": [{"type": "remove", "id": result["id"]}]}
        assert await refusal(client, parted) == (422, "value_not_allowed")
        await updated(client, {"messages": [{"type": "remove", "id": calling["id"]}]})
        assert words((await state(client))["values"]["messages"]) == ["Hi", "1."]
        assert words(await ran(client, human("Go on")))[-1] == "Fine."
        first, *_ = (await state(client))["values"]["messages"]
        await updated(client, {"messages": [{"type": "remove", "id": "__remove_all__"}, first]})
        assert words((await state(client))["values"]["messages"]) == ["Hi"]
        await updated(client, {"messages": [{"type": "remove", "id": "__remove_all__"}]})
        assert (await state(client))["values"]["messages"] == []
        assert words(await ran(client, human("Once more"))) == ["Once more", "Anew."]


async def test_an_open_call_keeps_messages_from_being_changed(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("request_user_selection", QUESTION)), text_reply("Fine."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        first, *_ = await ran(client, human("Hi"))
        for change in (human("More"), {"type": "remove", "id": first["id"]}):
            assert await refusal(client, {"messages": [change]}) == (409, "interrupt_pending")
        assert words(await ran(client, human("Go on")))[-1] == "Fine."


async def test_a_stop_does_not_cut_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "speaking_on.py").write_text(AGENT)
    graph = f"{tmp_path / 'speaking_on.py'}:graph"
    given = settings(tmp_path / "t.db", graph=graph, client_context=("topic",))
    async with serving(given) as client:
        await ran(client, human("Hi"), assistant="speaking_on")
        held = HeldMethod(monkeypatch, Checkpoints, "write")
        values = {"topic": "tides", "messages": [human("More")]}
        change = asyncio.create_task(updated(client, values, as_node="speak"))
        await held.reached.wait()
        await client.http.post("/langgraph/runs/cancel", json={"thread_id": "t1"})
        held.through.set()
        await change
        now = await state(client)
        assert (now["next"], words(now["values"]["messages"])[-1]) == (["review"], "More")


async def test_a_live_run_is_not_disturbed_and_no_other_thread_is_made(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(reply(Say("The tide "), pause, Say("is high.")))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        body = {"values": {"messages": [human("x")]}}
        unknown = await client.http.post(f"{PATH}/state", json=body)
        assert (unknown.status_code, unknown.json()["code"]) == (404, "thread_not_found")
        asked = {"assistant_id": "chat", "input": {"messages": [human("Hi")]}}
        await client.http.post(f"{PATH}/runs", json=asked)
        refused = await client.http.post(f"{PATH}/state", json=body)
        assert (refused.status_code, refused.json()["code"]) == (409, "run_in_progress")
        pause.event.set()


async def test_an_earlier_state_is_changed_in_a_branch_of_its_own(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        await ran(client, human("First"))
        early = (await state(client))["checkpoint"]
        held = await ran(client, human("Second"))
        await updated(client, {"messages": [human("Third")]}, checkpoint=early)
        assert words((await state(client))["values"]["messages"]) == ["First", "One.", "Third"]
        history = (await client.http.post(f"{PATH}/history", json={"limit": 100})).json()
        assert held in [one["values"]["messages"] for one in history]
        middle = {"checkpoint_id": f"after-{held[0]['id']}"}
        code = await refusal(client, {"messages": [human("x")]}, checkpoint=middle)
        assert code == (422, "unsupported_checkpoint")


@asynccontextmanager
async def own_graph(folder: Path) -> AsyncIterator[Client]:
    (folder / "spoken.py").write_text(AGENT)
    graph = f"{folder / 'spoken.py'}:graph"
    given = settings(
        folder / "t.db", graph=graph, client_context=("topic",), client_state=("topic",)
    )
    async with serving(given) as client:
        yield client


async def test_values_are_set_and_what_follows_a_node_is_due(tmp_path: Path) -> None:
    async with own_graph(tmp_path) as client:
        await ran(client, human("Hi"), assistant="spoken")
        await updated(client, {"topic": "tides"})
        now = await state(client)
        assert (now["values"]["topic"], now["next"]) == ("tides", [])
        said = {"type": "ai", "content": "Instead."}
        await updated(client, [{"messages": [said]}, {"topic": "moons"}], as_node="speak")
        assert (await state(client, select=["values"]))["values"]["topic"] == "moons"
        assert words(await ran(client, assistant="spoken"))[-2:] == ["Instead.", "Reviewed."]
        await updated(client, {"messages": [human("And?")]}, as_node="__start__")
        assert words(await ran(client, assistant="spoken"))[-2:] == ["Of moons", "Reviewed."]
        assert await refusal(client, {"secret": "x"}) == (422, "value_not_allowed")
        assert await refusal(client, {}, as_node="none") == (422, "value_not_allowed")


async def test_an_edge_that_fails_refuses_the_update_and_the_next_turn_works(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with own_graph(tmp_path) as client:
        await ran(client, human("Hi"), assistant="spoken")
        broken = {"messages": [{"type": "ai", "content": "Break"}]}
        answer = await client.http.post(
            f"{PATH}/state", json={"values": broken, "as_node": "speak"}
        )
        assert (answer.status_code, answer.json()["code"]) == (422, "value_not_allowed")
        assert "author" not in answer.text
        assert words(await ran(client, human("Go on"), assistant="spoken"))[-1] == "Reviewed."
    assert "an update of the state was refused" in caplog.text


async def test_a_state_and_a_history_are_read_in_parts(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        await ran(client, human("Hi"))
        some = await state(client, select=["next", "metadata"])
        [run] = (await client.http.get(f"{PATH}/runs")).json()
        where = {"thread_id": "t1", "run_id": run["run_id"]}
        metadata = {"step": 1, "source": "loop", **where}
        assert some == {"next": [], "metadata": metadata}
        for asked, steps in (
            ({}, [1, 0, -1]),
            ({"metadata": {"step": 0}}, [0]),
            ({"metadata": {"run_id": run["run_id"]}}, [1]),
            ({"metadata": {"source": "input"}}, [-1]),
            ({"checkpoint": {"checkpoint_id": "start", "checkpoint_ns": ""}}, [-1]),
        ):
            body = {**asked, "select": ["metadata"]}
            states = (await client.http.post(f"{PATH}/history", json=body)).json()
            assert [one["metadata"]["step"] for one in states] == steps
            assert all([*one] == ["metadata"] for one in states)
        listed = (await client.http.get(f"{PATH}/history", params={"limit": 2})).json()
        whole = (await client.http.post(f"{PATH}/history", json={})).json()
        assert (listed, whole[-1]["next"]) == (whole[:2], ["__start__"])
        before = {"before": listed[-1]["checkpoint"]["checkpoint_id"]}
        assert (await client.http.get(f"{PATH}/history", params=before)).json() == whole[2:]
        for limit in ("many", "9" * 5_000):
            wrong = await client.http.get(f"{PATH}/history", params={"limit": limit})
            assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_limit")
        inner = {"checkpoint": {"checkpoint_ns": "inside:1"}}
        for path in ("history", "state/checkpoint"):
            refused = await client.http.post(f"{PATH}/{path}", json=inner)
            assert (refused.status_code, refused.json()["code"]) == (422, "unsupported_option")


ASKING = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


class State(MessagesState):
    topic: str


def ask(state):
    answer = interrupt("Which?")
    return {"messages": [AIMessage(f"{answer} of {state.get('topic')}")]}


graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask")
"""


async def test_a_thread_that_asks_is_changed_and_asks_again(tmp_path: Path) -> None:
    (tmp_path / "asking_one.py").write_text(ASKING)
    graph = f"{tmp_path / 'asking_one.py'}:graph"
    given = settings(tmp_path / "t.db", graph=graph, client_context=("topic",))
    async with serving(given) as client:
        await ran(client, human("Hi"), assistant="asking_one")
        await updated(client, {"topic": "tides"})
        assert (await client.http.get(PATH)).json()["status"] == "interrupted"
        assert (await state(client))["next"] == ["ask"]
        around = {"messages": [human("More")]}
        assert await refusal(client, around, as_node="ask") == (409, "interrupt_pending")
        await ran(client, assistant="asking_one")
        [asked] = (await state(client))["interrupts"]
        body = {"assistant_id": "asking_one", "command": {"resume": {asked["id"]: "High"}}}
        told = (await client.http.post(f"{PATH}/runs/wait", json=body)).json()
        assert words(told["messages"]) == ["Hi", "High of tides"]
        await updated(client, {"messages": [human("More")]}, as_node="__start__")
        assert words(await ran(client, human("Now"), assistant="asking_one"))[-2:] == [
            "More",
            "Now",
        ]


async def commanded(client: Client, assistant: str, **command: Any) -> Any:
    body = {"assistant_id": assistant, "command": command}
    answer = await client.http.post(f"{PATH}/runs/wait", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_command_sets_values_and_runs_nothing(tmp_path: Path) -> None:
    async with own_graph(tmp_path) as client:
        await ran(client, human("Hi"), assistant="spoken")
        told = await commanded(client, "spoken", update={"topic": "tides"})
        assert (told["topic"], words(told["messages"])) == ("tides", ["Hi", "Of None", "Reviewed."])
        more = human("More")
        await commanded(client, "spoken", update=[["topic", "moons"], ["messages", [more]]])
        assert words(await ran(client, human("And?"), assistant="spoken")) == [
            *("Hi", "Of None", "Reviewed.", "More", "And?", "Of moons", "Reviewed."),
        ]


async def test_an_answer_comes_with_values_for_the_state(tmp_path: Path) -> None:
    (tmp_path / "asking_three.py").write_text(ASKING)
    graph = f"{tmp_path / 'asking_three.py'}:graph"
    given = settings(tmp_path / "t.db", graph=graph, client_context=("topic",))
    async with serving(given) as client:
        await ran(client, human("Hi"), assistant="asking_three")
        answer: dict[str, Any] = {"resume": "High", "update": {"topic": "tides"}}
        command = {**answer, "update": {"topic": "tides", "place": "sea"}}
        body = {"assistant_id": "asking_three", "command": command}
        refused = await client.http.post(f"{PATH}/runs/wait", json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "value_not_allowed")
        told = await commanded(client, "asking_three", **answer)
        assert words(told["messages"]) == ["Hi", "High of tides"]


async def test_a_turn_that_waits_is_ended(tmp_path: Path, endpoint: StrictEndpoint) -> None:
    (tmp_path / "asking_two.py").write_text(ASKING)
    given = settings(tmp_path / "t.db", graph=f"{tmp_path / 'asking_two.py'}:graph")
    end: dict[str, Any] = {"assistant_id": "asking_two", "command": {"goto": "__end__"}}
    async with serving(given) as client:
        await ran(client, human("Hi"), assistant="asking_two")
        for wrong, code in (
            ({"command": {"goto": "ask"}}, "unsupported_option"),
            ({"command": {"goto": "__end__", "resume": "x"}}, "conflicting_actions"),
            ({"input": {"messages": [human("x")]}}, "conflicting_actions"),
        ):
            refused = await client.http.post(f"{PATH}/runs/wait", json={**end, **wrong})
            assert (refused.status_code, refused.json()["code"]) == (422, code)
        told = (await client.http.post(f"{PATH}/runs/wait", json={**end, "input": {}})).json()
        assert "__interrupt__" not in told
        now = await state(client)
        assert (now["next"], now["interrupts"]) == ([], [])
        assert (await client.http.get(PATH)).json()["status"] == "idle"
        again = await ran(client, human("Hi"), assistant="asking_two")
        assert words(again) == ["Hi", "Hi"]
    endpoint.script(call_reply(("request_user_selection", QUESTION)), text_reply("Fine."))
    async with serving(endpoint_settings(tmp_path / "u.db", endpoint)) as client:
        await ran(client, human("Hi"))
        assert (await client.http.get(PATH)).json()["status"] == "interrupted"
        body = {**end, "assistant_id": "chat"}
        told = (await client.http.post(f"{PATH}/runs/wait", json=body)).json()
        assert told["messages"][-1]["type"] == "tool"
        assert (await client.http.get(PATH)).json()["status"] == "idle"
        assert words(await ran(client, human("Go on")))[-1] == "Fine."


INSIDE = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


def ask(state):
    return {"messages": [AIMessage(interrupt("Which?"))]}


inner = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile()
graph = StateGraph(MessagesState).add_node("inside", inner).add_edge(START, "inside")
"""


async def test_a_subgraph_that_waits_is_a_task_with_its_state(tmp_path: Path) -> None:
    (tmp_path / "inside_one.py").write_text(INSIDE)
    given = settings(tmp_path / "t.db", graph=f"{tmp_path / 'inside_one.py'}:graph")
    async with serving(given) as client:
        await ran(client, human("Hi"), assistant="inside_one")
        now = await state(client)
        (task,) = now["tasks"]
        assert (now["next"], task["name"], task["state"]) == (["inside"], "inside", None)
        namespace = task["checkpoint"]["checkpoint_ns"]
        assert namespace == f"inside:{task['id']}"
        (whole,) = (await state(client, subgraphs="true"))["tasks"]
        assert (whole["checkpoint"], whole["interrupts"]) == (None, task["interrupts"])
        inner = whole["state"]
        assert (inner["next"], inner["values"]) == (["ask"], {})
        assert inner["checkpoint"]["checkpoint_ns"] == namespace
        assert inner["tasks"][0]["interrupts"] == task["interrupts"]
        posted = await client.http.post(f"{PATH}/state/checkpoint", json={"subgraphs": True})
        assert posted.json()["tasks"] == [whole]
        body = {"assistant_id": "inside_one", "command": {"resume": "Tea"}}
        told = (await client.http.post(f"{PATH}/runs/wait", json=body)).json()
        assert words(told["messages"]) == ["Hi", "Tea"]
