"""The application on a server that is not ours: `uvicorn turnstream.server.app:create
--factory`."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import httpx
import pytest

from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, text_reply
from tests.support.environment import isolate
from tests.support.serving import (
    PROJECT,
    Client,
    endpoint_environment,
    endpoint_settings,
    serving,
    settings,
)
from tests.support.waiting import WAIT_SECONDS
from turnstream.server.app import create
from turnstream.server.http.guard import LoopbackOnly
from turnstream.server.launch import listen

STOP_SECONDS = 30


@dataclass
class PlainUvicorn:
    process: asyncio.subprocess.Process
    client: Client

    async def terminate(self) -> str:
        """SIGTERM, and what the server has said in its life."""
        self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(STOP_SECONDS):
            _, said = await self.process.communicate()
        # uvicorn ends in order first, then with the signal that it got.
        assert self.process.returncode in (0, -signal.SIGTERM), said.decode()
        return said.decode()


@asynccontextmanager
async def plain_uvicorn(
    database: str | Path, *options: str, **environment: str
) -> AsyncIterator[PlainUvicorn]:
    """uvicorn's own command on a socket that is open already, so a client need not wait for it."""
    variables = {
        name if name.startswith("OPENAI_") else f"TURNSTREAM_{name}": value
        for name, value in {"DATABASE": str(database), **environment}.items()
    }
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TURNSTREAM_", "OPENAI_"))}
    with listen("127.0.0.1", 0) as listener:
        port, fd = listener.getsockname()[1], listener.fileno()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "uvicorn", "turnstream.server.app:create", "--factory"),
            *("--fd", str(fd), *options),
            cwd=PROJECT,
            env=clean | variables,
            pass_fds=(fd,),
            stderr=asyncio.subprocess.PIPE,
        )
    try:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", timeout=3 * WAIT_SECONDS
        ) as http:
            yield PlainUvicorn(process, Client(http))
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


@pytest.mark.full
async def test_its_environment_alone_makes_the_application(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with plain_uvicorn(path, MODEL="offline", OFFLINE_WORD_SECONDS="0") as server:
        health = (await server.client.http.get("/health")).json()
        assert (health["model"], health["offline"]) == ("offline", True)
        body = {"thread_id": "t1", "message": "What is 17 * 23?"}
        _, events = await server.client.turn(body)
        assert [e.data["result"]["value"] for e in events if e.type == "result"] == [391]
        assert events[-1].data == "[DONE]"
        said = await server.terminate()
    assert "Application shutdown complete" in said
    assert "Traceback" not in said
    async with serving(settings(path)) as again:
        assert (await again.thread("t1"))["run_state"] == "finished"


async def test_a_live_run_is_ended_and_saved_when_it_stops(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with StrictEndpoint() as endpoint:
        endpoint.script(Reply((Say("One "), Pause(asyncio.Event()), Say("two."))))
        async with (
            plain_uvicorn(path, **endpoint_environment(endpoint)) as server,
            server.client.chat({"thread_id": "t1", "message": "Count."}) as stream,
        ):
            first = await stream.until("text-delta")
            assert first.data["textDelta"] == "One ", "it streams: the model is still at it"
            said = await server.terminate()
        assert "Application shutdown complete" in said
        assert "Traceback" not in said
        assert (await endpoint.closed(1)).completed is False
        endpoint.script(text_reply("two."))
        async with serving(endpoint_settings(path, endpoint)) as again:
            thread = await again.thread("t1")
            assert thread["run_state"] == "stopped"
            assert thread["messages"][1]["ended"] == {"reason": "shutdown"}
            assert thread["messages"][1]["parts"] == [{"type": "text", "text": "One "}]
            await again.turn({"thread_id": "t1", "continue": True})
            (_, answer) = (await again.thread("t1"))["messages"]
            assert [part["text"] for part in answer["parts"]] == ["One ", "two."]
        assert endpoint.refused == []


@pytest.mark.parametrize(
    ("server", "status"),
    [
        (("10.0.0.5", 8000), 403),
        (("2001:db8::5", 8000), 403),
        (("127.0.0.1", 8000), 200),
        (("::ffff:127.0.0.1", 8000), 200),
        (("::1", 8000), 200),
        (("/run/turnstream.sock", None), 200),
        (None, 200),
    ],
)
async def test_without_authentication_it_answers_on_loopback_alone_whatever_host_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Any, status: int
) -> None:
    isolate(monkeypatch, tmp_path)
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/threads",
        "raw_path": b"/threads",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
        "server": server,
    }
    app, sent = create(), []

    async def send(message: Any) -> None:
        sent.append(message)

    async with app.router.lifespan_context(app) as state:
        await app({**scope, "state": state}, AsyncMock(), send)
    assert sent[0]["status"] == status
    if status == 403:
        assert b"TURNSTREAM_AUTH" in sent[1]["body"]


def test_whoever_says_that_there_is_no_authentication_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)

    def around() -> list[Any]:
        return [each.cls for each in create().user_middleware]

    assert LoopbackOnly in around()
    monkeypatch.setenv("TURNSTREAM_AUTH", "off")
    assert LoopbackOnly not in around()
