"""Opening a session of an MCP server with the official client, by stdio or streamable HTTP.

Elicitation is offered, by form and by address, unless the file says that it is not. Sampling and
roots are not: the client declares neither, and declines what a server asks for all the same.
"""

import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client import Transport
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    JSONRPCError,
    ToolListChangedNotification,
)

from turnstream.tools.mcp import launcher
from turnstream.tools.mcp.configuration import Server
from turnstream.tools.mcp.elicitation import Elicitation
from turnstream.tools.mcp.http_client import HttpClient
from turnstream.tools.mcp.listings import drop_invalid_tools
from turnstream.tools.mcp.sessions import Unreachable

CONNECT_SECONDS = 10.0
"""To reach a server by HTTP."""


class NotFound(Unreachable):
    """The command of a server does not exist."""


class _Watched:
    """A transport whose messages `receive` sees first; `ended` is called when the server sends no
    more of them."""

    def __init__(
        self, transport: Transport, receive: Callable[[object], None], ended: Callable[[], None]
    ) -> None:
        self._transport, self._receive, self._ended = transport, receive, ended

    async def __aenter__(self) -> Any:
        read, write = await self._transport.__aenter__()
        return _WatchedRead(read, self._receive, self._ended), write

    async def __aexit__(self, *raised: Any) -> Any:
        return await self._transport.__aexit__(*raised)


class _WatchedRead:
    """The client leaves its read stream when there is nothing more to come."""

    def __init__(
        self, stream: Any, receive: Callable[[object], None], ended: Callable[[], None]
    ) -> None:
        self._stream, self._receive, self._ended = stream, receive, ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        return self._seen(await self._stream.__anext__())

    async def receive(self) -> Any:
        return self._seen(await self._stream.receive())

    def _seen(self, message: object) -> object:
        self._receive(message)
        return message

    async def __aenter__(self) -> Any:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        self._ended()
        return await self._stream.__aexit__(*raised)


@asynccontextmanager
async def connected(
    config: Server,
    headers: Mapping[str, str],
    changed: Callable[[], None],
    ended: Callable[[], None],
) -> AsyncIterator[Client]:
    """A session; `headers` are sent beside the server's own. `changed` is called when the server
    says that its tools are others now, and when it may have been restarted; `ended` when the
    session is gone.

    Must be entered and left in the same task, which it may cancel. Raises what the client raises,
    exception groups among it, and NotFound.
    """

    async def on_message(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed()

    def receive(message: object) -> None:
        if config.url is None:
            _keep_apart(message)
        if version:
            drop_invalid_tools(message, version)

    version: str | None = None
    http: HttpClient | None = None
    async with AsyncExitStack() as stack:
        if config.url is None:
            transport = _command(config, stack)
        else:
            http = _http_client(config, headers, changed)
            await stack.enter_async_context(http)
            transport = streamable_http_client(config.url, http_client=http)
        watched = _Watched(transport, receive, ended)
        asked = Elicitation() if config.turnstream.elicitation_seconds else None
        client = Client(watched, message_handler=on_message, cache=None, elicitation_callback=asked)
        await stack.enter_async_context(client)
        version = client.protocol_version
        if http is not None:
            http.is_open = True
        yield client


def _keep_apart(received: object) -> None:
    """Give an error of the server's own another code, if it has the one with which the client
    library says that the connection is closed: servers answer any failure with it."""
    message = received.message if isinstance(received, SessionMessage) else None
    if isinstance(message, JSONRPCError) and message.error.code == CONNECTION_CLOSED:
        message.error.code = INTERNAL_ERROR


def _command(config: Server, stack: AsyncExitStack) -> Transport:
    errors: TextIO = sys.stderr
    if not config.turnstream.stderr:
        nowhere = open(os.devnull, "w")  # noqa: SIM115  the stack closes it
        errors = stack.enter_context(nowhere)
    return stdio_client(_process(config), errors)


def _http_client(
    config: Server, headers: Mapping[str, str], troubled: Callable[[], None]
) -> HttpClient:
    return HttpClient(
        troubled,
        headers={**config.headers, **headers},
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
    )


def _process(config: Server) -> StdioServerParameters:
    """It gets the variables that the client passes on (`PATH`, `HOME` and a few more) and its own,
    none of ours: they hold keys. On Linux it ends when this process does, however that ends."""
    command = [_executable(config), *config.args]
    if sys.platform == "linux":
        launch = (sys.executable, "-I", "-S", launcher.__file__, str(os.getpid()))
        command = [*launch, *command]
    return StdioServerParameters(
        command=command[0], args=command[1:], env=dict(config.env), cwd=config.cwd
    )


def _executable(config: Server) -> str:
    """Raises NotFound."""
    command = config.command or ""
    if config.cwd is not None and not Path(config.cwd).is_dir():
        raise NotFound(f"there is no folder {config.cwd!r}")
    # A path that is relative is so to the folder in which the command runs.
    path = os.path.join(config.cwd or "", command) if os.sep in command else command
    found = shutil.which(path, path=config.env.get("PATH"))
    if found is None:
        raise NotFound(f"there is no program {command!r}")
    return os.path.abspath(found)
