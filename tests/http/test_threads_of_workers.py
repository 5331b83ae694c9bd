"""What one worker does for a thread holds at another: its title, its images, its deletion."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.http.test_images import LEAF, QUESTION
from tests.http.test_titles import TITLE_MODEL, has_title
from tests.support.endpoint import Pause, Say, StrictEndpoint, reply, text_reply
from tests.support.forked_server import forked_server
from tests.support.postgres_workers import query
from tests.support.serving import Client, endpoint_environment, endpoint_settings, serving
from tests.support.waiting import eventually
from turnstream.server.storage.location import PostgresUrl


@pytest.fixture
def shared(postgres_url: PostgresUrl, redis_url: str) -> dict[str, Any]:
    return {"database": postgres_url, "redis": SecretStr(redis_url)}


@asynccontextmanager
async def worker(
    endpoint: StrictEndpoint, shared: dict[str, Any], **values: Any
) -> AsyncIterator[Client]:
    given = endpoint_settings(Path("unused.db"), endpoint, **values).model_copy(update=shared)
    async with serving(given) as client:
        yield client


async def test_a_title_is_made_once_by_the_worker_of_the_turn_and_seen_at_every_other(
    endpoint: StrictEndpoint, shared: dict[str, Any]
) -> None:
    title = Pause(asyncio.Event())
    endpoint.script(text_reply("391."), reply(Say("Times "), title, Say("tables")))
    async with (
        worker(endpoint, shared, title_model=TITLE_MODEL) as first,
        worker(endpoint, shared, title_model=TITLE_MODEL) as second,
    ):
        id, _ = await first.turn({"message": "What is 17 * 23?"})
        await title.reached.wait()
        endpoint.script(text_reply("Again."))  # and nothing for another title
        await second.turn({"thread_id": id, "message": "And now?"})
        assert await has_title(second, id, "What is 17 * 23?")
        title.event.set()
        for client in (first, second):
            await eventually(partial(has_title, client, id, "Times tables"))
    assert [body["model"] for body in endpoint.requests].count(TITLE_MODEL) == 1


async def test_a_thread_that_another_worker_renames_while_its_title_is_made_keeps_its_name(
    endpoint: StrictEndpoint, shared: dict[str, Any]
) -> None:
    title = Pause(asyncio.Event())
    endpoint.script(text_reply("391."), reply(Say("Times "), title, Say("tables")))
    async with (
        worker(endpoint, shared, title_model=TITLE_MODEL) as first,
        worker(endpoint, shared) as second,
    ):
        id, _ = await first.turn({"message": "What is 17 * 23?"})
        await title.reached.wait()
        await second.http.patch(f"/threads/{id}", json={"title": "Mine"})
        title.event.set()
        endpoint.script(text_reply("Hi."), text_reply("Greetings"))
        later, _ = await first.turn({"message": "Hello"})
        await eventually(lambda: has_title(second, later, "Greetings"))
        assert await has_title(first, id, "Mine")


async def test_an_image_that_one_worker_took_is_shown_and_told_to_the_model_by_another(
    endpoint: StrictEndpoint, shared: dict[str, Any]
) -> None:
    endpoint.default = text_reply("A leaf.")
    async with worker(endpoint, shared) as first, worker(endpoint, shared) as second:
        id, _ = await first.turn({"message": QUESTION})
        assert (await second.thread(id))["messages"][0]["parts"] == QUESTION["parts"]
        await second.turn({"thread_id": id, "message": "Are you sure?"})
        asked, _, again = endpoint.requests[-1]["messages"][-3:]
        assert {"type": "image_url", "image_url": {"url": LEAF}} in asked["content"]
        assert again["content"] == "Are you sure?"


async def test_what_a_killed_worker_has_deleted_is_brought_back_or_forgotten_by_another(
    endpoint: StrictEndpoint,
    shared: dict[str, Any],
    postgres_url: PostgresUrl,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("turnstream.server.runs.due_deletions.LOOK_SECONDS", 0.05)
    endpoint.default = text_reply("Hello.")
    variables = {
        "DATABASE": postgres_url.secret,
        "REDIS": shared["redis"].get_secret_value(),
        "UNDO_SECONDS": "3600",
    }
    async with worker(endpoint, shared, undo_seconds=3600) as other:
        async with forked_server(
            tmp_path / "unused.db", **endpoint_environment(endpoint), **variables
        ) as mortal:
            for id in ("kept", "gone"):
                await mortal.client.turn({"thread_id": id, "message": "Hello"})
                deleted = await mortal.client.http.delete(f"/threads/{id}")
                assert deleted.status_code == 202
            mortal.kill()
            await mortal.exit_status()
        assert (await other.http.post("/threads/kept/restore")).status_code == 200
        assert len((await other.thread("kept"))["messages"]) == 2
        query(postgres_url, "UPDATE threads SET forget_at = 1 WHERE id = 'gone'")

        async def is_forgotten() -> bool:
            return query(postgres_url, "SELECT id FROM threads") == [("kept",)]

        await eventually(is_forgotten)
        assert (await other.http.post("/threads/gone/restore")).status_code == 404
        left = "SELECT DISTINCT thread_id FROM checkpoints"
        assert query(postgres_url, left) == [("kept",)]
