"""The real server for a test: uvicorn on a free loopback port, in this loop or as a process."""

import asyncio
import json
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx
import uvicorn.server
from langchain_core.language_models import BaseChatModel
from starlette.applications import Starlette

from tests.support import documented, new_databases, two_workers
from tests.support.endpoint import StrictEndpoint
from tests.support.waiting import WAIT_SECONDS
from turnstream.server.app import PAGE, create_app
from turnstream.server.connections import ConnectionLimits
from turnstream.server.extensions.base import Extension
from turnstream.server.extensions.built_in import BUILT_IN
from turnstream.server.extensions.built_in import ServerSettings as Settings
from turnstream.server.extensions.loading import to_be_on
from turnstream.server.formats import FORMATS, Formats
from turnstream.server.http.state import AppState
from turnstream.server.launch import StartError, listen
from turnstream.server.serving import Server, with_state
from turnstream.tools.builtin import CATALOGUE
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.solar.visits import FILE_VARIABLE

PROJECT = Path(__file__).parent.parent.parent
usual_port = 0
"""Taken for a server in this process if it is free; 0 takes any."""


@dataclass(frozen=True)
class Event:
    """One SSE event: its id, and its JSON, or the bare word of the last."""

    id: str | None
    data: Any

    @property
    def type(self) -> str:
        return str(self.data["type"]) if isinstance(self.data, dict) else str(self.data)


@dataclass
class Stream:
    """An open event stream; iterate for its events as they come, and again to read on."""

    response: httpx.Response
    raw: bytearray = field(default_factory=bytearray)
    _events: AsyncIterator[Event] | None = None

    @property
    def thread_id(self) -> str:
        return self.response.headers["x-thread-id"]

    @property
    def run_id(self) -> str:
        return self.response.headers["x-run-id"]

    def __aiter__(self) -> AsyncIterator[Event]:
        if self._events is None:
            self._events = self._read()
        return self._events

    async def _read(self) -> AsyncIterator[Event]:
        waiting = b""
        async for piece in self.response.aiter_raw():
            self.raw += piece
            *blocks, waiting = (waiting + piece).split(b"\n\n")
            for block in blocks:
                event = parse_event(block)
                if event:
                    yield event

    async def until(self, kind: str) -> Event:
        """Read on until an event of this type, and return it."""
        async with asyncio.timeout(WAIT_SECONDS):
            async for event in self:
                if event.type == kind:
                    return event
        raise AssertionError(f"the stream ended without {kind}")

    async def rest(self) -> list[Event]:
        async with asyncio.timeout(WAIT_SECONDS):
            return [event async for event in self]


def parse_event(block: bytes) -> Event | None:
    """None for a comment. The server's frames have one `data` line, and no field but `id`."""
    fields = dict(
        line.split(": ", 1)
        for line in block.decode().splitlines()
        if line and not line.startswith(":")
    )
    if "data" not in fields:
        return None
    assert set(fields) <= {"id", "data"}, fields
    data = fields["data"]
    return Event(fields.get("id"), data if data == "[DONE]" else json.loads(data))


def parse_events(body: bytes) -> list[Event]:
    events = (parse_event(block) for block in body.replace(b"\r\n", b"\n").split(b"\n\n"))
    return [event for event in events if event]


def text_of(events: Iterable[Event]) -> str:
    """What the model said in these events."""
    return "".join(e.data["textDelta"] for e in events if e.type == "text-delta")


