"""LangGraph SDK: assistants that clients keep, and the runs that get their values."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import Client, serving, settings
from tests.support.users import client_of, keys_settings

AGENT = """
from dataclasses import dataclass

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime


@dataclass
class Context:
    tone: str = "plain"
    secret: str = "s"


class Inner(MessagesState):
    draft: str


class State(MessagesState):
    topic: str
    draft: str


def speak(state, config, runtime: Runtime[Context]):
    mood = config["configurable"].get("mood", "calm")
    return {"messages": [AIMessage(f"{runtime.context.tone}, {mood}")]}


inner = StateGraph(Inner).add_node("speak", speak).add_edge(START, "speak").compile()
graph = StateGraph(State, context_schema=Context).add_node("inside", inner)
graph.add_edge(START, "inside")
"""
PATH = "/langgraph/assistants"
HUMAN = {"messages": [{"type": "human", "content": "Hello"}]}


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Client]:
    (folder / "toned.py").write_text(AGENT)
    names = ("tone", "mood", "topic")
    given = settings(folder / "t.db", graph=f"{folder / 'toned.py'}:graph", client_context=names)
    async with serving(given) as client:
        yield client


async def made(client: Client, **body: Any) -> Any:
    answer = await client.http.post(PATH, json={"graph_id": "toned", **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def run(client: Client, assistant_id: str, **body: Any) -> Any:
    asked = {"assistant_id": assistant_id, "input": HUMAN, **body}
    return await client.http.post("/langgraph/runs/wait", json=asked)


def said(answer: Any) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["messages"][-1]["content"])


async def test_a_run_gets_the_values_of_its_assistant_but_for_those_it_has_itself(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as client:
        config = {"configurable": {"mood": "merry"}, "recursion_limit": 9, "tags": ["x"]}
        kept = await made(client, context={"tone": "dry"}, config=config)
        answer = await run(client, kept["assistant_id"])
        assert said(answer) == "dry, merry"
        ignored = answer.headers["x-turnstream-ignored"]
        assert ignored == "assistant.config.tags"
        own = {"context": {"tone": "warm"}, "config": {"configurable": {"mood": "sad"}}}
        assert said(await run(client, kept["assistant_id"], **own)) == "warm, sad"
        assert said(await run(client, "toned")) == "plain, calm"
        thread = "/langgraph/threads/t1/runs"
        body = {"assistant_id": kept["assistant_id"], "input": HUMAN}
        begun = (await client.http.post(thread, json=body)).json()
        assert begun["assistant_id"] == kept["assistant_id"]


async def test_a_graphs_runs_have_the_values_of_langgraph_config_unless_their_caller_sets_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toned.py").write_text(AGENT)
    values = {"tone": "dry", "mood": "glad", "secret": "x"}
    monkeypatch.setenv("LANGGRAPH_CONFIG", json.dumps({"toned": {"configurable": values}}))
    project = {"dependencies": ["."], "graphs": {"toned": "./toned.py:graph"}}
    (tmp_path / "langgraph.json").write_text(json.dumps(project))
    names, place = ("tone", "mood"), str(tmp_path / "langgraph.json")
    given = settings(tmp_path / "t.db", graph=place, client_context=names)
    async with serving(given) as client:
        [shown] = (await client.http.post(f"{PATH}/search", json={})).json()
        assert shown["config"] == {"configurable": {"tone": "dry", "mood": "glad"}}
        assert said(await run(client, "toned")) == "dry, glad"
        own = {"configurable": {"mood": "sad"}}
        assert said(await run(client, "toned", config=own)) == "dry, sad"
        both = await run(client, "toned", config=own, context={"tone": "warm"})
        assert said(both) == "warm, sad"


async def test_a_value_of_langgraph_config_is_nowhere_where_the_context_has_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toned.py").write_text(AGENT.replace('"mood"', '"tone"'))
    values = {"toned": {"configurable": {"tone": "dry"}}}
    monkeypatch.setenv("LANGGRAPH_CONFIG", json.dumps(values))
    project = {"dependencies": ["."], "graphs": {"toned": "./toned.py:graph"}}
    (tmp_path / "langgraph.json").write_text(json.dumps(project))
    given = settings(
        tmp_path / "t.db", graph=str(tmp_path / "langgraph.json"), client_context=("tone",)
    )
    async with serving(given) as client:
        assert said(await run(client, "toned")) == "dry, dry"
        assert said(await run(client, "toned", context={"tone": "warm"})) == "warm, calm"
    async with serving(given.model_copy(update={"context": {"tone": "glad"}})) as client:
        assert said(await run(client, "toned")) == "glad, calm"


async def test_a_body_with_a_config_alone_sets_the_context_too(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        config = {"configurable": {"tone": "dry", "mood": "merry"}}
        assert said(await run(client, "toned", config=config)) == "dry, merry"
        kept = await made(client, config=config)
        assert said(await run(client, kept["assistant_id"])) == "dry, merry"
        own = await run(client, "toned", config=config, context={"tone": "warm"})
        assert said(own) == "warm, merry"
        alone = await run(client, "toned", config={"configurable": {"mood": "sad"}})
        assert said(alone) == "plain, sad"


async def test_a_value_that_a_client_may_not_set_is_refused_when_a_run_gets_it(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as client:
        kept = await made(client, context={"secret": "x"})
        refused = await run(client, kept["assistant_id"])
        assert (refused.status_code, refused.json()["code"]) == (422, "value_not_allowed")
        wrong = {"graph_id": "toned", "config": {"configurable": ["x"]}}
        refused = await client.http.post(PATH, json=wrong)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_body")


async def test_an_assistant_is_changed_in_versions_and_found(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        one = await made(client, name="First", metadata={"team": {"id": 1}}, context={"tone": "a"})
        two = await made(client, assistant_id="a2", name="Second")
        path = f"{PATH}/{one['assistant_id']}"
        changed = (await client.http.patch(path, json={"context": {"tone": "b"}})).json()
        assert (changed["version"], changed["name"], changed["context"]) == (
            *(2, "First"),
            {"tone": "b"},
        )
        assert (await client.http.get(path)).json() == changed
        versions = (await client.http.post(f"{path}/versions", json={})).json()
        assert [(v["version"], v["context"]["tone"]) for v in versions] == [(2, "b"), (1, "a")]
        chosen = (await client.http.post(f"{path}/latest", json={"version": 1})).json()
        assert (chosen["version"], said(await run(client, one["assistant_id"]))) == (1, "a, calm")
        none = await client.http.post(f"{path}/latest", json={"version": 7})
        assert none.status_code == 404
        every = {"toned", one["assistant_id"], "a2"}
        for asked, ids in (
            ({}, every),
            ({"metadata": {"team": {"id": 1}}}, {one["assistant_id"]}),
            ({"metadata": {"created_by": "system"}}, {"toned"}),
            ({"name": "sec"}, {"a2"}),
            ({"graph_id": "toned"}, every),
            ({"graph_id": "none"}, set()),
        ):
            found = (await client.http.post(f"{PATH}/search", json=asked)).json()
            assert {each["assistant_id"] for each in found} == ids
            assert (await client.http.post(f"{PATH}/count", json=asked)).json() == len(ids)
        assert (await client.http.get(f"{PATH}/a2")).json() == two


@pytest.mark.parametrize("nothing", [False, 0, "", []])
async def test_what_says_nothing_is_no_metadata(tmp_path: Path, nothing: Any) -> None:
    """As LangGraph's own server reads it, and as the document says."""
    async with served(tmp_path) as client:
        new = await made(client, metadata=nothing)
        assert new["metadata"] == {}
        changed = await client.http.patch(
            f"{PATH}/{new['assistant_id']}", json={"metadata": nothing}
        )
        assert changed.json()["metadata"] == {}


