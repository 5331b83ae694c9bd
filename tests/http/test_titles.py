"""Titles that a model makes: after the answer, of the first turn, unless somebody has named it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.http.test_branches import asks
from tests.http.test_policy import headers
from tests.support.endpoint import Fail, Finish, Pause, Say, StrictEndpoint, reply, text_reply
from tests.support.endpoint.script import Usage
from tests.support.serving import Client, endpoint_settings, serving
from tests.support.waiting import eventually, until

TITLE_MODEL = "scripted-titles"


@pytest.fixture
async def client(tmp_path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    titled = endpoint_settings(tmp_path / "t.db", endpoint, title_model=TITLE_MODEL)
    async with serving(titled) as client:
        yield client


async def title(client: Client, thread_id: str) -> str:
    return str((await client.thread(thread_id))["title"])


async def has_title(client: Client, thread_id: str, expected: str) -> bool:
    return await title(client, thread_id) == expected


async def test_a_model_makes_the_title_when_the_first_turn_has_been_told(
    client: Client, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    pause = Pause(gate)
    endpoint.script(text_reply("391."), reply(Say('"Times '), pause, Say('tables."')))
    thread_id, _ = await client.turn({"message": "What is 17 * 23?"})  # to its end mark
    await pause.reached.wait()
    assert await title(client, thread_id) == "What is 17 * 23?"
    asked = endpoint.requests[-1]
    assert asked["model"] == TITLE_MODEL
    assert asked["messages"][-1]["content"] == "User: What is 17 * 23?\n\nAssistant: 391."
    gate.set()
    await eventually(lambda: has_title(client, thread_id, "Times tables"))
    assert len((await client.thread(thread_id))["messages"]) == 2

    endpoint.script(text_reply("Again."))  # and nothing for another title
    await client.turn({"thread_id": thread_id, "message": "And now?"})
    assert await title(client, thread_id) == "Times tables"


async def test_a_thread_that_is_renamed_while_its_title_is_made_keeps_its_name(
    client: Client, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(text_reply("391."), reply(Say("Times"), pause, Say(" tables")))
    thread_id, _ = await client.turn({"message": "What is 17 * 23?"})
    await pause.reached.wait()
    await client.http.patch(f"/threads/{thread_id}", json={"title": "Mine"})
    pause.event.set()
    endpoint.script(text_reply("Hi."), text_reply("Greetings"))
    other, _ = await client.turn({"message": "Hello"})
    await eventually(lambda: has_title(client, other, "Greetings"))
    assert await title(client, thread_id) == "Mine"


async def test_a_thread_that_is_deleted_while_its_title_is_made_comes_back_as_it_was(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(text_reply("391."), reply(Say("Times"), pause, Say(" tables")))
    kept = {"title_model": TITLE_MODEL, "undo_seconds": 3600}
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint, **kept)) as client:
        thread_id, _ = await client.turn({"message": "What is 17 * 23?"})
        await pause.reached.wait()
        assert (await client.http.delete(f"/threads/{thread_id}")).status_code == 202
        pause.event.set()
        endpoint.script(text_reply("Hi."), text_reply("Greetings"))
        other, _ = await client.turn({"message": "Hello"})
        await eventually(lambda: has_title(client, other, "Greetings"))
        assert (await client.http.post(f"/threads/{thread_id}/restore")).status_code == 200
        for q, expected in (("what 17", [thread_id]), ("tables", [])):
            found = (await client.http.get("/threads", params={"q": q})).json()["threads"]
            assert [thread["id"] for thread in found] == expected
        assert await title(client, thread_id) == "What is 17 * 23?"


async def test_titles_of_a_model_are_distinct(client: Client, endpoint: StrictEndpoint) -> None:
    for expected in ("Greetings", "Greetings (2)"):
        endpoint.script(text_reply("Hi."), text_reply("Greetings"))
        thread_id, _ = await client.turn({"message": "Hello"})
        await eventually(partial(has_title, client, thread_id, expected))


async def test_a_title_that_fails_leaves_the_first_words_and_says_so_in_the_log(
    client: Client, endpoint: StrictEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.script(text_reply("391."), Fail(400, "No such model: sk-secret"))
    with caplog.at_level(logging.WARNING, "turnstream.server.extensions.titles.titles"):
        thread_id, _ = await client.turn({"message": "What is 17 * 23?"})
        await until(lambda: "keeps its first words" in caplog.text)
    assert "sk-secret" not in caplog.text
    assert await title(client, thread_id) == "What is 17 * 23?"


async def test_a_turn_that_fails_gets_no_title(client: Client, endpoint: StrictEndpoint) -> None:
    endpoint.script(Fail(400, "No"), text_reply("Hi."), text_reply("Greetings"))
    failed, _ = await client.turn({"message": "What is 17 * 23?"})
    thread_id, _ = await client.turn({"message": "Hello"})
    await eventually(lambda: has_title(client, thread_id, "Greetings"))
    assert await title(client, failed) == "What is 17 * 23?"


async def test_a_server_that_ends_drops_titles_and_waits_for_none(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(text_reply("391."), reply(Say("Times"), pause))
    titled = endpoint_settings(tmp_path / "t.db", endpoint, title_model=TITLE_MODEL)
    async with serving(titled) as client:
        thread_id, _ = await client.turn({"message": "What is 17 * 23?"})
        await pause.reached.wait()
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        assert await title(client, thread_id) == "What is 17 * 23?"
        assert (await client.http.get("/health")).json()["titles"] is False
    pause.event.set()


async def test_the_tokens_of_a_title_are_charged_to_the_user(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[roles.user]\ntools = ["*"]\n[roles.user.limits]\ntokens_per_day = 1000\n')
    proxy = {"auth": ("header",), "trusted_proxies": ("127.0.0.1",)}
    limited = endpoint_settings(
        tmp_path / "t.db", endpoint, title_model=TITLE_MODEL, policy=policy, **proxy
    )
    endpoint.script(
        reply(Say("Hi."), Finish(usage=Usage(10, 10))),
        reply(Say("Greetings"), Finish(usage=Usage(900, 100))),
    )
    async with serving(limited) as client:
        client.http.headers.update(headers())
        thread_id, _ = await client.turn({"message": "Hello"})
        await eventually(lambda: has_title(client, thread_id, "Greetings"))
        refused = await client.http.post("/chat", json={"message": "More"})
    assert refused.status_code == 429
    assert refused.json()["limit"] == "tokens_per_day"


async def stop_first(client: Client, endpoint: StrictEndpoint, words: str) -> None:
    """A thread whose first turn is stopped."""
    endpoint.script(reply(Say("Half "), Pause(asyncio.Event())))
    async with client.chat({"thread_id": "t1", "message": asks(words, "m1")}) as stream:
        await stream.until("text-delta")
        await client.http.post("/chat/t1/stop")
        await stream.rest()


def edit(words: str, id: str = "m1", new_id: str = "m2") -> dict[str, Any]:
    return {"thread_id": "t1", "edit": {"message_id": id, "message": asks(words, new_id)}}


@pytest.mark.parametrize("new_id", ["m1", "m2"])
async def test_a_first_message_that_was_stopped_gets_a_title_when_it_is_edited(
    client: Client, endpoint: StrictEndpoint, new_id: str
) -> None:
    await stop_first(client, endpoint, "Wrong question")
    assert await title(client, "t1") == "Wrong question"
    endpoint.script(text_reply("391."), text_reply("Times tables"))
    await client.turn(edit("Right question", new_id=new_id))
    await eventually(lambda: has_title(client, "t1", "Times tables"))
    assert endpoint.requests[-1]["messages"][-1]["content"].startswith("User: Right question")


async def test_a_first_message_that_failed_gets_a_title_when_it_is_edited_once_more(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(Fail(400, "No"), Fail(400, "No"))
    await client.turn({"thread_id": "t1", "message": asks("Wrong question", "m1")})
    await client.turn(edit("Wrong again"))
    assert await title(client, "t1") == "Wrong again"
    endpoint.script(text_reply("391."), text_reply("Times tables"))
    await client.turn(edit("Right question", "m2", "m3"))
    await eventually(lambda: has_title(client, "t1", "Times tables"))


async def test_a_thread_that_was_named_keeps_its_name_when_its_first_message_is_edited(
    client: Client, endpoint: StrictEndpoint
) -> None:
    await stop_first(client, endpoint, "Wrong question")
    await client.http.patch("/threads/t1", json={"title": "Mine"})
    endpoint.script(text_reply("391."))
    await client.turn(edit("Right question"))
    endpoint.script(text_reply("Hi."), text_reply("Greetings"))
    other, _ = await client.turn({"message": "Hello"})
    await eventually(lambda: has_title(client, other, "Greetings"))
    assert await title(client, "t1") == "Mine"


async def test_a_title_that_is_made_while_its_first_message_is_edited_is_dropped(
    client: Client, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(text_reply("391."), reply(Say("Wrong"), pause, Say(" title")))
    await client.turn({"thread_id": "t1", "message": asks("Wrong question", "m1")})
    await pause.reached.wait()
    endpoint.script(text_reply("42."), text_reply("Times tables"))
    await client.turn(edit("Right question"))
    pause.event.set()
    await eventually(lambda: has_title(client, "t1", "Times tables"))


async def test_a_title_of_first_words_follows_an_edit_of_them_and_the_way_back(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        endpoint.script(*map(text_reply, "ABCD"))
        await client.turn({"thread_id": "t1", "message": asks("One", "m1")})
        await client.turn({"thread_id": "t1", "message": asks("Two", "m2")})
        await client.turn(edit("Zwei", "m2", "m3"))
        assert await title(client, "t1") == "One"
        await client.turn(edit("Uno", "m1", "m4"))
        assert await title(client, "t1") == "Uno"
        for q, expected in (("uno", ["t1"]), ("one", [])):
            found = (await client.http.get("/threads", params={"q": q})).json()["threads"]
            assert [thread["id"] for thread in found] == expected

        first = (await client.thread("t1"))["messages"][0]["versions"][0]
        endpoint.script(text_reply("E"))
        await client.turn({"thread_id": "t1", "message": "More", "version": first})
        assert await title(client, "t1") == "One"
