"""What a real server writes to stderr: every failure once, and nothing of what was said to it."""

import asyncio
import json
import re
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoint import (
    Break,
    Fail,
    Say,
    StrictEndpoint,
    call_reply,
    failures,
    reply,
    text_reply,
)
from tests.support.forked_server import refused_start
from tests.support.serving import (
    COMMAND,
    Event,
    Process,
    endpoint_environment,
    process,
)

PLANTED = "hunter2"
"""In everything that a client, the model, a tool or a provider says here."""
FORGED = "\nERROR: forged\x1b[2J\u2028"
NO_RETRY = {"x-should-retry": "false"}


@dataclass
class Told:
    """What the clients of a server were told of its failures."""

    error_ids: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)


@asynccontextmanager
async def server(
    path: Path,
    endpoint: StrictEndpoint,
    command: Sequence[str] = COMMAND,
    **variables: str,
) -> AsyncIterator[Process]:
    environment = {
        **endpoint_environment(endpoint),
        "OPENAI_API_KEY": f"sk-{PLANTED}",
        "GRAPH": "tests.support.leaky_graph:build",
        **variables,
    }
    async with process(path, command, **environment) as started:
        yield started


async def failing_turn(server: Process, told: Told, **more: Any) -> list[Event]:
    headers = {
        "Authorization": f"Bearer {PLANTED}",
        "Idempotency-Key": f"{PLANTED}-{len(told.runs)}",
    }
    body = {"message": f"My word is {PLANTED}{FORGED}", **more}
    async with server.client.chat(body, headers=headers) as stream:
        told.runs.append(stream.run_id)
        return await stream.rest()


async def failing_tool(server: Process, endpoint: StrictEndpoint, told: Told) -> None:
    args = json.dumps({"word": f"{PLANTED}{FORGED}"})
    endpoint.script(call_reply(("leak", args)), text_reply(f"Your word was {PLANTED}."))
    events = await failing_turn(server, told)
    [result] = [event.data for event in events if event.type == "result"]
    told.error_ids.append(result["result"]["error"]["id"])


async def failing_provider(server: Process, endpoint: StrictEndpoint, told: Told) -> None:
    said = f"Your key sk-{PLANTED} and your message {PLANTED}{FORGED} are refused."
    for turn in (
        Fail(401, said, code="invalid_api_key"),
        Fail(400, said, code=f"{PLANTED} {PLANTED}", type=PLANTED),
        Fail(500, said, headers=NO_RETRY),
        reply(Say(PLANTED), Break(said, code="rate_limit_exceeded")),
    ):
        endpoint.script(turn)
        events = await failing_turn(server, told)
        [error] = [event.data for event in events if event.type == "error"]
        told.error_ids.append(error["id"])


async def refused_requests(server: Process) -> None:
    http = server.client.http
    bodies = (
        {"message": {"parts": [{"type": PLANTED}]}},
        {"message": PLANTED, PLANTED: FORGED},
        {"thread_id": f"{PLANTED}{FORGED}", "message": PLANTED},
        {"tool_results": [{"tool_call_id": PLANTED, "result": PLANTED}], "thread_id": PLANTED},
    )
    for body in bodies:
        assert (await http.post("/chat", json=body)).status_code in (404, 409, 422)
    json_type = {"Content-Type": "application/json"}
    assert (await http.post("/chat", content=PLANTED, headers=json_type)).status_code == 400
    assert (await http.post("/tools/multiply", json={"a": PLANTED, "b": 1})).status_code == 422
    assert (await http.get(f"/{PLANTED}%0AERROR:%20forged")).status_code == 404
    for header in ("Host", "Origin"):
        refused = await http.post("/chat", json={}, headers={header: f"http://{PLANTED}.example"})
        assert refused.status_code == 403


