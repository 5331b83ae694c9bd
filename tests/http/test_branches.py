"""Versions of messages: what an edit and an answer made anew have left is there, can be looked at,
and gone on from."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.clients.scripted_turns import QUESTION
from tests.http.gated import office
from tests.support.endpoint import Fail, Pause, Reply, Say, call_reply, text_reply
from tests.support.scripted_model import finish, text
from tests.support.scripted_server import ScriptedServer, scripted_server
from tests.support.serving import Client

Json = dict[str, Any]

ASK = call_reply(("request_user_selection", QUESTION), ids=("call_1",))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ScriptedServer]:
    async with scripted_server(tmp_path) as server:
        yield server


@pytest.fixture
def client(server: ScriptedServer) -> Client:
    return server.http


def asks(words: str, id: str) -> Json:
    return {"id": id, "parts": [{"type": "text", "text": words}]}


async def turn(server: ScriptedServer, answer: str | Reply | Fail, **body: Any) -> None:
    server.endpoint.script(text_reply(answer) if isinstance(answer, str) else answer)
    await server.http.turn({"thread_id": "t1", **body})


async def problem(client: Client, method: str, path: str, **request: Any) -> tuple[int, str]:
    answer = await client.http.request(method, path, **request)
    return answer.status_code, answer.json()["code"]


async def conversation(server: ScriptedServer) -> None:
    """One, A, Two, B; then Two as Zwei, C; then C made anew as D."""
    await turn(server, "A", message=asks("One", "m1"))
    await turn(server, "B", message=asks("Two", "m2"))
    await turn(server, "C", edit={"message_id": "m2", "message": asks("Zwei", "m3")})
    await turn(server, "D", regenerate=True)


def said(thread: Json) -> list[str]:
    return ["".join(p.get("text", "") for p in m["parts"]) for m in thread["messages"]]


def versions(thread: Json) -> list[str | None]:
    """Of each message, as a page shows them: `2/3`, or None."""

    def shown(message: Json) -> str | None:
        if "versions" not in message:
            assert "version" not in message
            return None
        ids = message["versions"]
        return f"{1 + ids.index(message['version'])}/{len(ids)}"

    return [shown(message) for message in thread["messages"]]


def other(thread: Json, place: int, number: int) -> str:
    """The id of a version of a message, counted from 1."""
    id: str = thread["messages"][place]["versions"][number - 1]
    return id


async def look(client: Client, version: str, **query: Any) -> Json:
    thread: Json = await client.thread("t1", version=version, **query)
    return thread


async def test_a_thread_without_edits_says_nothing_of_versions(server: ScriptedServer) -> None:
    await turn(server, "A", message="One")
    thread = await server.http.thread("t1")
    assert versions(thread) == [None, None]
    assert "version" not in thread


async def test_a_message_says_which_versions_it_has(server: ScriptedServer) -> None:
    await conversation(server)
    thread = await server.http.thread("t1")
    assert said(thread) == ["One", "A", "Zwei", "D"]
    assert versions(thread) == [None, None, "2/2", "2/2"]


async def test_looking_at_a_version_shows_its_branch_and_changes_nothing(
    server: ScriptedServer,
) -> None:
    await conversation(server)
    client = server.http
    thread = await client.thread("t1")

    first = await look(client, other(thread, 2, 1))
    assert (said(first), versions(first)) == (["One", "A", "Two", "B"], [None, None, "1/2", None])
    assert first["version"] == other(thread, 2, 1)
    before = await look(client, other(thread, 3, 1))
    assert (said(before), versions(before)) == (
        ["One", "A", "Zwei", "C"],
        [None, None, "2/2", "1/2"],
    )
    assert await look(client, other(first, 2, 2)) == thread
    assert await client.thread("t1") == thread


async def test_a_message_goes_on_from_the_version_that_it_names(server: ScriptedServer) -> None:
    await conversation(server)
    client = server.http
    left = await client.thread("t1")
    await turn(server, "E", message="More", version=other(left, 2, 1))

    thread = await client.thread("t1")
    assert said(thread) == ["One", "A", "Two", "B", "More", "E"]
    assert versions(thread) == [None, None, "1/2", None, None, None]
    sent = [message["content"] for message in server.endpoint.requests[-1]["messages"]]
    assert sent[-5:] == ["One", "A", "Two", "B", "More"]
    assert said(await look(client, other(thread, 2, 2))) == said(left)


async def test_an_answer_made_anew_is_undone_by_going_on_from_the_one_before(
    server: ScriptedServer,
) -> None:
    await turn(server, "A", message="One")
    await turn(server, "B", message="Two")
    first = (await server.http.thread("t1"))["messages"][1]["id"]
    await turn(server, "A again", regenerate=first)
    thread = await server.http.thread("t1")
    assert (said(thread), versions(thread)) == (["One", "A again"], [None, "2/2"])

    await turn(server, "C", message="Three", version=other(thread, 1, 1))
    thread = await server.http.thread("t1")
    assert said(thread) == ["One", "A", "Two", "B", "Three", "C"]
    assert versions(thread) == [None, "1/2", None, None, None, None]


async def test_versions_of_a_later_message_belong_to_the_version_of_an_earlier_one(
    server: ScriptedServer,
) -> None:
    await conversation(server)
    await turn(server, "E", edit={"message_id": "m1", "message": asks("Uno", "m4")})
    await turn(server, "F", message="Dos")
    client = server.http
    thread = await client.thread("t1")
    assert (said(thread), versions(thread)) == (
        ["Uno", "E", "Dos", "F"],
        ["2/2", None, None, None],
    )

    last = await look(client, other(thread, 0, 1))
    assert (said(last), versions(last)) == (
        ["One", "A", "Zwei", "D"],
        ["1/2", None, "2/2", "2/2"],
    )
    older = await look(client, other(last, 2, 1))
    assert (said(older), versions(older)) == (
        ["One", "A", "Two", "B"],
        ["1/2", None, "1/2", None],
    )
    assert await look(client, other(older, 0, 2)) == thread


async def test_a_message_of_a_version_is_edited_there(server: ScriptedServer) -> None:
    await conversation(server)
    left = await server.http.thread("t1")
    edit = {"message_id": "m2", "message": asks("Deux", "m4")}
    await turn(server, "E", edit=edit, version=other(left, 2, 1))
    thread = await server.http.thread("t1")
    assert (said(thread), versions(thread)) == (
        ["One", "A", "Deux", "E"],
        [None, None, "3/3", None],
    )
    assert said(await look(server.http, other(thread, 2, 2))) == ["One", "A", "Zwei", "D"]
    assert said(await look(server.http, other(thread, 2, 1))) == ["One", "A", "Two", "B"]


async def test_a_version_of_words_is_the_answer_that_was_there_last(
    server: ScriptedServer,
) -> None:
    await conversation(server)
    first = await server.http.thread("t1")
    await turn(server, "E", message="Weiter", version=other(first, 3, 1))
    await turn(server, "F", message="More", version=other(first, 2, 1))
    thread = await server.http.thread("t1")
    assert said(thread) == ["One", "A", "Two", "B", "More", "F"]
    assert said(await look(server.http, other(thread, 2, 2))) == [
        *("One", "A", "Zwei", "C", "Weiter", "E")
    ]


async def test_an_edit_that_keeps_its_id_is_another_version_all_the_same(
    server: ScriptedServer,
) -> None:
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "One"}]}
    body: Json = {"id": "t1", "trigger": "submit-message", "messages": [message]}
    server.endpoint.script(text_reply("A"), text_reply("B"))
    await server.http.turn(body)
    edited = {**message, "parts": [{"type": "text", "text": "Uno"}]}
    await server.http.turn({**body, "messages": [edited], "messageId": "m1"})

    thread = await server.http.thread("t1", protocol="ui-message-stream")
    [question, answer] = thread["messages"]
    assert question["parts"] == edited["parts"]
    assert "versions" not in answer.get("metadata", {})
    one, two = question["metadata"]["versions"]
    assert question["metadata"]["version"] == two
    left = await look(server.http, one, protocol="ui-message-stream")
    assert left["messages"][0]["parts"] == message["parts"]
    assert left["messages"][0]["metadata"] == {"version": one, "versions": [one, two]}

    more = {"id": "m2", "role": "user", "parts": [{"type": "text", "text": "Two"}]}
    server.endpoint.script(text_reply("C"))
    await server.http.turn({**body, "messages": [more], "version": one})
    assert said(await server.http.thread("t1")) == ["One", "A", "Two", "C"]


async def test_versions_are_on_the_page_that_has_their_message(server: ScriptedServer) -> None:
    await turn(server, "A", message=asks("One", "m1"))
    await turn(server, "B", edit={"message_id": "m1", "message": asks("Uno", "m2")})
    for number in range(3):
        await turn(server, f"C{number}", message=f"More {number}")
    client = server.http
    newest = await client.thread("t1", limit="2")
    assert (versions(newest), newest["has_earlier"]) == ([None, None], True)
    oldest = await client.thread(
        "t1", limit="2", before=(await client.thread("t1"))["messages"][2]["id"]
    )
    assert (said(oldest), versions(oldest)) == (["Uno", "B"], ["2/2", None])
    left = await look(client, other(oldest, 0, 1), limit="1")
    assert (said(left), left["has_earlier"]) == (["A"], True)


async def test_a_question_that_waits_in_a_version_is_answered_there(
    server: ScriptedServer,
) -> None:
    await turn(server, ASK, message=asks("One", "m1"))
    await turn(server, "B", edit={"message_id": "m1", "message": asks("Uno", "m2")})
    client = server.http
    thread = await client.thread("t1")
    assert thread["pending"] == []
    left = await look(client, other(thread, 0, 1))
    assert [call["tool_call_id"] for call in left["pending"]] == ["call_1"]
    answer = {"tool_results": [{"tool_call_id": "call_1", "result": {"value": "fri"}}]}
    refused = await problem(client, "POST", "/chat", json={"thread_id": "t1", **answer})
    assert refused == (409, "not_pending")

    await turn(server, "Friday.", version=left["version"], **answer)
    thread = await client.thread("t1")
    assert (said(thread), versions(thread)) == (["One", "Friday."], ["1/2", None])
    assert thread["messages"][1]["parts"][0]["result"] == {"value": "fri"}
    again = {"thread_id": "t1", **answer, "version": left["version"]}
    assert await problem(client, "POST", "/chat", json=again) == (409, "already_answered")


async def test_a_question_that_waits_in_a_version_is_closed_by_a_message_there(
    server: ScriptedServer,
) -> None:
    await turn(server, ASK, message=asks("One", "m1"))
    await turn(server, "B", edit={"message_id": "m1", "message": asks("Uno", "m2")})
    thread = await server.http.thread("t1")
    await turn(server, "C", message="Never mind", version=other(thread, 0, 1))
    thread = await server.http.thread("t1")
    assert said(thread) == ["One", "", "Never mind", "C"]
    assert thread["messages"][1]["parts"][0]["state"] == "cancelled"


async def test_a_version_that_was_stopped_or_failed_goes_on(server: ScriptedServer) -> None:
    client = server.http
    server.endpoint.script(Reply((Say("A "), Pause(asyncio.Event()))))
    async with client.chat({"thread_id": "t1", "message": asks("One", "m1")}) as live:
        await live.until("text-delta")
        await client.http.post("/chat/t1/stop")
        await live.rest()
    await turn(server, Fail(400, "no", "bad"), regenerate=True)
    await turn(server, "C", regenerate=True)
    thread = await client.thread("t1")
    assert versions(thread) == [None, "3/3"]

    stopped = await look(client, other(thread, 1, 1))
    assert stopped["messages"][1]["ended"] == {"reason": "stopped"}
    failed = await look(client, other(thread, 1, 2))
    assert failed["messages"][1]["error"]["code"]
    await turn(server, "and so on", **{"continue": True}, version=stopped["version"])
    thread = await client.thread("t1")
    assert (said(thread), versions(thread)) == (["One", "A and so on"], [None, "1/3"])
    await turn(server, "D", message="Two", version=failed["version"])
    assert said(await client.thread("t1")) == ["One", "", "Two", "D"]


async def test_while_a_run_is_live_a_version_is_looked_at_and_cannot_be_gone_on_from(
    server: ScriptedServer,
) -> None:
    await conversation(server)
    client, gate = server.http, asyncio.Event()
    first = other(await client.thread("t1"), 2, 1)
    server.endpoint.script(Reply((Say("E "), Pause(gate), Say("e"))))
    async with client.chat({"thread_id": "t1", "regenerate": True}) as live:
        await live.until("text-delta")
        now = await client.thread("t1")
        assert (said(now)[:3], versions(now)) == (
            ["One", "A", "Zwei"],
            [None, None, "2/2", "3/3"],
        )
        assert now["run"]["id"] == live.run_id
        assert (await look(client, live.run_id))["run"]["id"] == live.run_id
        looked = await look(client, first)
        assert (said(looked), looked["run"]) == (["One", "A", "Two", "B"], None)
        body = {"thread_id": "t1", "message": "More", "version": first}
        assert await problem(client, "POST", "/chat", json=body) == (409, "run_in_progress")
        server.endpoint.script(text_reply("F"))
        await client.turn({**body, "on_busy": "stop"})
        await live.rest()
    thread = await client.thread("t1")
    assert said(thread) == ["One", "A", "Two", "B", "More", "F"]
    stopped = await look(client, live.run_id)
    assert (said(stopped)[:3], versions(stopped)[3]) == (["One", "A", "Zwei"], "3/3")


@pytest.mark.parametrize("named", ["v9", "before-v9", "x" * 5000])
async def test_an_unknown_version_is_refused_and_changes_nothing(
    server: ScriptedServer, named: str
) -> None:
    await turn(server, "A", message="One")
    client = server.http
    thread = await client.thread("t1")
    body = {"thread_id": "t1", "message": "Two", "version": named}
    unknown = (404, "unknown_version")
    assert await problem(client, "POST", "/chat", json=body) == unknown
    assert await problem(client, "GET", "/threads/t1", params={"version": named}) == unknown
    assert await client.thread("t1") == thread


async def test_a_version_is_of_a_thread_that_exists(client: Client) -> None:
    for thread in ({}, {"thread_id": "t1"}):
        body = {**thread, "message": "One", "version": "v1"}
        assert await problem(client, "POST", "/chat", json=body) == (404, "thread_not_found")
    assert (await client.http.get("/threads")).json()["threads"] == []


@pytest.mark.parametrize("wrong", [7, True, ["v1"]])
async def test_a_version_is_named_by_a_string(client: Client, wrong: Any) -> None:
    body = {"thread_id": "t1", "message": "One", "version": wrong}
    assert await problem(client, "POST", "/chat", json=body) == (422, "invalid_body")


async def test_the_thread_must_not_have_gone_on_since_the_version_was_looked_at(
    server: ScriptedServer,
) -> None:
    await conversation(server)
    thread = await server.http.thread("t1")
    await turn(server, "E", message="More")
    body = {
        "thread_id": "t1",
        "message": "Other",
        "version": other(thread, 2, 1),
        "based_on": thread["run_id"],
    }
    assert await problem(server.http, "POST", "/chat", json=body) == (409, "thread_changed")


async def test_the_version_that_the_thread_shows_is_the_thread(server: ScriptedServer) -> None:
    await conversation(server)
    thread = await server.http.thread("t1")
    await turn(server, "E", message="More", version=other(thread, 3, 2))
    thread = await server.http.thread("t1")
    assert said(thread) == ["One", "A", "Zwei", "D", "More", "E"]
    assert versions(thread) == [None, None, "2/2", "2/2", None, None]


async def test_a_branch_that_langgraphs_client_goes_back_to_keeps_the_one_it_leaves(
    server: ScriptedServer,
) -> None:
    await conversation(server)
    client = server.http
    states = (await client.http.post("/langgraph/threads/t1/history", json={"limit": 100})).json()
    two = next(s for s in states if [m["content"] for m in s["values"]["messages"]][-1:] == ["B"])
    server.endpoint.script(text_reply("E"))
    body = {
        "assistant_id": "chat",
        "input": {"messages": [{"type": "human", "content": "More"}]},
        "checkpoint": {"checkpoint_id": two["checkpoint"]["checkpoint_id"]},
    }
    answer = await client.http.post("/langgraph/threads/t1/runs/stream", json=body)
    assert answer.status_code == 200
    thread = await client.thread("t1")
    assert said(thread) == ["One", "A", "Two", "B", "More", "E"]
    assert versions(thread) == [None, None, "1/2", None, None, None]
    left = await look(client, other(thread, 2, 2))
    assert (said(left), versions(left)) == (["One", "A", "Zwei", "D"], [None, None, "2/2", "2/2"])


async def test_a_deleted_thread_leaves_no_versions(server: ScriptedServer) -> None:
    await conversation(server)
    first = other(await server.http.thread("t1"), 2, 1)
    assert (await server.http.http.delete("/threads/t1")).status_code == 204
    await turn(server, "A", message=asks("One", "m1"))
    await turn(server, "B", message=asks("Two", "m2"))
    thread = await server.http.thread("t1")
    assert versions(thread) == [None, None, None, None]
    path = "/threads/t1"
    refused = await problem(server.http, "GET", path, params={"version": first})
    assert refused == (404, "unknown_version")


@pytest.mark.one_process
async def test_another_graph_keeps_versions_too(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, graph="docs.examples.own_graph:build") as server:
        await conversation(server)
        thread = await server.http.thread("t1")
        assert (said(thread), versions(thread)) == (
            ["One", "A", "Zwei", "D"],
            [None, None, "2/2", "2/2"],
        )
        await turn(server, "E", message="More", version=other(thread, 2, 1))
        thread = await server.http.thread("t1")
        assert said(thread) == ["One", "A", "Two", "B", "More", "E"]
        assert said(await look(server.http, other(thread, 2, 2))) == ["One", "A", "Zwei", "D"]


@pytest.mark.one_process
async def test_without_the_setting_branches_are_left_and_nothing_is_kept_of_them(
    tmp_path: Path,
) -> None:
    async with scripted_server(tmp_path, versions=False) as server:
        await conversation(server)
        thread = await server.http.thread("t1")
        assert (said(thread), versions(thread)) == (["One", "A", "Zwei", "D"], [None] * 4)
        asked = {"thread_id": "t1", "message": "More", "version": "v1"}
        assert await problem(server.http, "POST", "/chat", json=asked) == (404, "unknown_version")
        path, query = "/threads/t1", {"version": "v1"}
        refused = await problem(server.http, "GET", path, params=query)
        assert refused == (404, "unknown_version")
    with closing(sqlite3.connect(tmp_path / "t.db")) as database:
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    assert "turn_versions" not in names
    async with scripted_server(tmp_path) as server:
        await turn(server, "E", regenerate=True)
        thread = await server.http.thread("t1")
        assert (said(thread), versions(thread)) == (
            ["One", "A", "Zwei", "E"],
            [None, None, None, "2/2"],
        )
        assert said(await look(server.http, other(thread, 3, 1))) == ["One", "A", "Zwei", "D"]


@pytest.mark.one_process
async def test_versions_of_a_file_of_before_are_found_and_go_with_their_thread(
    tmp_path: Path,
) -> None:
    async with scripted_server(tmp_path) as server:
        await conversation(server)
    with closing(sqlite3.connect(tmp_path / "t.db")) as database, database:
        database.execute("DELETE FROM extensions WHERE name = 'versions'")
    async with scripted_server(tmp_path) as server:
        thread = await server.http.thread("t1")
        assert versions(thread) == [None, None, "2/2", "2/2"]
    with closing(sqlite3.connect(tmp_path / "t.db")) as database, database:
        database.execute("DELETE FROM extensions WHERE name = 'versions'")
    async with scripted_server(tmp_path, versions=False) as server:
        await server.http.http.delete("/threads/t1", params={"at_once": "true"})
    with closing(sqlite3.connect(tmp_path / "t.db")) as database:
        assert database.execute("SELECT count(*) FROM turn_versions").fetchone() == (0,)


@pytest.mark.one_process
async def test_versions_are_their_owners_alone(tmp_path: Path) -> None:
    says = [[text(word), finish()] for word in ("A", "B", "C")]
    async with (
        office(tmp_path, *says) as served,
        served.person("ann") as ann,
        served.person("bob") as bob,
    ):
        await ann.client.turn({"thread_id": "t1", "message": asks("One", "m1")})
        await ann.client.turn({"thread_id": "t1", "regenerate": True})
        await bob.client.turn({"thread_id": "t1", "message": asks("One", "m1")})
        anns, bobs = await ann.client.thread("t1"), await bob.client.thread("t1")
        assert (versions(anns), versions(bobs)) == ([None, "2/2"], [None, None])
        for id in anns["messages"][1]["versions"]:
            unknown = (404, "unknown_version")
            path, body = "/threads/t1", {"thread_id": "t1", "message": "Two", "version": id}
            assert await problem(bob.client, "GET", path, params={"version": id}) == unknown
            assert await problem(bob.client, "POST", "/chat", json=body) == unknown
        assert await bob.client.thread("t1") == bobs