@dataclass
class Client:
    """A browser's way to the server, over HTTP."""

    http: httpx.AsyncClient
    state: AppState | None = None
    """What the app hands to its endpoints, of a server in this process."""
    server: Server | None = None

    @property
    def url(self) -> str:
        return str(self.http.base_url).rstrip("/")

    @property
    def connections(self) -> int:
        """How many the server holds open."""
        assert self.server is not None
        return len(self.server.server_state.connections)

    @asynccontextmanager
    async def stream(self, method: str, path: str, **request: Any) -> AsyncIterator[Stream]:
        async with self.http.stream(method, path, **request) as response:
            yield Stream(response)

    @asynccontextmanager
    async def chat(self, body: Mapping[str, Any], **request: Any) -> AsyncIterator[Stream]:
        """POST /chat, its answer as it streams."""
        async with self.stream("POST", "/chat", json=body, **request) as stream:
            assert stream.response.status_code == 200, await stream.response.aread()
            yield stream

    async def turn(self, body: Mapping[str, Any], **request: Any) -> tuple[str, list[Event]]:
        """POST /chat to its end: the thread's id and the events."""
        async with self.chat(body, **request) as stream:
            return stream.thread_id, await stream.rest()

    async def thread(self, thread_id: str, **query: str) -> dict[str, Any]:
        """Hydrate a thread."""
        answer = await self.http.get(f"/threads/{thread_id}", params=query)
        assert answer.status_code == 200, answer.text
        hydrated: dict[str, Any] = answer.json()
        return hydrated


def settings(database: Path, **values: Any) -> Settings:
    """Settings of a test: nothing of the environment, the offline model at full speed."""
    base = {"model": "offline", "offline_word_seconds": 0.0, "port": 0}
    base["undo_seconds"] = 0  # A deleted thread is gone.
    given = {**base, **values}
    if not isinstance(database, Path) or "redis" in values:
        return Settings.model_validate({"database": database, **given})
    return _read(given).model_copy(update={"database": database})


_settings: dict[str, tuple[Settings, object]] = {}


def _read(values: dict[str, Any]) -> Settings:
    """It takes several milliseconds: once for the same values, with any file as database."""
    environment = sorted(item for item in os.environ.items() if item[0].startswith("TURNSTREAM_"))
    key = repr((environment, sorted(values.items())))
    if key not in _settings:
        # The values are kept too, so that no other has the place of one, and with it its `repr`.
        _settings[key] = Settings.model_validate({"database": "unused.db", **values}), values
    return _settings[key][0]


def endpoint_settings(database: Path, endpoint: StrictEndpoint, **values: Any) -> Settings:
    """Settings of a server whose model is the scripted endpoint."""
    return settings(
        database,
        model="scripted",
        openai_base_url=endpoint.base_url,
        openai_api_key="test",
        **values,
    )


def endpoint_environment(endpoint: StrictEndpoint) -> dict[str, str]:
    """The same as variables, for a server in a process of its own."""
    return {
        "MODEL": "scripted",
        "OPENAI_BASE_URL": endpoint.base_url,
        "OPENAI_API_KEY": "test",
        "OFFLINE_WORD_SECONDS": "0",
    }


