"""LangGraph SDK: a thread that a client makes is there before its first run."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.scripted_model import ScriptedModel, finish, text
from tests.support.serving import Client, endpoint_settings, serving, settings
from tests.support.users import bearer, keys_settings, make_key

PATH = "/langgraph/threads"
JSON = {"Content-Type": "application/json"}


async def made(client: Client, **body: Any) -> Any:
    answer = await client.http.post(PATH, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_thread_that_is_made_is_found_empty_and_deleted(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        thread = await made(client)
        path = f"{PATH}/{thread['thread_id']}"
        assert (thread["status"], thread["values"]) == ("idle", None)
        got = (await client.http.get(path)).json()
        assert got == {**thread, "values": {"messages": []}}
        assert (await client.http.get(f"{path}/state")).json()["values"] == {"messages": []}
        assert (await client.http.post(f"{path}/history", json={})).json() == []
        found = (await client.http.post(f"{PATH}/search", json={})).json()
        assert [one["thread_id"] for one in found] == [thread["thread_id"]]
        native = (await client.http.get(f"/threads/{thread['thread_id']}")).json()
        assert (native["messages"], native["run_id"]) == ([], "")
        assert (await client.http.delete(path)).status_code == 204
        assert (await client.http.get(path)).status_code == 404


@pytest.mark.parametrize("metadata", [{"graph_id": "unheard-of"}, {"graph_id": 7}])
async def test_a_search_that_no_thread_can_match_reads_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metadata: dict[str, Any]
) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        await client.http.post(PATH, json={})
        assert client.state is not None
        monkeypatch.setattr(client.state["store"], "page", None)
        found = await client.http.post(f"{PATH}/search", json={"metadata": metadata})
    assert (found.status_code, found.json()) == (200, [])


async def test_a_search_begins_within_the_threads_that_it_may_look_through(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        await client.http.post(PATH, json={})
        for offset, status in ((0, 200), (10_000, 200), (10_001, 422)):
            found = await client.http.post(f"{PATH}/search", json={"offset": offset})
            assert found.status_code == status
        assert found.json()["code"] == "invalid_limit"


async def test_metadata_is_kept_changed_searched_exported_and_deleted_with_the_thread(
    tmp_path: Path,
) -> None:
    first = {"user": {"id": "ann", "team": 2}, "topic": "tides"}
    async with serving(settings(tmp_path / "t.db", undo_seconds=0)) as client:
        kept = await made(client, thread_id="t1", metadata={**first, "graph_id": "chat"})
        assert kept["metadata"].items() >= {**first, "graph_id": "chat"}.items()
        await made(client, thread_id="t2", metadata={"user": {"id": "bob"}})
        changed = await client.http.patch(f"{PATH}/t1", json={"metadata": {"topic": ["moon"]}})
        now = {**first, "topic": ["moon"]}
        assert changed.json()["metadata"].items() >= now.items()
        assert (await client.http.get(f"{PATH}/t1")).json()["metadata"].items() >= now.items()
        same = await made(client, thread_id="t1", if_exists="do_nothing", metadata={"topic": "x"})
        assert same["metadata"].items() >= now.items()
        for wanted, found in (
            ({"user": {"id": "ann"}}, ["t1"]),
            ({"user": {}}, ["t2", "t1"]),
            ({"topic": ["moon"], "graph_id": "chat"}, ["t1"]),
            ({"user": {"id": "ann", "more": 1}}, []),
            ({"topic": "moon"}, []),
        ):
            answer = await client.http.post(f"{PATH}/search", json={"metadata": wanted})
            assert [one["thread_id"] for one in answer.json()] == found
            count = await client.http.post(f"{PATH}/count", json={"metadata": wanted})
            assert count.json() == len(found)
        lines = (await client.http.get("/export")).text.splitlines()
        exported = {line["id"]: line.get("metadata") for line in map(json.loads, lines)}
        assert exported == {"t1": now, "t2": {"user": {"id": "bob"}}}
        await client.http.delete(f"{PATH}/t1")
        again = await made(client, thread_id="t1")
        assert not again["metadata"].keys() & first.keys()


async def test_metadata_that_cannot_be_kept_changes_nothing(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        for long in ({"topic": "x" * 16_000}, {"__proto__": "x" * 16_000}):
            refused = await client.http.post(PATH, json={"metadata": long})
            assert (refused.status_code, refused.json()["code"]) == (422, "value_too_long")
        assert (await client.http.post(f"{PATH}/search", json={})).json() == []
        await made(client, thread_id="t1", metadata={"topic": "x" * 9_000})
        await made(client, thread_id="full", metadata={"topic": ["x"] * 3_990})
        for name, value, code in (
            ("more", "x" * 9_000, "value_too_long"),
            ("more", "\ud800", "invalid_text"),
        ):
            body = json.dumps({"metadata": {name: value}})
            refused = await client.http.patch(f"{PATH}/t1", content=body, headers=JSON)
            assert (refused.status_code, refused.json()["code"]) == (422, code)
        unknown = await client.http.patch(f"{PATH}/t2", json={"metadata": {"topic": "x"}})
        assert unknown.status_code == 404
        metadata = (await client.http.get(f"{PATH}/t1")).json()["metadata"]
        assert metadata.keys() == {"topic", "graph_id", "assistant_id"}
        assert metadata["topic"] == "x" * 9_000


async def test_its_first_run_names_it_and_making_it_again_is_a_conflict(tmp_path: Path) -> None:
    model = ScriptedModel.of([text("Hello."), finish()])
    async with serving(settings(tmp_path / "t.db"), model=model) as client:
        await made(client, thread_id="t1")
        await client.turn({"thread_id": "t1", "message": "Good morning"})
        entry = (await client.http.get("/threads/t1")).json()
        assert (entry["title"], entry["run_state"]) == ("Good morning", "finished")
        again = await client.http.post(PATH, json={"thread_id": "t1"})
        assert (again.status_code, again.json()["code"]) == (409, "thread_exists")
        same = await made(client, thread_id="t1", if_exists="do_nothing")
        assert same["metadata"]["title"] == "Good morning"


async def test_it_counts_once_against_the_limit_of_new_threads(tmp_path: Path) -> None:
    model = ScriptedModel.of([text("Hello."), finish()])
    async with serving(settings(tmp_path / "t.db", max_new_threads=1), model=model) as client:
        await made(client, thread_id="t1")
        await client.turn({"thread_id": "t1", "message": "Hi"})
        refused = await client.http.post(PATH, json={})
        assert (refused.status_code, refused.json()["code"]) == (503, "limit_reached")


async def test_it_is_its_owners_alone(tmp_path: Path) -> None:
    async with serving(keys_settings(tmp_path)) as client:
        ann, bob = await make_key(client, "ann"), await make_key(client, "bob")
        body = {"thread_id": "t1"}
        await client.http.post(PATH, json=body, headers=bearer(ann))
        of_bob = await client.http.get(f"{PATH}/t1", headers=bearer(bob))
        unknown = await client.http.get(f"{PATH}/t2", headers=bearer(bob))
        assert (of_bob.status_code, unknown.status_code) == (404, 404)
        assert (await client.http.post(PATH, json=body, headers=bearer(bob))).status_code == 200


async def test_a_run_that_a_budget_ended_keeps_its_status_when_another_follows(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("calculator", '{"expression": "1"}')), text_reply("Well."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint, max_steps=1)) as client:
        await client.turn({"thread_id": "t1", "message": "Hello"})
        run_id = (await client.http.get("/threads/t1")).json()["run_id"]
        path = f"{PATH}/t1/runs/{run_id}"
        assert (await client.http.get(path)).json()["status"] == "success"
        await client.turn({"thread_id": "t1", "message": "And now?"})
        assert (await client.http.get("/threads/t1")).json()["run_id"] != run_id
        assert (await client.http.get(path)).json()["status"] == "success"


async def test_threads_are_found_by_ids_and_values_sorted_and_selected(tmp_path: Path) -> None:
    model = ScriptedModel.of([text("Hello."), finish()])
    async with serving(settings(tmp_path / "t.db"), model=model) as client:
        for id in ("b", "c", "a"):
            await made(client, thread_id=id)
        await client.turn({"thread_id": "c", "message": "Hi"})
        messages = (await client.http.get(f"{PATH}/c/state")).json()["values"]["messages"]
        some = {"select": ["thread_id"]}
        for asked, ids in (
            ({}, ["c", "a", "b"]),
            ({"ids": ["a", "c", "none"]}, ["c", "a"]),
            ({"sort_by": "created_at", "sort_order": "asc"}, ["b", "c", "a"]),
            ({"sort_by": "thread_id"}, ["c", "b", "a"]),
            ({"sort_by": "thread_id", "sort_order": "asc", "limit": 1, "offset": 1}, ["b"]),
            ({"values": {"messages": messages}}, ["c"]),
            ({"values": {"messages": []}}, ["a", "b"]),
        ):
            answer = await client.http.post(f"{PATH}/search", json={**asked, **some})
            assert answer.json() == [{"thread_id": id} for id in ids]
        page = await client.http.post(f"{PATH}/search", json={"limit": 2})
        assert page.headers["x-pagination-next"] == "2"
        ignored = await client.http.post(f"{PATH}/search", json={"extract": {"a": "values.a"}})
        assert ignored.headers["x-turnstream-ignored"] == "extract"
        count = await client.http.post(f"{PATH}/count", json={"values": {"messages": messages}})
        assert count.json() == 1


async def test_what_a_new_thread_cannot_have_is_said(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        steps = [{"updates": [{"values": {}, "as_node": "agent"}]}]
        refused = await client.http.post(PATH, json={"supersteps": steps})
        assert (refused.status_code, refused.json()["code"]) == (422, "unsupported_option")
        kept = await client.http.post(PATH, json={"thread_id": "t1", "ttl": {"ttl": 60}})
        assert kept.headers["x-turnstream-ignored"] == "ttl"
        minimal = {"Prefer": "return=minimal"}
        changed = await client.http.patch(f"{PATH}/t1", json={"metadata": {}}, headers=minimal)
        assert (changed.status_code, changed.content) == (204, b"")


async def test_the_room_of_a_thread_is_measured_without_naming_its_channels(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        assert (await client.http.get(f"{PATH}/t1/storage")).status_code == 404
        await client.http.post(PATH, json={"thread_id": "t1"})
        assert (await client.http.get(f"{PATH}/t1/storage")).json()["total_bytes"] == 0
        await client.turn({"thread_id": "t1", "message": "Hi"})
        told = (await client.http.get(f"{PATH}/t1/storage")).json()
        sections = [told[name] for name in ("checkpoints", "channel_values", "pending_writes")]
        assert told["total_bytes"] == sum(one["bytes"] for one in sections) > 0
        assert (told["thread_id"], told["channel_values"]["by_channel"]) == ("t1", {})


async def test_a_copy_goes_on_by_itself(tmp_path: Path, endpoint: StrictEndpoint) -> None:
    adding = call_reply(("calculator", '{"expression": "1"}'))
    endpoint.script(adding, text_reply("Hello."), text_reply("There."), text_reply("Here."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        await client.turn({"thread_id": "t1", "message": "Hi"})
        await client.http.patch(f"{PATH}/t1", json={"metadata": {"topic": "tides"}})
        answer = await client.http.post(f"{PATH}/t1/copy")
        copied = answer.json()
        assert (copied["metadata"]["topic"], copied["metadata"]["title"]) == ("tides", "Hi (2)")
        id = copied["thread_id"]
        states = [(await client.http.get(f"{PATH}/{one}/state")).json() for one in ("t1", id)]
        assert states[0]["created_at"] == states[1]["created_at"]
        assert states[0]["metadata"] == {**states[1]["metadata"], "thread_id": "t1"}
        of_source = (await client.http.get("/threads/t1")).json()["messages"]
        assert (await client.http.get(f"/threads/{id}")).json()["messages"] == of_source
        await client.turn({"thread_id": id, "message": "And?"})
        assert (await client.http.get("/threads/t1")).json()["messages"] == of_source
        await client.http.delete(f"{PATH}/t1")
        await client.turn({"thread_id": id, "message": "Go on"})
        messages = (await client.http.get(f"/threads/{id}")).json()["messages"]
        assert messages[:2] == of_source
        assert len(messages) == 6
        listed = (await client.http.get("/threads", params={"q": "hello"})).json()["threads"]
        assert [one["id"] for one in listed] == [id]


async def test_threads_are_pruned(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        for id in ("t1", "t2", "t3"):
            await made(client, thread_id=id)
        body = {"thread_ids": ["t1", "t1", "t3", "none"]}
        pruned = await client.http.post(f"{PATH}/prune", json=body)
        assert pruned.json() == {"pruned_count": 2}
        left = (await client.http.post(f"{PATH}/search", json={})).json()
        assert [one["thread_id"] for one in left] == ["t2"]
