"""docs/operate.md, from a complaint to its cause: each step is followed on the log of a server in
which the fault was made."""

import asyncio
import json
import logging
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, failures
from tests.support.foreign_lock import foreign_lock
from tests.support.serving import PROJECT, Client, endpoint_settings, serving
from tests.support.waiting import until
from turnstream.server.logs.formats import JsonFormat
from turnstream.server.turns.problem_codes import ALL

TEXT = (PROJECT / "docs" / "operate.md").read_text(encoding="utf-8")
MINUTES, RUN, ID = "minutes=2026-11-28T14:0", "run=JWzRlqF4qOJ", "id=4f0c2f9f6a51"


class Log:
    """The server's log, and the page's steps on it."""

    def __init__(self, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
        self.folder = folder
        self._caplog = caplog

    def lines(self) -> list[dict[str, Any]]:
        records = [each for each in self._caplog.records if _is_logged(each)]
        return [json.loads(JsonFormat().format(record)) for record in records]

    def follow(self, step: str, **found: str) -> list[dict[str, Any]]:
        """Return the lines that a step of the page finds."""
        text = "".join(f"{json.dumps(line)}\n" for line in self.lines())
        (self.folder / "turnstream.log").write_text(text)
        done = subprocess.run(
            ["bash", "-c", step],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "minutes": "20", **found},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


def _is_logged(record: logging.LogRecord) -> bool:
    is_ours = record.name.startswith("turnstream")
    return record.levelno >= (logging.INFO if is_ours else logging.WARNING)


def steps(beginning: str) -> list[str]:
    """Return the blocks of the page that begin with this comment."""
    return [each.partition("```")[0] for each in TEXT.split(f"```sh\n# {beginning}\n")[1:]]


@pytest.fixture
def log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Log:
    caplog.set_level("INFO")
    return Log(tmp_path, caplog)


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
async def client(tmp_path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    given = {"access_log": "requests", "busy_seconds": 0.1}
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint, **given)) as client:
        yield client


async def test_what_hung_was_the_model(client: Client, endpoint: StrictEndpoint, log: Log) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(Reply((pause, Say("At last."))))
    async with client.chat({"thread_id": "t1", "message": "Hello"}) as stream:
        assert stream.run_id
    long, _ = steps(MINUTES)
    await until(lambda: bool(log.follow(long)))
    pause.event.set()
    [request] = log.follow(long)
    assert request["broken_off"]
    [step] = steps(RUN)
    await until(lambda: bool(log.follow(step, run=request["run"])))
    [run] = log.follow(step, run=request["run"])
    assert run["thread"] == "t1"
    assert run["run_ms"] >= run["model_ms"] > run["tool_ms"] == 0


async def test_the_id_of_an_error_leads_to_its_exception(
    client: Client, endpoint: StrictEndpoint, log: Log
) -> None:
    endpoint.script(failures.UNAUTHORIZED)
    _, events = await client.turn({"thread_id": "t1", "message": "Hello"})
    [error] = [event.data for event in events if event.type == "error"]
    [step] = steps(ID)
    [line] = log.follow(step, id=error["id"])
    assert (line["thread"], line["exception"]["cause"]["status"]) == ("t1", 401)


async def test_a_503_leads_to_the_error_of_the_database(
    client: Client, log: Log, tmp_path: Path
) -> None:
    with foreign_lock(tmp_path / "t.db"):
        refused = await client.http.post("/chat", json={"message": "Hello"})
    assert refused.status_code == 503
    _, unavailable = steps(MINUTES)
    [request] = log.follow(unavailable)
    assert request["code"] == "storage_busy"
    [step] = steps(ID)
    lines = log.follow(step, id=request["error_id"])
    assert len(lines) == 2, "its cause, and the request"
    assert any("SQLITE_BUSY" in line["message"] for line in lines)


def test_the_codes_of_the_page_are_those_of_a_503() -> None:
    table = TEXT.partition("| `code` | the cause, and what to do |")[2].partition("\n\n")[0]
    named = {cell for line in table.splitlines() for cell in line.split("|")[1:2]}
    codes = {code.strip(" `") for cell in named for code in cell.split(",") if "`" in cell}
    assert codes <= {row.code for row in ALL if row.status == 503}
