"""GET /threads?q=: threads are found by what is said in them; pinned and archived ones."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, call_reply, text_reply
from tests.support.serving import Client, endpoint_settings, serving, settings
from tests.support.waiting import WAIT_SECONDS, eventually
from turnstream.server.commands import run
from turnstream.server.extensions.search import excerpts, fts5
from turnstream.server.extensions.search.catching_up import CatchingUp
from turnstream.server.extensions.search.excerpts import Segment
from turnstream.server.extensions.search.index import SearchIndex
from turnstream.server.extensions.search.words import Wanted

Json = dict[str, Any]


async def search(client: Client, q: str, **query: Any) -> list[Json]:
    answer = await client.http.get("/threads", params={"q": q, **query})
    assert answer.status_code == 200, answer.text
    threads: list[Json] = answer.json()["threads"]
    return threads


async def found(client: Client, q: str, **query: Any) -> list[str]:
    return [thread["id"] for thread in await search(client, q, **query)]


def marked(segments: list[Json]) -> str:
    return "".join(f"[{one['text']}]" if one.get("is_match") else one["text"] for one in segments)


async def patch(client: Client, thread_id: str, **changes: Any) -> Json:
    answer = await client.http.patch(f"/threads/{thread_id}", json=changes)
    assert answer.status_code == 200, answer.text
    entry: Json = answer.json()
    return entry


async def test_who_has_seen_the_end_finds_what_was_said(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("The capital of France is **Paris**."), text_reply("Rome."))
    await client.turn({"thread_id": "a", "message": "Which is the capital?"})
    await client.turn({"thread_id": "b", "message": "And the capital of Italy?"})
    (thread,) = await search(client, "capital par")
    assert thread["id"] == "a"
    assert marked(thread["found"]["title"]) == "Which is the [capital]?"
    assert marked(thread["found"]["text"]) == "The [capital] of France is **[Paris]**."
    shown = (await client.thread("a"))["messages"]
    assert thread["found"]["message_id"] == shown[1]["id"]
    assert await found(client, "capital") == ["b", "a"]


async def test_what_is_no_text_of_the_thread_is_not_found(
    client: Client, endpoint: StrictEndpoint
) -> None:
    call = ("calculator", '{"expression": "17 * 23"}')
    endpoint.script(call_reply(call), text_reply("Done."))
    await client.turn({"thread_id": "a", "message": "Compute"})
    assert await found(client, "compute done") == ["a"]
    assert await found(client, "391") == await found(client, "expression") == []


async def test_an_edit_takes_the_old_words_away_and_a_regenerated_reply_its_own(
    client: Client, endpoint: StrictEndpoint
) -> None:
    replies = ("apples", "pears", "plums", "cherries", "figs")
    endpoint.script(*map(text_reply, replies))
    await client.turn({"thread_id": "a", "message": "First"})
    await client.turn({"thread_id": "a", "message": "Second"})
    question = (await client.thread("a"))["messages"][2]["id"]
    edit = {"message_id": question, "message": "Third"}
    await client.turn({"thread_id": "a", "edit": edit})
    assert await found(client, "apples third plums") == ["a"]
    assert await found(client, "second") == await found(client, "pears") == []
    answer = (await client.thread("a"))["messages"][-1]["id"]
    await client.turn({"thread_id": "a", "regenerate": answer})
    assert await found(client, "first third cherries") == ["a"]
    assert await found(client, "plums") == []
    await client.turn({"thread_id": "a", "message": "Fourth"})
    assert await found(client, "apples fourth figs") == ["a"]


async def test_an_edit_under_the_same_id_is_found_by_its_own_words_until_it_is_left(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(*map(text_reply, ("apples", "pears", "plums")))
    said = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "First"}]}
    edited = {**said, "parts": [{"type": "text", "text": "Second"}]}
    body = {"id": "a", "trigger": "submit-message"}
    await client.turn({**body, "messages": [said]})
    await client.turn({**body, "messages": [edited], "messageId": "m1"})
    assert await found(client, "second pears") == ["a"]
    await patch(client, "a", title="Named")
    assert await found(client, "first") == await found(client, "apples") == []

    first = (await client.thread("a"))["messages"][0]["versions"][0]
    await client.turn({"thread_id": "a", "message": "Third", "version": first})
    assert await found(client, "first apples third plums") == ["a"]
    assert await found(client, "second") == await found(client, "pears") == []


async def test_a_stopped_reply_is_found_as_far_as_it_went(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(Reply((Say("Half a sentence "), Pause(asyncio.Event()))))
    async with client.chat({"thread_id": "a", "message": "Hello"}) as stream:
        await stream.until("text-delta")
        await client.http.post("/chat/a/stop")
        await stream.rest()
    assert await found(client, "hello sentence") == ["a"]


@pytest.mark.parametrize(
    "q",
    ["", "  ", '"*" -- ()', "x" * 201, " ".join(f"w{n}" for n in range(17)), "\0", "x" * 10_000],
)
async def test_what_cannot_be_looked_for_is_refused(client: Client, q: str) -> None:
    answer = await client.http.get("/threads", params={"q": q})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_query")


@pytest.mark.parametrize("q", ["%00a", "%ff%fea", "NEAR(a", 'a" OR 1', "a:*", "^a", "{a}:"])
async def test_nothing_that_is_looked_for_is_an_error(client: Client, q: str) -> None:
    answer = await client.http.get(f"/threads?q={q}")
    assert answer.status_code == 200, answer.text


async def test_a_search_is_paged(client: Client) -> None:
    for n in range(5):
        await client.turn({"thread_id": f"t{n}", "message": "Hello there"})
    first = (await client.http.get("/threads", params={"q": "hello", "limit": 3})).json()
    query = {"q": "hello", "limit": 3, "cursor": first["cursor"]}
    second = (await client.http.get("/threads", params=query)).json()
    ids = [thread["id"] for page in (first, second) for thread in page["threads"]]
    assert ids == ["t4", "t3", "t2", "t1", "t0"]
    assert "cursor" not in second


async def test_threads_that_were_there_before_are_found_after_a_start(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with serving(settings(path)) as client:
        await client.turn({"thread_id": "a", "message": "What about umbrellas?"})
        await client.turn({"thread_id": "b", "message": "Hello"})
    with sqlite3.connect(path) as database:
        database.executescript(
            "DROP TABLE search_words; DROP TABLE search_texts; DROP TABLE search_threads;"
        )
    database.close()
    async with serving(settings(path)) as client:

        async def is_found() -> bool:
            return await found(client, "umbrel") == ["a"]

        await eventually(is_found)
        await client.turn({"thread_id": "b", "message": "Umbrellas again"})
        assert await found(client, "umbrellas") == ["b", "a"]


async def test_texts_that_an_earlier_version_has_stored_are_found_without_being_indexed_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    async with serving(settings(path)) as client:
        await client.turn({"thread_id": "a", "message": "What about umbrellas?"})
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "DROP TRIGGER search_texts_added; DROP TRIGGER search_texts_removed;"
            "DROP TABLE search_words; ALTER TABLE search_texts RENAME TO thread_texts;"
            "ALTER TABLE threads ADD COLUMN indexed_run VARCHAR;"
            "UPDATE threads SET indexed_run = run_id;"
            "DROP TABLE search_threads; DELETE FROM extensions WHERE name = 'search';"
        )

    async def nothing(_catching_up: CatchingUp) -> int:
        return 0

    monkeypatch.setattr(CatchingUp, "catch_up", nothing)
    async with serving(settings(path)) as client:
        assert await found(client, "umbrellas") == ["a"]
        await client.turn({"thread_id": "a", "message": "And coats?"})
        assert await found(client, "umbrellas coats") == ["a"]
    with closing(sqlite3.connect(path)) as database:
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    assert names.isdisjoint({"thread_words", "thread_texts", "thread_texts_added"})


async def test_without_fts5_titles_are_searched_and_nothing_else_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "t.db"
    async with serving(settings(path)) as client:
        await client.turn({"thread_id": "a", "message": "What about umbrellas?"})
        assert await found(client, "hello") == []
    with monkeypatch.context() as patched:
        patched.setattr(fts5, "has_fts5", lambda _connection: False)
        async with serving(settings(path)) as client:
            assert "has no FTS5" in caplog.text
            await client.turn({"thread_id": "b", "message": "Umbrellas_100% of them"})
            assert await found(client, "umbrel") == ["b", "a"]
            assert await found(client, "100") == ["b"]
            assert "text" not in (await search(client, "100"))[0]["found"]
            assert (await client.http.delete("/threads/a")).status_code == 204
    async with serving(settings(path)) as client:

        async def is_found() -> bool:
            return await found(client, "of them umbrellas") == ["b"]

        await eventually(is_found)


async def test_without_the_setting_nothing_searches_and_nothing_is_stored_for_it(
    tmp_path: Path,
) -> None:
    async with serving(settings(tmp_path / "t.db", search=False)) as client:
        await client.turn({"thread_id": "a", "message": "Hello"})
        answer = await client.http.get("/threads", params={"q": "hello"})
        assert (answer.status_code, answer.json()["code"]) == (422, "search_off")
        assert (await client.http.get("/health")).json()["search"] is False
        assert [one["id"] for one in (await client.http.get("/threads")).json()["threads"]] == ["a"]
    assert not {name for name in stored(tmp_path / "t.db") if name.startswith("search")}
    async with serving(settings(tmp_path / "t.db")) as client:

        async def is_found() -> bool:
            return await found(client, "hello") == ["a"]

        await eventually(is_found)


async def test_the_command_drops_all_that_is_stored_for_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    monkeypatch.setenv("TURNSTREAM_DATABASE", str(path))
    async with serving(settings(path)) as client:
        await client.turn({"thread_id": "a", "message": "Hello"})
    assert {"search_texts", "search_threads", "search_words"} <= stored(path)
    assert await asyncio.to_thread(run, ["extensions", "drop", "search"]) == 0
    assert not {name for name in stored(path) if "search" in name}
    async with serving(settings(path, search=False)) as client:
        await client.turn({"thread_id": "a", "message": "Again"})
        assert (await client.http.delete("/threads/a")).status_code == 204


def stored(path: Path) -> set[str]:
    """The names of tables, indexes and triggers."""
    with closing(sqlite3.connect(path)) as database:
        return {name for (name,) in database.execute("SELECT name FROM sqlite_master")}


async def test_a_search_that_cannot_be_noted_keeps_no_run_from_its_end(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_arguments: Any) -> None:
        raise RuntimeError("no index")

    monkeypatch.setattr(SearchIndex, "follow", fail)
    await client.turn({"thread_id": "a", "message": "Hello"})
    assert (await client.thread("a"))["run_state"] == "finished"


async def test_pinned_threads_come_first_and_archived_ones_are_listed_apart(
    client: Client,
) -> None:
    for name in "abc":
        await client.turn({"thread_id": name, "message": "Hello"})
    entry = await patch(client, "a", pinned=True)
    assert (entry["pinned"], entry["archived"]) == (True, False)
    await patch(client, "b", archived=True, title="Away")

    async def ids(**query: Any) -> list[str]:
        answer = await client.http.get("/threads", params=query)
        return [thread["id"] for thread in answer.json()["threads"]]

    assert await ids() == ["a", "c"]
    assert await ids(limit=1) == ["a"]
    assert await ids(archived="true") == ["b"]
    assert await found(client, "away") == ["b"]
    assert await found(client, "away", archived="false") == []
    lines = (await client.http.get("/export")).text.splitlines()
    assert len(lines) == 3
    await client.turn({"thread_id": "b", "message": "Again"})
    assert await ids() == ["a", "b", "c"]


@pytest.mark.parametrize("changes", [{"pinned": 1}, {"archived": None}, {"pinned": "yes"}, {}])
async def test_what_is_no_change_is_refused(client: Client, changes: Json) -> None:
    await client.turn({"thread_id": "a", "message": "Hello"})
    answer = await client.http.patch("/threads/a", json=changes)
    assert answer.status_code == 422


async def test_a_pin_too_many_is_refused_and_changes_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstream.server.storage.thread_list.MAX_PINNED", 1)
    for name in "ab":
        await client.turn({"thread_id": name, "message": "Hello"})
    await patch(client, "a", pinned=True)
    before = await client.thread("b")
    changes = {"pinned": True, "title": "New", "allowed_tools": []}
    answer = await client.http.patch("/threads/b", json=changes)
    assert (answer.status_code, answer.json()["code"]) == (409, "too_many_pinned")
    assert await client.thread("b") == before


async def test_a_thread_that_was_indexed_before_its_first_run_is_found_by_its_title(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("I see."))
    path = tmp_path / "t.db"
    async with serving(endpoint_settings(path, endpoint)) as client:
        await client.http.post("/langgraph/threads", json={"thread_id": "a"})

    async def is_indexed() -> bool:
        with sqlite3.connect(path) as database:
            (run,) = database.execute("SELECT max(run_id) FROM search_threads").fetchone()
        database.close()
        return run is not None

    picture = {"type": "image", "image": "https://a.org/b.png", "alt": "A lighthouse"}
    async with serving(endpoint_settings(path, endpoint)) as client:
        await eventually(is_indexed)
        await client.turn({"thread_id": "a", "message": {"parts": [picture]}})
        assert await found(client, "lighthouse") == ["a"]


async def test_who_searches_long_texts_keeps_nobody_from_the_store(
    client: Client, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def excerpt(text: str, words: Wanted) -> tuple[Segment, ...]:
        begun.set()
        assert goes_on.wait(WAIT_SECONDS)
        return excerpts.excerpt(text, words)

    monkeypatch.setattr("turnstream.server.extensions.search.matching.excerpt", excerpt)
    endpoint.script(text_reply("It rains."))
    await client.turn({"thread_id": "a", "message": "Hello"})
    searching = asyncio.create_task(search(client, "rains"))
    assert await asyncio.to_thread(begun.wait, WAIT_SECONDS)
    assert (await client.thread("a"))["title"] == "Hello"
    goes_on.set()
    assert marked((await searching)[0]["found"]["text"]) == "It [rains]."