async def test_a_search_is_sorted_paged_and_selected(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        for name in ("b", "c", "a"):
            await made(client, assistant_id=f"id-{name}", name=name)
        asked: dict[str, Any] = {"sort_by": "name", "sort_order": "asc", "select": ["name"]}
        pages, offset = list[Any](), "0"
        while offset:
            body = {**asked, "limit": 2, "offset": int(offset)}
            answer = await client.http.post(f"{PATH}/search", json=body)
            pages += answer.json()
            offset = answer.headers.get("x-pagination-next", "")
        assert pages == [{"name": name} for name in ("a", "b", "c", "toned")]
        found = (await client.http.post(f"{PATH}/search", json={})).json()
        assert [one["name"] for one in found] == ["toned", "a", "c", "b"]


async def test_a_graph_cannot_be_changed_and_its_id_is_taken(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        for method, path, body in (
            ("PATCH", f"{PATH}/toned", {"name": "x"}),
            ("DELETE", f"{PATH}/toned", None),
            ("POST", f"{PATH}/toned/latest", {"version": 1}),
        ):
            refused = await client.http.request(method, path, json=body)
            assert (refused.status_code, refused.json()["code"]) == (409, "assistant_is_graph")
        body = {"graph_id": "toned", "assistant_id": "toned"}
        refused = await client.http.post(PATH, json=body)
        assert (refused.status_code, refused.json()["code"]) == (409, "assistant_exists")
        same = await client.http.post(PATH, json={**body, "if_exists": "do_nothing"})
        assert same.json() == (await client.http.get(f"{PATH}/toned")).json()
        kept = await made(client, assistant_id="a1", name="x")
        assert await made(client, assistant_id="a1", if_exists="do_nothing") == kept


async def test_an_assistant_whose_graph_is_gone_says_so(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        await made(client, assistant_id="a1")
    async with serving(settings(tmp_path / "t.db")) as client:
        gone = await run(client, "a1")
        assert (gone.status_code, gone.json()["code"]) == (404, "assistant_not_found")
        assert "'toned'" in gone.json()["detail"]
        assert (await client.http.delete(f"{PATH}/a1")).status_code == 204


async def test_schemas_have_what_clients_send_and_see_and_no_more(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        await made(client, assistant_id="a1")
        schemas = (await client.http.get(f"{PATH}/a1/schemas")).json()
        assert [*schemas["input_schema"]["properties"]] == ["messages", "topic"]
        assert [*schemas["output_schema"]["properties"]] == ["messages"]
        assert [*schemas["context_schema"]["properties"]] == ["tone"]
        assert [*schemas["config_schema"]["properties"]] == ["mood", "tone", "topic"]
        tone = schemas["context_schema"]["properties"]["tone"]
        assert schemas["config_schema"]["properties"]["tone"] == tone
        assert "secret" not in json.dumps(schemas)
        assert "draft" not in json.dumps(schemas)
        inner = (await client.http.get(f"{PATH}/a1/subgraphs")).json()
        assert [*inner] == ["inside"]
        assert inner == (await client.http.get(f"{PATH}/a1/subgraphs/inside")).json()
        assert (await client.http.get(f"{PATH}/a1/subgraphs/none")).json() == {}


@pytest.mark.parametrize(("xray", "inside"), [("", False), ("true", True), ("1", True)])
async def test_a_drawing_shows_subgraphs_where_that_is_asked_for(
    xray: str, inside: bool, tmp_path: Path
) -> None:
    async with served(tmp_path) as client:
        drawing = (await client.http.get(f"{PATH}/toned/graph", params={"xray": xray})).json()
        nodes = [node["id"] for node in drawing["nodes"]]
        assert ("inside:speak" in nodes) is inside
        assert ("inside" in nodes) is not inside


async def test_who_has_their_data_deleted_keeps_no_assistant(tmp_path: Path) -> None:
    async with serving(keys_settings(tmp_path)) as server:
        async with client_of(server, "ann") as ann:
            body = {"graph_id": "chat", "assistant_id": "a1"}
            assert (await ann.http.post(PATH, json=body)).status_code == 200
            gone = await ann.http.request("DELETE", "/me", json={"confirm": "ann"})
            assert gone.status_code == 204
        async with client_of(server, "ann") as ann:
            assert (await ann.http.get(f"{PATH}/a1")).status_code == 404