def http_client(url: str, transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """Without certificates: there is no TLS, and to read them takes 40 ms. Each answer is compared
    with the OpenAPI document."""
    return httpx.AsyncClient(
        base_url=url,
        timeout=WAIT_SECONDS,
        verify=False,
        event_hooks={"response": [documented.check]},
        transport=transport,
    )


@asynccontextmanager
async def serving(
    settings: Settings,
    catalogue: Catalogue = CATALOGUE,
    model: BaseChatModel | None = None,
    port: int = 0,
    formats: Formats = FORMATS,
    extensions: Sequence[type[Extension]] = BUILT_IN,
    page: Path = PAGE,
    *,
    is_development: bool = False,
) -> AsyncIterator[Client]:
    """The server in this loop, on a port of its own; where tests run on two workers
    (`tests.support.two_workers`), both, of which requests meet one after the other."""
    shared = two_workers.shared_by(settings.database)
    if shared is None:
        app = create_app(
            settings, catalogue, model, formats, extensions, page, is_development=is_development
        )
        opened = new_databases.put(settings.database, to_be_on(extensions, settings))
        async with _serving(settings, app, port) as client:
            opened()
            yield client
        return
    given = settings.model_copy(update=shared)
    async with (
        _serving(
            given, create_app(given, catalogue, model, formats, extensions, page), port
        ) as first,
        _serving(
            given, create_app(given, catalogue, model, formats, extensions, page), 0
        ) as second,
        http_client(first.url, two_workers.InTurn(first.url, second.url)) as http,
    ):
        yield Client(http, first.state, first.server)


@asynccontextmanager
async def _serving(settings: Settings, app: Starlette, port: int) -> AsyncIterator[Client]:
    with _listen(port) as listener:
        port = listener.getsockname()[1]
        async with app.router.lifespan_context(app) as state:
            assert state is not None
            server = InLoop(with_state(app, state), state["runs"], 0, ConnectionLimits.of(settings))
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            try:
                async with http_client(f"http://127.0.0.1:{port}") as http:
                    yield Client(http, cast(AppState, state), server)
            finally:
                await state["runs"].drain(0)
                server.ends.set()
                await serving


def _listen(port: int) -> socket.socket:
    try:
        return listen("127.0.0.1", port or usual_port)
    except StartError:
        return listen("127.0.0.1", port)


class _Hasty:
    """`asyncio` for uvicorn, which pauses for a tenth of a second to end a server."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 20)


uvicorn.server.asyncio = _Hasty()  # type: ignore[assignment, attr-defined]


class InLoop(Server):
    """Leaves the signals of the test process alone, and ends at once: uvicorn looks whether it is
    to end ten times a second."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ends = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.ends.wait()


@dataclass
class Process:
    """The server as a process of its own: to be killed."""

    process: asyncio.subprocess.Process
    url: str
    client: Client
    log: list[bytes]
    """What it has said on stderr, a line each."""

    def kill(self) -> None:
        """kill -9"""
        self.process.kill()

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    @property
    def pid(self) -> int:
        return self.process.pid

    async def exit_status(self) -> int:
        async with asyncio.timeout(60):
            return await self.process.wait()


COMMAND = ("-P", "-m", "turnstream.server", "--port", "0")


@asynccontextmanager
async def process(
    database: Path,
    command: Sequence[str] = COMMAND,
    *,
    prefix: Sequence[str] = (),
    python: str | Path = sys.executable,
    folder: str | Path = PROJECT,
    **environment: str,
) -> AsyncIterator[Process]:
    """`python -P -m turnstream.server` on a free port, or another command of Python that serves the
    app there. Variables are named without their prefix; `prefix` is a program that runs the one
    behind it in its place, with arguments; `folder` is the working directory."""
    variables = server_variables(database, environment)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TURNSTREAM_", "OPENAI_"))}
    child = await asyncio.create_subprocess_exec(
        *prefix,
        python,
        *command,
        cwd=folder,
        env=clean | variables,
        stderr=asyncio.subprocess.PIPE,
    )
    assert child.stderr is not None
    url, log = await announced(child.stderr)
    drain = asyncio.create_task(drained(child.stderr, log))
    try:
        async with http_client(url) as http:
            yield Process(child, url, Client(http), log)
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()
        await drain


def server_variables(database: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server of its own process, the offline model at full speed. The file of
    its maintenance visits is beside the database."""
    base = {
        "MODEL": "offline",
        "OFFLINE_WORD_SECONDS": "0",
        "UNDO_SECONDS": "0",
        "DATABASE": str(database),
    }
    variables = {
        name if name.startswith("OPENAI_") else f"TURNSTREAM_{name}": value
        for name, value in {**base, **environment}.items()
    }
    return {FILE_VARIABLE: str(database.with_name("maintenance.db")), **variables}


async def announced(stderr: asyncio.StreamReader) -> tuple[str, list[bytes]]:
    """Read until the server says where it listens: its address, and all lines so far."""
    log: list[bytes] = []
    async with asyncio.timeout(60):
        async for line in stderr:
            log.append(line)
            found = re.search(r" on (http://[^\s\"]+)", line.decode())
            if found:
                return found[1], log
    raise AssertionError(b"".join(log).decode())


async def drained(stderr: asyncio.StreamReader, log: list[bytes]) -> None:
    """Keep the pipe empty; what the server says is shown when a test fails."""
    async for line in stderr:
        log.append(line)
        sys.stderr.write(line.decode(errors="replace"))
