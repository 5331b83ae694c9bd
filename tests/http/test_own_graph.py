"""A graph that is not ours, named by a setting and served over HTTP."""

from functools import partial
from pathlib import Path

import pytest

from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.forked_server import forked_server
from tests.support.samples import repeat
from tests.support.serving import endpoint_settings, process, serving, text_of
from tests.support.user_project import use, write_project


async def test_the_setting_names_it(tmp_path: Path, endpoint: StrictEndpoint) -> None:
    own = endpoint_settings(tmp_path / "t.db", endpoint, graph="docs.examples.own_graph:build")
    endpoint.script(call_reply(("multiply", '{"a": 6, "b": 7}')), text_reply("It is 42."))
    async with serving(own) as client:
        thread_id, events = await client.turn({"message": "6 * 7?"})
        assert [e.data["result"] for e in events if e.type == "result"] == [{"product": 42}]
        thread = await client.thread(thread_id, protocol="ui-message-stream")
        assert thread["messages"][-1]["parts"][-1]["text"] == "It is 42."


async def test_a_project_is_served_unchanged_and_its_threads_outlive_the_process(
    tmp_path: Path,
) -> None:
    write_project(tmp_path / "project")
    project = str(tmp_path / "project" / "langgraph.json")
    given = {"GRAPH": project, "CONTEXT": '{"name": "Ada"}'}
    async with forked_server(tmp_path / "t.db", **given) as first:
        thread_id, events = await first.client.turn({"message": "Hello"})
        assert text_of(events) == "Ahoy, Ada. That was 1."
    async with forked_server(tmp_path / "t.db", **given) as second:
        _, events = await second.client.turn({"message": "Again", "thread_id": thread_id})
        assert text_of(events) == "Ahoy, Ada. That was 3."
        thread = await second.client.thread(thread_id)
        assert [message["role"] for message in thread["messages"]] == ["user", "assistant"] * 2


@pytest.mark.parametrize("has_inits", [True, repeat(False)])
@pytest.mark.parametrize("graph", ["langgraph.json", repeat("agent.py:graph")])
@pytest.mark.parametrize("place", ["its own folder", repeat("the clone")])
async def test_a_project_whose_packages_have_the_names_of_our_folders_outlives_a_kill(
    place: str, graph: str, has_inits: bool, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    write_project(project, has_inits=has_inits)
    if place == "the clone":
        started = partial(process, tmp_path / "t.db", GRAPH=str(project / graph))
    else:
        started = partial(process, tmp_path / "t.db", folder=project, GRAPH=graph)
    await use(project, started)


@pytest.mark.full
async def test_uvicorn_in_the_clone_serves_such_a_project_too(tmp_path: Path) -> None:
    project = tmp_path / "project"
    write_project(project, has_inits=False)
    command = ("-m", "uvicorn", "turnstream.server.app:create", "--factory", "--port", "0")
    graph = str(project / "agent.py:graph")
    await use(project, partial(process, tmp_path / "t.db", command, GRAPH=graph))


async def test_a_graph_that_takes_no_tools_of_a_client_says_so(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    own = endpoint_settings(tmp_path / "t.db", endpoint, graph="docs.examples.own_graph:build")
    body = {
        "message": "Hello",
        "client_tools": [{"name": "locate", "description": "", "parameters": {"type": "object"}}],
    }
    async with serving(own) as client:
        answer = await client.http.post("/chat", json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "client_tools_not_supported")
        assert (await client.http.get("/threads")).json()["threads"] == []
