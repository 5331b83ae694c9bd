"""/threads: the list, one thread, its title, its end."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, inspect, text

from tests.support.backend import backend, key_of, message
from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, call_reply, text_reply
from tests.support.long_threads import history
from tests.support.scripted_model import ScriptedModel
from tests.support.serving import Client, serving, settings
from tests.support.two_workers import shared_by
from tests.support.waiting import HeldMethod
from turnstream.server.storage.interfaces import ThreadStore, WaitingApproval
from turnstream.server.storage.store import open_store
from turnstream.server.storage.thread_list import FORGET_EVERY
from turnstream.server.storage.titles import short_title
from turnstream.server.turns.header import LOCAL_OWNER
from turnstream.server.turns.requests import InvalidRequest

OPTIONS = [{"value": value, "label": value.upper()} for value in "ab"]
QUESTION = {"kind": "single", "prompt": "Which?", "options": OPTIONS}


async def listed(client: Client, **query: Any) -> dict[str, Any]:
    answer = await client.http.get("/threads", params=query)
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


async def ids_of(client: Client) -> list[str]:
    return [thread["id"] for thread in (await listed(client))["threads"]]


async def say(client: Client, thread_id: str, words: str = "Hello") -> None:
    await client.turn({"thread_id": thread_id, "message": words})


# the list


async def test_the_list_is_empty_at_first(client: Client) -> None:
    assert await listed(client) == {"threads": []}


async def test_the_thread_with_the_last_activity_comes_first(client: Client) -> None:
    for thread_id in ("a", "b", "c", "a"):
        await say(client, thread_id)
    page = await listed(client)
    assert [thread["id"] for thread in page["threads"]] == ["a", "c", "b"]
    assert "cursor" not in page
    newest = page["threads"][0]
    assert newest["created_at"] < newest["updated_at"]
    assert newest["run_state"] == "finished"
    times = [thread["updated_at"] for thread in page["threads"]]
    assert times == sorted(times, reverse=True)


async def test_the_end_of_a_run_moves_no_thread(client: Client, endpoint: StrictEndpoint) -> None:
    gate = asyncio.Event()
    endpoint.script(Reply((Say("Slow "), Pause(gate))))
    async with client.chat({"thread_id": "slow", "message": "Hello"}) as stream:
        await stream.until("text-delta")
        await say(client, "quick")
        assert await ids_of(client) == ["quick", "slow"]
        gate.set()
        await stream.rest()
    threads = (await listed(client))["threads"]
    assert [thread["id"] for thread in threads] == ["quick", "slow"]
    assert threads[0]["updated_at"] >= threads[1]["updated_at"]
    assert [thread["run_state"] for thread in threads] == ["finished", "finished"]


async def test_a_live_run_shows_in_the_list(client: Client, endpoint: StrictEndpoint) -> None:
    endpoint.script(Reply((Say("Slow "), Pause(asyncio.Event()))))
    async with client.chat({"thread_id": "a", "message": "Hello"}) as stream:
        await stream.until("text-delta")
        (thread,) = (await listed(client))["threads"]
        assert (thread["run_state"], thread["run_id"]) == ("live", stream.run_id)


async def test_pages_follow_one_another_to_the_end(client: Client) -> None:
    for number in range(5):
        await say(client, f"t{number}")
    pages, query = [], {"limit": "2"}
    while True:
        page = await listed(client, **query)
        pages.append([thread["id"] for thread in page["threads"]])
        if "cursor" not in page:
            break
        query["cursor"] = page["cursor"]
    assert pages == [["t4", "t3"], ["t2", "t1"], ["t0"]]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"limit": "0"}, "invalid_limit"),
        ({"limit": "101"}, "invalid_limit"),
        ({"limit": "-1"}, "invalid_limit"),
        ({"limit": "ten"}, "invalid_limit"),
        ({"limit": ""}, "invalid_limit"),
        ({"limit": "²"}, "invalid_limit"),
        ({"limit": "0000000011000000"}, "invalid_limit"),
        ({"cursor": "x"}, "invalid_cursor"),
        ({"cursor": "1.1"}, "invalid_cursor"),
        ({"cursor": "A" * 40}, "invalid_cursor"),
        ({"cursor": "²" * 40}, "invalid_cursor"),
        ({"cursor": "A" * 5000}, "invalid_cursor"),
        ({"cursor": "1.1;--"}, "invalid_cursor"),
    ],
)
async def test_a_list_asked_for_wrongly_is_refused(
    client: Client, query: dict[str, str], code: str
) -> None:
    answer = await client.http.get("/threads", params=query)
    assert (answer.status_code, answer.json()["code"]) == (422, code)


# paging while threads move, at the height of the store


@asynccontextmanager
async def store_at(path: Path) -> AsyncIterator[ThreadStore]:
    async with open_store(path, 1000) as store:
        yield store


STEP = st.one_of(
    st.tuples(st.just("run"), st.integers(0, 9)),
    st.tuples(st.just("end"), st.integers(0, 9)),
    st.tuples(st.just("rename"), st.integers(0, 9)),
    st.tuples(st.just("delete"), st.integers(0, 9)),
)


async def act(store: ThreadStore, kind: str, number: int, gone: set[str]) -> None:
    key = key_of(f"t{number}")
    match kind:
        case "run":
            await store.begin_run(key, "run", key.thread_id)
        case "end":
            await store.end_run(key, "run", "finished")
        case "rename":
            await store.rename(key, "new")
        case "delete":
            await store.delete(key)
            gone.add(key.thread_id)


@given(
    threads=st.integers(1, 10),
    limit=st.integers(1, 4),
    moves=st.lists(st.lists(STEP, max_size=6), min_size=1, max_size=12),
)
def test_paging_neither_skips_nor_repeats_while_threads_move(
    threads: int, limit: int, moves: list[list[tuple[str, int]]]
) -> None:
    asyncio.run(pages_are_whole(threads, limit, moves))


async def pages_are_whole(threads: int, limit: int, moves: list[list[tuple[str, int]]]) -> None:
    gone: set[str] = set()
    with TemporaryDirectory() as folder:
        async with store_at(Path(folder) / "t.db") as store:
            for number in range(threads):
                await act(store, "run", number, gone)
            page = await store.page(LOCAL_OWNER, limit)
            seen = [entry.id for entry in page.entries]
            for steps in moves:
                if page.cursor is None:
                    break
                for kind, number in steps:
                    await act(store, kind, number, gone)
                page = await store.page(LOCAL_OWNER, limit, page.cursor)
                seen += [entry.id for entry in page.entries]
            whole = [f"t{number}" for number in reversed(range(threads))]
            reached = whole[: whole.index(seen[-1]) + 1] if page.cursor else whole
            assert seen == [id for id in reached if id not in gone or id in seen]
            listed = (await store.page(LOCAL_OWNER, 100)).entries
            times = [entry.updated_at for entry in listed]
            assert times == sorted(times, reverse=True)


async def test_a_thread_that_moves_often_is_remembered_only_so_far_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstream.server.storage.thread_list.REMEMBERED_ACTIVITIES", 10)
    async with store_at(tmp_path / "t.db") as store:
        for _ in range(100):
            await store.begin_run(key_of("a"), "run", "A")
        with sqlite3.connect(tmp_path / "t.db") as database:
            (count,) = database.execute("SELECT count(*) FROM thread_activities").fetchone()
        database.close()
        assert count <= 12 + FORGET_EVERY


# a thread in pages


async def refusal(client: Client, thread_id: str, **query: str) -> tuple[int, str]:
    answer = await client.http.get(f"/threads/{thread_id}", params=query)
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize("protocol", ["assistant-transport", "ui-message-stream"])
async def test_a_thread_read_backwards_in_pages_is_the_whole(client: Client, protocol: str) -> None:
    for number in range(4):
        await say(client, "a", f"Number {number}")
    whole = await client.thread("a", protocol=protocol)
    assert "has_earlier" not in whole
    page = await client.thread("a", protocol=protocol, limit="3")
    read = page["messages"]
    while page["has_earlier"]:
        assert len(page["messages"]) == 3
        page = await client.thread("a", protocol=protocol, limit="3", before=read[0]["id"])
        read = [*page["messages"], *read]
    assert read == whole["messages"]
    assert {**page, "messages": read} == {**whole, "has_earlier": False}


@pytest.mark.one_process  # it writes without a claim
async def test_a_page_has_fifty_messages_if_nothing_is_said(client: Client) -> None:
    assert client.state is not None
    await say(client, "a")
    await client.state["graphs"].checkpoints(None).add(key_of("a"), history(40))
    page = await client.thread("a", before="u39")
    ids = [message["id"] for message in page["messages"]]
    assert ids == [id for n in range(14, 39) for id in (f"u{n}", f"u{n}.a")]
    assert page["has_earlier"]


async def test_a_live_thread_is_read_in_pages(client: Client, endpoint: StrictEndpoint) -> None:
    await say(client, "a", "First")
    endpoint.script(Reply((Say("Slow "), Pause(asyncio.Event()))))
    async with client.chat({"thread_id": "a", "message": "Second"}) as stream:
        await stream.until("text-delta")
        whole = await client.thread("a")
        page = await client.thread("a", limit="1")
        assert page == {**whole, "messages": whole["messages"][-1:], "has_earlier": True}
        assert page["messages"][0]["id"] == page["run"]["message_id"]
        earlier = await client.thread("a", before=page["messages"][0]["id"])
        assert earlier["messages"] == whole["messages"][:-1]
        assert not earlier["has_earlier"]


async def test_a_page_asked_for_wrongly_is_refused(client: Client) -> None:
    await say(client, "a")
    for limit in ("0", "1001", "-1", "ten", ""):
        assert await refusal(client, "a", limit=limit) == (422, "invalid_limit")
    assert await refusal(client, "a", before="u999") == (409, "unknown_message")
    assert await refusal(client, "a", before="") == (409, "unknown_message")
    assert await refusal(client, "nobody", before="u999") == (404, "thread_not_found")


# titles


async def test_the_title_is_the_first_message_on_one_line(client: Client) -> None:
    await say(client, "a", "  Hello,\n\tworld  ")
    await say(client, "a", "Something else")
    await say(client, "b", "word " * 30)
    titles = {thread["id"]: thread["title"] for thread in (await listed(client))["threads"]}
    assert titles["a"] == "Hello, world"
    assert titles["b"].startswith("word word")
    assert titles["b"].endswith("…")
    assert len(titles["b"]) <= 60


@given(st.text())
def test_a_title_is_one_short_line(text: str) -> None:
    title = short_title(text)
    assert 1 <= len(title) <= 60
    assert title == " ".join(title.split())


async def test_a_title_has_nothing_that_is_not_seen_or_turns_the_text_around(
    client: Client,
) -> None:
    await say(client, "a", "\u202eWhat\0 is\x7f\n\u2066this\u2069?")
    assert (await client.thread("a"))["title"] == "What is this?"
    assert (await client.thread("a"))["messages"][0]["parts"][0]["text"][0] == "\u202e"
    answer = await client.http.patch("/threads/a", json={"title": "\u202etxt\0.\x1bexe \ufeff"})
    assert answer.json()["title"] == "txt.exe"
    assert (await listed(client))["threads"] == [answer.json()]


async def test_a_rename_keeps_the_place_and_the_times(client: Client) -> None:
    await say(client, "a")
    await say(client, "b")
    before = (await listed(client))["threads"]
    answer = await client.http.patch("/threads/a", json={"title": "  Another\nname "})
    assert answer.status_code == 200
    assert answer.json() == {**before[1], "title": "Another name"}
    assert (await listed(client))["threads"] == [before[0], answer.json()]
    assert (await client.thread("a"))["title"] == "Another name"
    await say(client, "a", "More")
    assert (await client.thread("a"))["title"] == "Another name"


@pytest.mark.parametrize(
    "body",
    [
        {"title": ""},
        {"title": "  "},
        {"title": 1},
        {"title": None},
        {"title": "x" * 201},
        {"title": "\ud800"},
        {"title": "\0 \u202e\u200d"},
    ],
)
async def test_a_title_that_is_none_is_refused(client: Client, body: Any) -> None:
    await say(client, "a")
    await refused(client, body, "invalid_title")


@pytest.mark.parametrize(
    ("body", "code", "named"),
    [
        ([], "invalid_body", "a JSON object"),
        ("x", "invalid_body", "a JSON object"),
        ({}, "invalid_body", "title, allowed_tools, pinned, archived"),
        ({"title": "x", "pinnd": True}, "unknown_key", "'pinnd'"),
        ({"title": "x", "pinned": 1}, "invalid_body", "pinned is 1"),
    ],
)
async def test_a_change_of_no_known_kind_is_refused_by_its_name(
    client: Client, body: Any, code: str, named: str
) -> None:
    await say(client, "a")
    assert named in await refused(client, body, code)


async def refused(client: Client, body: Any, code: str) -> str:
    """A change of a thread whose title is Hello; the sentence that says why."""
    answer = await client.http.patch(
        "/threads/a", content=json.dumps(body), headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert (await client.thread("a"))["title"] == "Hello"
    return str(answer.json()["detail"])


async def test_an_unknown_thread_is_neither_shown_nor_renamed(client: Client) -> None:
    for answer in (
        await client.http.get("/threads/nobody"),
        await client.http.patch("/threads/nobody", json={"title": "x"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "thread_not_found")


# delete


def rows(path: Path, thread_id: str) -> dict[str, int]:
    """How many rows of each table of the database speak of the thread."""
    shared = shared_by(path)
    if shared:
        connect = partial(psycopg.connect, shared["database"].secret)
        engine = create_engine("postgresql+psycopg://", creator=connect)
    else:
        engine = create_engine(f"sqlite:///{path}")
    try:
        with engine.connect() as database:
            return dict(_rows_by_table(database, thread_id))
    finally:
        engine.dispose()


def _rows_by_table(database: Connection, thread_id: str) -> Iterator[tuple[str, int]]:
    tables = inspect(database)
    for table in tables.get_table_names():
        columns = {column["name"] for column in tables.get_columns(table)}
        key = "id" if table == "threads" else "thread_id"
        if key in columns:
            query = text(f'SELECT count(*) FROM "{table}" WHERE {key} = :id')
            yield table, database.execute(query, {"id": thread_id}).scalar_one()


@pytest.mark.one_process  # it looks into the file
async def test_a_deleted_thread_leaves_nothing_in_the_file(client: Client, tmp_path: Path) -> None:
    assert client.state is not None
    for thread_id in ("a", "b"):
        body = {"thread_id": thread_id, "message": "Hello"}
        await client.turn(body, headers={"Idempotency-Key": thread_id})
        key, store = key_of(thread_id), client.state["store"]
        await store.keep_dispositions(key, {"call": "client"})
        entry, waiting = await store.get(key), WaitingApproval(key, "call", "call", "pay", {}, 0)
        assert entry
        await store.end_run(key, entry.run_id, "waiting", (), [waiting])
        await store.put_words(key, entry.run_id, "words")
        await store.merge_metadata(key, {"topic": "tides"})
    before = rows(tmp_path / "t.db", "a")
    kept = {"checkpoints", "writes", "threads", "thread_activities", "requests"}
    empty = {"claims", "audit", "turn_versions", "removed_messages", "run_records"}
    empty |= {"queued_requests", "withdrawn_runs", "substeps", "search_substeps"}
    beside = {"call_dispositions", "approvals", "unfinished_answers"}
    beside |= {"search_texts", "search_threads", "thread_metadata"}
    assert set(before) == kept | beside | empty
    assert {table for table, count in before.items() if not count} == empty
    others = rows(tmp_path / "t.db", "b")
    assert (await client.http.delete("/threads/a")).status_code == 204
    assert not any(rows(tmp_path / "t.db", "a").values())
    assert rows(tmp_path / "t.db", "b") == others
    assert (await client.http.get("/threads/a")).status_code == 404
    assert await ids_of(client) == ["b"]
    assert (await client.http.delete("/threads/a")).status_code == 204


async def test_a_live_run_is_stopped_first_and_nothing_brings_its_thread_back(
    client: Client, endpoint: StrictEndpoint, tmp_path: Path
) -> None:
    assert client.state is not None
    endpoint.script(Reply((Say("Slow "), Pause(asyncio.Event()))))
    async with client.chat({"thread_id": "a", "message": "Hello"}) as stream:
        seen = await stream.until("text-delta")
        assert (await client.http.delete("/threads/a")).status_code == 204
        assert (await stream.rest())[-1].data == "[DONE]"
    assert (await endpoint.closed(1)).completed is False
    assert await client.state["store"].holder(key_of("a")) is None
    assert await client.state["reader"].find(key_of("a"), stream.run_id) is None
    assert not any(rows(tmp_path / "t.db", "a").values())
    for cursor in (seen.id, f"{stream.run_id}:0"):
        answer = await client.http.get("/chat/a/stream", headers={"Last-Event-ID": cursor or ""})
        assert answer.status_code == 204
    assert (await client.http.get("/chat/a/stream")).status_code == 204
    assert (await client.http.post("/chat/a/stop")).status_code == 404


async def test_deletes_at_once_leave_no_gap_for_a_new_run(
    client: Client, endpoint: StrictEndpoint, tmp_path: Path
) -> None:
    """A run that begins between two deletes would be left without its thread by the second."""
    endpoint.default = Reply((Say("Slow "), Pause(asyncio.Event())))
    async with client.chat({"thread_id": "a", "message": "Hello"}) as stream:
        await stream.until("text-delta")
        deletes = [client.http.delete("/threads/a") for _ in range(3)]
        post = client.http.post(
            "/chat",
            json={"thread_id": "a", "message": "Again", "on_busy": "stop"},
            headers={"Prefer": "respond-async"},
        )
        first, second, again, third = await asyncio.gather(*deletes[:2], post, deletes[2])
    assert [answer.status_code for answer in (first, second, third)] == [204] * 3
    found = rows(tmp_path / "t.db", "a")
    assert again.status_code in (202, 409)
    if found["threads"]:
        assert found["thread_activities"]
        assert (await client.thread("a"))["run_id"] == again.json()["run_id"]
    else:  # of a run that began, the last delete has ended it
        assert not any(found.values())


async def test_no_run_begins_while_one_of_several_deletes_is_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel.of()) as inside:
        await inside.turn(message("Hello"))
        one_of_them = HeldMethod(monkeypatch, inside.store, "delete", once=True)
        both = [asyncio.create_task(inside.runs.delete(key_of())) for _ in range(2)]
        await one_of_them.reached.wait()
        with pytest.raises(InvalidRequest) as refusal:
            await inside.start(message("Again"))
        assert refusal.value.code == "thread_being_deleted"
        one_of_them.through.set()
        await asyncio.gather(*both)
        await inside.turn(message("Again"))
        assert await inside.entry() is not None


async def test_a_deleted_thread_can_be_begun_anew(client: Client) -> None:
    await say(client, "a", "First")
    await client.http.delete("/threads/a")
    await say(client, "a", "Second")
    thread = await client.thread("a")
    assert thread["title"] == "Second"
    assert len(thread["messages"]) == 2


# hydrate


async def test_a_thread_at_rest_is_hydrated_whole(client: Client, endpoint: StrictEndpoint) -> None:
    endpoint.script(
        call_reply(("calculator", '{"expression": "6 * 7"}'), ids=("c1",)), text_reply("It is 42.")
    )
    async with client.chat({"thread_id": "a", "message": "6 * 7?"}) as stream:
        await stream.rest()
    thread = await client.thread("a")
    assert thread["title"] == "6 * 7?"
    assert (thread["run_id"], thread["run_state"]) == (stream.run_id, "finished")
    assert (thread["pending"], thread["run"]) == ([], None)
    user, assistant = thread["messages"]
    sent = datetime.fromisoformat(user.pop("createdAt"))
    assert abs(sent - datetime.fromisoformat(thread["created_at"])) < timedelta(minutes=1)
    assert user == {
        "id": stream.response.headers["x-message-id"],
        "role": "user",
        "parts": [{"type": "text", "text": "6 * 7?"}],
    }
    call, text = assistant["parts"]
    assert (call["toolCallId"], call["state"], call["isError"]) == ("c1", "result", False)
    assert (call["argsText"], call["args"]) == ('{"expression": "6 * 7"}', {"expression": "6 * 7"})
    assert call["result"]["value"] == 42
    assert text == {"type": "text", "text": "It is 42."}
    assert assistant["finishReason"] == "stop"
    assert set(assistant["usage"]) >= {"inputTokens", "outputTokens"}


@pytest.mark.parametrize(
    ("name", "args", "state", "is_error"),
    [
        ("calculator", '{"expression": "1 + 1"}', "result", False),
        ("calculator", '{"expression": "1 / 0"}', "error", True),
        ("calculator", '{"expression": ', "error", True),
        ("nothing", "{}", "error", True),
        (
            "render_ui_component",
            '{"component": "alert", "props": {"message": "!"}}',
            "shown",
            False,
        ),
    ],
)
async def test_a_call_is_hydrated_in_the_state_in_which_it_ended(
    client: Client, endpoint: StrictEndpoint, name: str, args: str, state: str, is_error: bool
) -> None:
    endpoint.script(call_reply((name, args)))
    _, events = await client.turn({"thread_id": "a", "message": "Go."})
    (streamed,) = [e.data for e in events if e.type == "result"]
    call = (await client.thread("a"))["messages"][1]["parts"][0]
    assert (call["state"], call["isError"]) == (state, is_error)
    assert (call["result"], call["isError"]) == (streamed["result"], streamed["isError"])


async def test_a_question_is_hydrated_as_pending_with_its_arguments(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("request_user_selection", json.dumps(QUESTION)), ids=("ask",)))
    await say(client, "a")
    thread = await client.thread("a")
    assert thread["pending"] == [
        {"tool_call_id": "ask", "tool_name": "request_user_selection", "args": QUESTION}
    ]
    part = thread["messages"][1]["parts"][0]
    assert part["state"] == "pending"
    assert "result" not in part
    assert thread["messages"][1]["finishReason"] == "tool-calls"
    answer = {"tool_call_id": "ask", "result": {"value": "a"}}
    await client.turn({"thread_id": "a", "tool_results": [answer]})
    thread = await client.thread("a")
    assert thread["pending"] == []
    assert thread["messages"][1]["parts"][0]["result"] == {"value": "a"}


async def test_a_live_run_is_hydrated_with_where_to_go_on(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(Reply((Say("Half "), Pause(asyncio.Event()))))
    async with client.chat({"thread_id": "a", "message": "Hello"}) as stream:
        seen = await stream.until("text-delta")
        thread = await client.thread("a")
        assert thread["run"] == {
            "id": stream.run_id,
            "stream_url": "/chat/a/stream",
            "stop_url": "/chat/a/stop",
            "cursor": seen.id,
            "message_id": thread["messages"][1]["id"],
            "first_part": 0,
        }
        assert thread["messages"][1]["parts"] == [{"type": "text", "text": "Half "}]
        assert "finishReason" not in thread["messages"][1]


async def test_a_live_run_that_has_said_nothing_yet_is_hydrated(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(Reply((Pause(asyncio.Event()), Say("Late."))))
    async with client.chat({"thread_id": "a", "message": "Hello"}):
        thread = await client.thread("a")
        assert thread["run"]["cursor"].endswith(":0")
        assert thread["messages"][1]["parts"] == []


async def test_the_run_of_a_continued_message_says_which_part_is_its_first(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(
        Reply(
            (
                Say("Let me ask. "),
                *call_reply(("request_user_selection", json.dumps(QUESTION)), ids=("ask",)).steps,
            )
        ),
        Reply((Say("So "), Pause(asyncio.Event()))),
    )
    await say(client, "a")
    answer = {"tool_call_id": "ask", "result": {"value": "a"}}
    async with client.chat({"thread_id": "a", "tool_results": [answer]}) as stream:
        await stream.until("text-delta")
        thread = await client.thread("a")
        assert thread["run"]["first_part"] == 2
        assert [part["type"] for part in thread["messages"][1]["parts"]] == [
            "text",
            "tool-call",
            "text",
        ]


async def test_a_hydration_is_of_one_moment_also_while_a_run_ends(
    client: Client, endpoint: StrictEndpoint
) -> None:
    """Either the run is live, with its cursor, or its message has its end."""
    gate = asyncio.Event()
    endpoint.script(Reply((Say("One "), Pause(gate), Say("two."))))
    async with client.chat({"thread_id": "a", "message": "Hello"}) as stream:
        await stream.until("text-delta")
        gate.set()
        threads = await asyncio.gather(*(client.thread("a") for _ in range(20)))
        await stream.rest()
    threads.append(await client.thread("a"))
    for thread in threads:
        live = thread["run"] is not None
        assert (thread["run_state"] == "live") is live
        assert ("finishReason" in thread["messages"][1]) is not live
    assert threads[-1]["run"] is None


async def test_a_thread_is_hydrated_for_the_ai_sdk_too(client: Client) -> None:
    await say(client, "a")
    thread = await client.thread("a", protocol="ui-message-stream")
    user, assistant = thread["messages"]
    assert user["parts"] == [{"type": "text", "text": "Hello"}]
    assert [part["type"] for part in assistant["parts"]] == ["step-start", "text"]
    answer = await client.http.get("/threads/a", params={"protocol": "xml"})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_protocol")


async def test_threads_outlive_the_server(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        await say(client, "a")
        before = await client.thread("a"), await listed(client)
    async with serving(settings(tmp_path / "t.db")) as client:
        assert (await client.thread("a"), await listed(client)) == before
