"""LangGraph SDK: several runs are started and stopped at once, and what a run cannot do is said."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.support.endpoint import Pause, Say, StrictEndpoint, reply, text_reply
from tests.support.langgraph_reader import named_frames
from tests.support.serving import Client, endpoint_settings, serving, settings
from tests.support.waiting import eventually

PATH = "/langgraph"


def asked(words: str, **more: Any) -> dict[str, Any]:
    return {
        "assistant_id": "chat",
        "input": {"messages": [{"type": "human", "content": words}]},
        **more,
    }


async def statuses(client: Client, *threads: str) -> list[str]:
    return [(await client.http.get(f"{PATH}/threads/{id}")).json()["status"] for id in threads]


async def test_a_batch_starts_each_run_on_its_thread(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello."), text_reply("Hello."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        bodies = [asked("One", thread_id="t1"), asked("Two", on_completion="keep")]
        answer = await client.http.post(f"{PATH}/runs/batch", json=bodies)
        assert answer.status_code == 200, answer.text
        first, second = answer.json()
        assert first["thread_id"] == "t1"
        for run in (first, second):
            path = f"{PATH}/threads/{run['thread_id']}/runs/{run['run_id']}"
            told = (await client.http.get(f"{path}/join")).json()["messages"]
            assert told[-1]["content"] == "Hello."
            listed = (await client.http.get(path)).json()
            assert listed["status"] == "success"


async def test_a_batch_begins_as_a_whole_or_not_at_all(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(reply(Say("One"), Pause(asyncio.Event())))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        rejected = asked("Two", thread_id="t1", multitask_strategy="reject")
        bodies = [asked("One", thread_id="t1"), rejected]
        refused = await client.http.post(f"{PATH}/runs/batch", json=bodies)
        assert (refused.status_code, refused.json()["code"]) == (409, "run_in_progress")

        async def is_over() -> bool:
            return await statuses(client, "t1") == ["idle"]

        await eventually(is_over)
        wrong = [asked("One", thread_id="t2"), {"assistant_id": "chat", "input": {"messages": 7}}]
        refused = await client.http.post(f"{PATH}/runs/batch", json=wrong)
        assert refused.status_code == 422
        assert refused.json()["detail"].startswith("Run 1: input.messages")
        assert (await client.http.get(f"{PATH}/threads/t2")).status_code == 404


async def test_of_a_run_that_waits_the_graph_stands_for_an_assistant_that_is_gone(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(reply(Say("One"), pause), text_reply("Two."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        mine = {"graph_id": "chat", "assistant_id": "mine"}
        await client.http.post(f"{PATH}/assistants", json=mine)
        for words in ("1", "2"):
            body = {**asked(words), "assistant_id": "mine"}
            await client.http.post(f"{PATH}/threads/t1/runs", json=body)
        await client.http.delete(f"{PATH}/assistants/mine")
        runs = (await client.http.get(f"{PATH}/threads/t1/runs")).json()
        told = [(one["status"], one["assistant_id"]) for one in runs]
        assert told == [("pending", "chat"), ("running", "chat")]
        pause.event.set()


async def test_live_runs_are_stopped_together(tmp_path: Path, endpoint: StrictEndpoint) -> None:
    for _ in range(3):
        endpoint.script(reply(Say("One"), Pause(asyncio.Event())))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        bodies = [asked("Hi", thread_id=id) for id in ("t1", "t2", "t3")]
        begun = (await client.http.post(f"{PATH}/runs/batch", json=bodies)).json()
        live = ["busy", "busy", "busy"]
        for body in ({"status": "pending"}, {"thread_id": "t1", "run_ids": ["none"]}):
            passed = await client.http.post(f"{PATH}/runs/cancel", json=body)
            assert passed.status_code == 204
            assert await statuses(client, "t1", "t2", "t3") == live
        one = {"thread_id": "t1", "run_ids": [begun[0]["run_id"]]}
        await client.http.post(f"{PATH}/runs/cancel", json=one)

        async def first_is_over() -> bool:
            return await statuses(client, "t1", "t2", "t3") == ["idle", "busy", "busy"]

        await eventually(first_is_over)
        await client.http.post(f"{PATH}/runs/cancel", json={"status": "all"})

        async def all_are_over() -> bool:
            return await statuses(client, "t1", "t2", "t3") == ["idle"] * 3

        await eventually(all_are_over)


async def test_a_run_is_not_deleted_without_its_thread(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        await client.http.post(f"{PATH}/threads/t1/runs/wait", json=asked("Hi"))
        [run] = (await client.http.get(f"{PATH}/threads/t1/runs")).json()
        refused = await client.http.delete(f"{PATH}/threads/t1/runs/{run['run_id']}")
        assert (refused.status_code, refused.json()["code"]) == (409, "run_kept")
        rolled = {"action": "rollback"}
        refused = await client.http.post(f"{PATH}/runs/cancel", json={}, params=rolled)
        assert (refused.status_code, refused.json()["code"]) == (422, "unsupported_option")


async def test_what_there_is_not_is_a_problem(tmp_path: Path, endpoint: StrictEndpoint) -> None:
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        for method, path, code in (
            ("POST", "/runs/crons", "no_crons"),
            ("DELETE", "/runs/crons/c", "no_crons"),
            ("POST", "/threads/t1/runs/crons", "no_crons"),
            ("GET", "/nowhere", "not_found"),
            ("GET", "/threads/t1/nowhere", "not_found"),
        ):
            answer = await client.http.request(method, PATH + path, json={})
            assert (answer.status_code, answer.json()["code"]) == (404, code)
            assert answer.headers["content-type"] == "application/problem+json"
        hooked = asked("Hi", webhook="https://example.org")
        refused = await client.http.post(f"{PATH}/threads/t1/runs", json=hooked)
        assert (refused.status_code, refused.json()["code"]) == (422, "unsupported_option")


AGENT = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


def first(state):
    return {"messages": [AIMessage("One.")]}


def second(state):
    return {"messages": [AIMessage("Two.")]}


graph = StateGraph(MessagesState).add_node("first", first).add_node("second", second)
graph.add_edge(START, "first").add_edge("first", "second")
"""