async def broken_store(server: Process, path: Path, told: Told) -> None:
    """A 500: the statement that fails has the title for a parameter."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("ALTER TABLE threads RENAME TO elsewhere")
    answer = await server.client.http.patch("/threads/t1", json={"title": PLANTED})
    assert answer.status_code == 500
    told.error_ids.append(answer.json()["id"])
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("ALTER TABLE elsewhere RENAME TO threads")


async def malformed_http(server: Process) -> None:
    url = server.client.http.base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(f"GET /{PLANTED}\x1b[2J HTTP/9\r\n{PLANTED}\r\n\r\n".encode())
    assert b" 400 " in await reader.readline()
    writer.close()
    await writer.wait_closed()


async def everything_fails(
    path: Path, endpoint: StrictEndpoint, **variables: str
) -> tuple[list[str], Told]:
    """All lines of a server to which all this happens, and what its clients were told."""
    told = Told()
    async with server(path, endpoint, **variables) as running:
        await failing_tool(running, endpoint, told)
        await failing_provider(running, endpoint, told)
        await refused_requests(running)
        await broken_store(running, path, told)
        await malformed_http(running)
        running.terminate()
        assert await running.exit_status() == 0
    return b"".join(running.log).decode().splitlines(), told


ONCE = (
    "tool leak failed, error ",
    "request failed, error ",
    "UserWarning at ",
    "a thread broke off",
    "an exception could not be raised",
    "token ...",
)


async def test_a_log_has_nothing_that_was_said_and_every_failure_once(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    lines, told = await everything_fails(tmp_path / "t.db", endpoint)
    log = "\n".join(lines)
    assert PLANTED not in log
    assert "forged" not in log
    assert all(line.isprintable() for line in lines)
    assert {text: log.count(text) for text in ONCE} == dict.fromkeys(ONCE, 1)
    assert {id: log.count(id) for id in told.error_ids} == dict.fromkeys(told.error_ids, 1)
    assert {run: log.count(f'"run":"{run}"') for run in told.runs} == dict.fromkeys(told.runs, 1)
    begun = [line for line in lines if not line.startswith(" ")]
    assert [line for line in begun if not re.match("(INFO|WARNING|ERROR): ", line)] == []
    errors = [line for line in begun if line.startswith("ERROR")]
    stray = 3  # of the thread, the finalizer and the task
    assert len(errors) == len(told.error_ids) + stray, errors
    assert "(status 401, code invalid_api_key)" in log
    assert "(status 400)" in log
    assert "(code rate_limit_exceeded)" in log
    assert "tests/support/leaky_graph.py" in log, "who wrote the tool finds the place"
    assert "Invalid HTTP request" not in log, "else any client could fill the log"


@pytest.mark.full
async def test_a_json_log_is_one_object_a_line(tmp_path: Path, endpoint: StrictEndpoint) -> None:
    lines, told = await everything_fails(tmp_path / "t.db", endpoint, LOG_FORMAT="json")
    assert PLANTED not in "\n".join(lines)
    entries: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert all({"time", "level", "logger", "message"} <= entry.keys() for entry in entries)
    [start] = [entry for entry in entries if "url" in entry]
    assert start["message"] == f"turnstream on {start['url']}"
    ended = [entry for entry in entries if entry["message"] == "run ended"]
    assert [entry["run"] for entry in ended] == told.runs
    assert [entry["state"] for entry in ended] == ["finished", *["failed"] * 4]
    failed = [entry["exception"] for entry in entries if "exception" in entry]
    ids = [exception["error_id"] for exception in failed if "error_id" in exception]
    assert ids == told.error_ids
    assert all(exception["frames"] for exception in failed if "error_id" in exception)
    tool = next(exception for exception in failed if exception.get("error_id") == ids[0])
    assert tool["type"] == "ExceptionGroup"
    assert [member["type"] for member in tool["exceptions"]] == [
        "RuntimeError",
        "pydantic_core._pydantic_core.ValidationError",
    ]
    assert tool["cause"]["type"] == "KeyError"


@pytest.mark.full
async def test_the_openai_clients_own_debug_log_shows_no_content(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    """It logs whole requests when OPENAI_LOG is set, through handlers that it makes itself."""
    endpoint.script(text_reply(f"Your word was {PLANTED}."), failures.UNAUTHORIZED)
    told = Told()
    async with server(tmp_path / "t.db", endpoint, OPENAI_LOG="debug") as running:
        await failing_turn(running, told)
        await failing_turn(running, told)
        running.terminate()
        assert await running.exit_status() == 0
    log = b"".join(running.log).decode()
    assert "DEBUG: Sending HTTP Request: ..." in log
    assert PLANTED not in log


@pytest.mark.full
async def test_under_uvicorns_own_command_the_log_is_the_same(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    command = ("-m", "uvicorn", "turnstream.server.app:create", "--factory", "--port", "0")
    told = Told()
    async with server(tmp_path / "t.db", endpoint, command=command) as running:
        await failing_tool(running, endpoint, told)
        await broken_store(running, tmp_path / "t.db", told)
        running.terminate()
        await running.exit_status()
    log = b"".join(running.log).decode()
    assert PLANTED not in log
    assert {id: log.count(id) for id in told.error_ids} == dict.fromkeys(told.error_ids, 1)


async def test_a_start_that_is_refused_is_one_object_of_a_json_log(tmp_path: Path) -> None:
    broken = {"LOG_FORMAT": "json", "GRAPH": "turnstream.graphs.nothing:build"}
    line = json.loads(await refused_start(tmp_path / "t.db", **broken))
    assert line["level"] == "CRITICAL"
    assert "TURNSTREAM_GRAPH" in line["message"]
