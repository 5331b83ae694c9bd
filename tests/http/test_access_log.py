"""The access log: a line for each request, with ids and codes, and no word of its caller."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.test_project_file import project
from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, text_reply
from tests.support.foreign_lock import foreign_lock
from tests.support.serving import endpoint_settings, serving, settings
from tests.support.users import authenticating, named
from tests.support.waiting import until
from turnstream.server.extensions.access_log.logged import REQUEST_ID
from turnstream.server.logs.formats import FORMATS
from turnstream.server.logs.messages import Event

LOGGER = "turnstream.server.extensions.access_log.logged"
SECRET = "hunter2"


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as endpoint:
        yield endpoint


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level("INFO")
    return caplog


def records(log: pytest.LogCaptureFixture) -> list[Any]:
    return [record for record in log.records if record.name == LOGGER]


def lines(log: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The fields of the lines so far, without their durations."""
    found = []
    for record in records(log):
        assert isinstance(record.msg, Event)
        line = {**record.msg.fields}
        assert line.pop("ms") >= 0
        found.append(line)
    return found


async def test_a_turn_is_one_line_with_the_ids_that_its_answer_has(
    tmp_path: Path, endpoint: StrictEndpoint, log: pytest.LogCaptureFixture
) -> None:
    endpoint.script(text_reply("Hello."))
    async with serving(
        endpoint_settings(tmp_path / "t.db", endpoint, access_log="requests")
    ) as client:
        async with client.chat({"thread_id": "t1", "message": "Hello"}) as stream:
            await stream.rest()
        await until(lambda: bool(lines(log)))
    assert lines(log) == [
        {
            "method": "POST",
            "route": "/chat",
            "status": 200,
            "thread": "t1",
            "run": stream.run_id,
            "request": stream.response.headers[REQUEST_ID],
        }
    ]


@pytest.mark.parametrize("form", FORMATS)
async def test_no_line_has_a_word_of_the_request(
    form: Any, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    secret = {"Authorization": f"Bearer {SECRET}", REQUEST_ID: f"{SECRET} forged"}
    async with serving(settings(tmp_path / "t.db", access_log="callers")) as client:
        await client.http.get(f"/threads?search={SECRET}", headers=secret)
        await client.http.get(f"/{SECRET}/{SECRET}", headers=secret)
        await client.http.get(f"/threads/{SECRET}%0A{SECRET}", headers=secret)
        await client.http.request(SECRET, "/chat", headers=secret)
    assert [(line.get("route"), line["status"]) for line in lines(log)] == [
        ("/threads", 200),
        (None, 404),
        ("/threads/{thread_id}", 404),
        ("/chat", 405),
    ]
    text = "\n".join(FORMATS[form]().format(record) for record in records(log))
    assert SECRET not in text
    assert len(text.splitlines()) == 4


async def test_the_id_of_a_proxys_request_is_kept(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    async with serving(settings(tmp_path / "t.db", access_log="requests")) as client:
        answer = await client.http.get("/threads", headers={REQUEST_ID: "proxy-1.2_3"})
    assert answer.headers[REQUEST_ID] == "proxy-1.2_3"
    assert lines(log)[0]["request"] == "proxy-1.2_3"


@pytest.mark.parametrize(("setting", "caller"), [("requests", None), ("callers", "ann")])
async def test_callers_are_named_only_where_that_is_asked_for(
    setting: str, caller: str | None, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    async with serving(authenticating(tmp_path / "t.db", access_log=setting)) as client:
        await client.http.get("/threads", headers=named("ann"))
    assert [line.get("caller") for line in lines(log)] == [caller]


async def test_a_refusal_has_its_code_and_the_id_of_its_cause(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "t.db"
    async with serving(settings(path, access_log="requests", busy_seconds=0.1)) as client:
        with foreign_lock(path):
            refused = await client.http.post("/chat", json={"message": "Hello"})
        [line] = lines(log)
    assert (line["status"], line["code"]) == (503, "storage_busy")
    assert line["error_id"] == refused.json()["id"]


async def test_a_client_that_leaves_a_stream_is_seen_to_break_off(
    tmp_path: Path, endpoint: StrictEndpoint, log: pytest.LogCaptureFixture
) -> None:
    endpoint.script(Reply((Say("Wait. "), Pause(asyncio.Event()))))
    async with serving(
        endpoint_settings(tmp_path / "t.db", endpoint, access_log="requests")
    ) as client:
        async with client.chat({"thread_id": "t1", "message": "Hello"}) as stream:
            await stream.until("text-delta")
        await until(lambda: bool(lines(log)))
        await client.http.post("/chat/t1/stop")
    assert lines(log)[0]["broken_off"] is True
    assert "broken_off" not in lines(log)[1]


async def test_a_line_is_whole_beside_the_application_of_a_project(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    graph = project(tmp_path / "p", http={"app": "./file_app.py:app"})
    async with serving(settings(tmp_path / "t.db", graph=graph, access_log="requests")) as client:
        await client.http.get("/threads/none")
    [line] = lines(log)
    assert (line["route"], line["code"]) == ("/threads/{thread_id}", "thread_not_found")


async def test_health_checks_that_succeed_are_not_logged(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    async with serving(settings(tmp_path / "t.db", access_log="requests")) as client:
        for path in ("/health", "/health/live", "/health/ready"):
            assert (await client.http.get(path)).status_code == 200
    assert lines(log) == []


async def test_without_the_setting_there_are_no_lines(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        answer = await client.http.get("/threads")
    assert REQUEST_ID not in answer.headers
    assert records(log) == []