async def test_a_run_stops_at_the_nodes_that_its_client_names_and_keeps_to_its_steps(
    tmp_path: Path,
) -> None:
    (tmp_path / "stepwise.py").write_text(AGENT)
    given = settings(tmp_path / "t.db", graph=f"{tmp_path / 'stepwise.py'}:graph")
    async with serving(given) as client:
        for id, stop in (
            ("t1", {"interrupt_before": ["second", "none"]}),
            ("t2", {"interrupt_after": ["first"]}),
        ):
            path = f"{PATH}/threads/{id}"
            body = {**asked("Hi", **stop), "assistant_id": "stepwise"}
            answer = await client.http.post(f"{path}/runs/wait", json=body)
            assert [m["content"] for m in answer.json()["messages"]] == ["Hi", "One."]
            ignored = answer.headers.get("x-turnstream-ignored")
            assert ignored == ("interrupt_before.none" if id == "t1" else None)
            state = (await client.http.get(f"{path}/state")).json()
            assert (state["next"], await statuses(client, id)) == (["second"], ["interrupted"])
            on = {"assistant_id": "stepwise", "input": None}
            told = (await client.http.post(f"{path}/runs/wait", json=on)).json()
            assert [m["content"] for m in told["messages"]] == ["Hi", "One.", "Two."]
            assert await statuses(client, id) == ["idle"]
        body = {**asked("Hi", config={"recursion_limit": 1}), "assistant_id": "stepwise"}
        failed = (await client.http.post(f"{PATH}/runs/wait", json=body)).json()
        assert failed["__error__"]["error"] == "GraphRecursionError"


async def test_a_graph_runs_on_no_messages_and_without_keys_that_it_does_not_have(
    tmp_path: Path,
) -> None:
    (tmp_path / "stepwise.py").write_text(AGENT)
    given = settings(tmp_path / "t.db", graph=f"{tmp_path / 'stepwise.py'}:graph")
    async with serving(given) as client:
        path, none = f"{PATH}/threads/t1/runs/wait", {"messages": [], "topic": "tides"}
        answer = await client.http.post(path, json={"assistant_id": "stepwise", "input": none})
        assert answer.headers["x-turnstream-ignored"] == "input.topic"
        for _ in range(2):  # Once more, rather than on from where the thread is.
            assert [m["content"] for m in answer.json()["messages"]][-2:] == ["One.", "Two."]
            body = {"assistant_id": "stepwise", "input": {"messages": []}}
            answer = await client.http.post(path, json=body)
        assert len(answer.json()["messages"]) == 6
        only = {"assistant_id": "stepwise", "input": {"topic": "tides"}}
        refused = await client.http.post(path, json=only)
        assert (refused.status_code, refused.json()["code"]) == (422, "value_not_allowed")


