"""Thumbs that users give to messages of the model."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.serving import Client, serving, settings
from tests.support.users import client_of, keys_settings
from turnstream.server.extensions.feedback import given


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with serving(settings(tmp_path / "t.db", feedback=True)) as client:
        await client.turn({"message": "Hi", "thread_id": "t1"})
        yield client


async def give(client: Client, thread_id: str = "t1", **body: Any) -> list[dict[str, Any]]:
    answer = await client.http.post(f"/threads/{thread_id}/feedback", json=body)
    assert answer.status_code == 200, answer.text
    feedback: list[dict[str, Any]] = answer.json()["feedback"]
    return feedback


async def test_a_thumb_replaces_the_one_before_and_is_taken_back(client: Client) -> None:
    (up,) = await give(client, message_id="m1", value="up")
    assert (up["value"], up["reason"]) == ("up", "")
    (down,) = await give(client, message_id="m1", value="down", reason="A wrong sum.")
    assert (down["value"], down["reason"]) == ("down", "A wrong sum.")
    assert (await client.http.get("/threads/t1/feedback")).json()["feedback"] == [down]
    assert await give(client, message_id="m1", value="none") == []


async def test_feedback_is_in_the_export_and_is_forgotten_with_its_thread(client: Client) -> None:
    (up,) = await give(client, message_id="m1", value="up")
    (line,) = (await client.http.get("/export")).text.splitlines()
    assert json.loads(line)["extensions"] == {"feedback": [up]}
    await client.http.delete("/threads/t1")
    assert (await client.http.get("/threads/t1/feedback")).status_code == 404
    await client.turn({"message": "Hi", "thread_id": "t1"})
    assert (await client.http.get("/threads/t1/feedback")).json()["feedback"] == []


async def test_feedback_survives_a_restart(tmp_path: Path) -> None:
    kept = settings(tmp_path / "t.db", feedback=True)
    async with serving(kept) as client:
        await client.turn({"message": "Hi", "thread_id": "t1"})
        before = await give(client, message_id="m1", value="up")
    async with serving(kept) as client:
        assert (await client.http.get("/threads/t1/feedback")).json()["feedback"] == before


@pytest.mark.parametrize(
    ("body", "code", "named"),
    [
        ({}, "invalid_message_id", "message_id"),
        ({"message_id": "m1"}, "invalid_body", "send 'up', 'down'"),
        ({"message_id": "m1", "value": "yes"}, "invalid_body", "send 'up', 'down'"),
        ({"message_id": "m 1", "value": "up"}, "invalid_message_id", "message_id"),
        ({"message_id": "m1", "value": "up", "reason": 1}, "invalid_body", "reason"),
        ({"message_id": "m1", "value": "up", "reason": "x" * 2001}, "value_too_long", "2001"),
        ({"message_id": "m1", "value": "up", "note": ""}, "unknown_key", "note"),
    ],
)
async def test_a_bad_body_is_refused_by_name(
    client: Client, body: Any, code: str, named: str
) -> None:
    answer = await client.http.post("/threads/t1/feedback", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert named in answer.json()["detail"]


async def test_a_thread_has_feedback_on_so_many_messages(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given, "MAX_OF_THREAD", 1)
    await give(client, message_id="m1", value="up")
    answer = await client.http.post(
        "/threads/t1/feedback", json={"message_id": "m2", "value": "up"}
    )
    assert (answer.status_code, answer.json()["code"]) == (409, "too_much_feedback")
    await give(client, message_id="m1", value="down")


async def test_feedback_of_another_owner_is_not_there(tmp_path: Path) -> None:
    async with serving(keys_settings(tmp_path, feedback=True)) as server:
        async with client_of(server, "ann") as ann:
            await ann.turn({"message": "Hi", "thread_id": "t1"})
            await give(ann, message_id="m1", value="up")
        async with client_of(server, "bob") as bob:
            assert (await bob.http.get("/threads/t1/feedback")).status_code == 404
            await bob.turn({"message": "Hi", "thread_id": "t1"})
            assert (await bob.http.get("/threads/t1/feedback")).json()["feedback"] == []


async def test_without_the_setting_there_is_no_such_address(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        async with httpx.AsyncClient(base_url=client.url) as http:
            answer = await http.post("/threads/t1/feedback", json={})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert (await client.http.get("/me")).json()["extensions"] == ["openapi"]


async def test_thumbs_are_counted_in_the_metrics(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "turnstream"):
        async with serving(settings(tmp_path / "t.db", feedback=True, metrics_port=0)) as client:
            place = caplog.text.rpartition("GET /metrics on ")[2].split()[0]
            await client.turn({"message": "Hi", "thread_id": "t1"})
            await give(client, message_id="m1", value="up")
            await give(client, message_id="m1", value="down")
            async with httpx.AsyncClient() as http:
                shown = (await http.get(f"http://{place}/metrics")).text
    for event in ("up", "down"):
        line = f'turnstream_extension_events_total{{event="{event}",extension="feedback"}} 1.0'
        other = f'turnstream_extension_events_total{{extension="feedback",event="{event}"}} 1.0'
        assert line in shown or other in shown