async def test_a_client_takes_no_breakpoint_and_no_limit_of_the_author_away(
    tmp_path: Path,
) -> None:
    made = {
        "guarded": 'graph.compile(interrupt_before=["second"])',
        "limited": "graph.compile().with_config(recursion_limit=1)",
    }
    for name, graph in made.items():
        (tmp_path / f"{name}.py").write_text(f"{AGENT}graph = {graph}\n")
    listed = {"graphs": {name: f"./{name}.py:graph" for name in made}}
    (tmp_path / "langgraph.json").write_text(json.dumps(listed))
    given = settings(tmp_path / "t.db", graph=str(tmp_path / "langgraph.json"))
    stop = {"interrupt_before": ["none"], "config": {"recursion_limit": 900}}
    async with serving(given) as client:
        told = {}
        for name in made:
            body = {**asked("Hi", **stop), "assistant_id": name}
            answer = await client.http.post(f"{PATH}/threads/{name}/runs/wait", json=body)
            told[name] = answer.json()
        assert (await client.http.get(f"{PATH}/threads/guarded/state")).json()["next"] == ["second"]
        assert told["limited"]["__error__"]["error"] == "GraphRecursionError"


async def test_what_a_client_says_of_a_run_is_kept_while_it_is_the_last(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        body = {"assistant_id": "a1", "graph_id": "chat"}
        await client.http.post(f"{PATH}/assistants", json=body)
        path, said = f"{PATH}/threads/t1", {"topic": {"of": "tides"}}
        modes = ["values", "messages", "messages-tuple", "lifecycle", "input"]
        first = {**asked("Hi", metadata=said, stream_mode=modes), "assistant_id": "a1"}
        answer = await client.http.post(f"{path}/runs/wait", json=first)
        ignored = answer.headers["x-turnstream-ignored"]
        others = ("input", "lifecycle", "messages")
        assert ignored == ", ".join(f"stream_mode.{one}" for one in others)
        [run] = (await client.http.get(f"{path}/runs")).json()
        assert (run["assistant_id"], run["metadata"]) == ("a1", said)
        assert (await client.http.get(f"{path}/runs/{run['run_id']}")).json() == run
        some = await client.http.get(f"{path}/runs", params={"select": ["status", "metadata"]})
        assert some.json() == [{"status": "success", "metadata": said}]
        copied = (await client.http.post(f"{path}/copy")).json()["thread_id"]
        [run] = (await client.http.get(f"{PATH}/threads/{copied}/runs")).json()
        assert run["metadata"] == said
        await client.http.delete(f"{PATH}/assistants/a1")
        [run] = (await client.http.get(f"{path}/runs")).json()
        assert (run["assistant_id"], run["metadata"]) == ("chat", said)
        await client.http.post(f"{path}/runs/wait", json=asked("And?"))
        [run] = (await client.http.get(f"{path}/runs")).json()
        assert (run["assistant_id"], run["metadata"]) == ("chat", {})
        long = asked("Hi", metadata={"topic": "x" * 16_000})
        refused = await client.http.post(f"{path}/runs", json=long)
        assert (refused.status_code, refused.json()["code"]) == (422, "value_too_long")


async def test_a_run_that_was_taken_back_is_not_found(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(reply(Say("One"), Pause(asyncio.Event())), text_reply("Two."))
    endpoint.script(text_reply("Three."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        path = f"{PATH}/threads/t1/runs"
        first = (await client.http.post(path, json=asked("One"))).json()["run_id"]
        again = asked("Two", multitask_strategy="rollback")
        second = (await client.http.post(path, json=again)).json()["run_id"]
        gone = await client.http.get(f"{path}/{first}")
        assert (gone.status_code, gone.json()["code"]) == (404, "run_not_found")
        await client.http.get(f"{path}/{second}/join")
        await client.http.post(f"{path}/wait", json=asked("Three"))
        assert (await client.http.get(f"{path}/{first}")).status_code == 404
        assert (await client.http.get(f"{path}/{second}")).json()["status"] == "success"


async def test_who_joins_a_run_without_modes_is_told_what_its_starter_asked_for(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        path, body = f"{PATH}/threads/t1/runs", asked("Hi", stream_mode=["values"])
        started = await client.http.post(f"{path}/stream", json=body)
        [run] = (await client.http.get(path)).json()
        joined = await client.http.get(f"{path}/{run['run_id']}/stream")
        assert joined.content == started.content
        asked_for = {"stream_mode": "updates"}
        other = await client.http.get(f"{path}/{run['run_id']}/stream", params=asked_for)
        assert {one.event for one in named_frames(other.content)} == {"metadata", "updates", "end"}
