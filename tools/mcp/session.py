"""A session with one MCP server, kept open by a task of its own.

The client's task group may cancel the task that entered it, when its server dies: so that is a
task which does nothing else, and callers only call. The next call after a death connects anew.
Read and tried with mcp 2.3.
"""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, CallToolResult, Tool

from tools.mcp.configuration import Server

CONNECT_SECONDS = 30.0
"""A command may have to be fetched first."""
MAX_TOOLS = 1000


class Unreachable(Exception):
    """The server cannot be had, or broke off."""


class Session:
    """`close` ends it for good."""

    def __init__(self, name: str, server: Server) -> None:
        self.name = name
        self._server = server
        self._connecting = asyncio.Lock()
        self._owner: asyncio.Task[None] | None = None
        self._calls: Counter[asyncio.Task[None]] = Counter()
        self._owners: set[asyncio.Task[None]] = set()
        """All that have not ended; one of them is current."""
        self._client: Client | None = None

    async def tools(self) -> list[Tool]:
        """All that the server lists. Raises Unreachable."""
        client = await self._connected()
        listed: list[Tool] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                while len(listed) < MAX_TOOLS:
                    page = await client.list_tools(cursor=cursor, cache_mode="refresh")
                    listed += page.tools
                    cursor = page.next_cursor
                    if not cursor:
                        break
        except Exception as error:
            await self._drop()
            raise Unreachable(type(error).__name__) from error
        return listed

    async def call(self, tool: str, args: Mapping[str, Any]) -> CallToolResult:
        """Raises Unreachable if the server died; cancelling it cancels the call there.

        A server that has forgotten the session, as by a restart, has not run the call: it is made
        again in a new one.
        """
        try:
            return await self._counted_call(tool, args)
        except MCPError as error:
            if not _is_forgotten(error):
                raise
        return await self._counted_call(tool, args)

    async def _counted_call(self, tool: str, args: Mapping[str, Any]) -> CallToolResult:
        """A session that is forgotten is given up, and ends with the last of its calls."""
        client = await self._connected()
        owner = self._owner
        assert owner is not None, "who is connected has an owner"
        self._calls[owner] += 1
        try:
            return await self._call(client, tool, args)
        except MCPError as error:
            if _is_forgotten(error) and self._owner is owner:
                self._owner = self._client = None
            raise
        finally:
            self._calls[owner] -= 1
            if not self._calls[owner]:
                del self._calls[owner]
                if self._owner is not owner:
                    owner.cancel()

    async def _call(self, client: Client, tool: str, args: Mapping[str, Any]) -> CallToolResult:
        try:
            return await client.call_tool(tool, dict(args))
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise
            await self._lost(client)
            raise Unreachable("the server broke off") from error
        except (OSError, ExceptionGroup, httpx2.HTTPError) as error:
            await self._lost(client)
            raise Unreachable("the server broke off") from error

    async def close(self) -> None:
        async with self._connecting:
            await self._drop()
            for owner in [*self._owners]:
                owner.cancel()
            if self._owners:
                await asyncio.wait({*self._owners})

    async def _lost(self, client: Client) -> None:
        """The next call connects anew, unless another has done so already."""
        async with self._connecting:
            if self._client in (client, None):
                await self._drop()

    async def _connected(self) -> Client:
        async with self._connecting:
            if self._client is not None and self._owner is not None and not self._owner.done():
                return self._client
            ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
            self._owner = asyncio.create_task(self._own(ready), name=f"MCP server {self.name}")
            self._owners.add(self._owner)
            self._owner.add_done_callback(self._owners.discard)
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    self._client = await asyncio.shield(ready)
            except Exception as error:
                await self._drop()
                raise Unreachable(_reason(error)) from error
            except asyncio.CancelledError:
                await self._drop()
                raise
            return self._client

    async def _own(self, ready: "asyncio.Future[Client]") -> None:
        """Enter the client, wait, and leave it in the same task."""
        try:
            async with _client(self._server) as client:
                ready.set_result(client)
                await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            if not ready.done():
                ready.cancel()
        except BaseException as error:  # noqa: BLE001  a group of whatever the transport raises
            if not ready.done():
                ready.set_exception(Unreachable(_reason(error)))
        finally:
            if self._owner is asyncio.current_task():
                self._client = None

    async def _drop(self) -> None:
        owner, self._owner, self._client = self._owner, None, None
        if owner is not None:
            owner.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({owner})


@asynccontextmanager
async def _client(server: Server) -> AsyncIterator[Client]:
    if server.url is None:
        assert server.command is not None, "a server has a command or a url"
        parameters = StdioServerParameters(
            command=server.command, args=[*server.args], env={**server.env}, cwd=server.cwd
        )
        # Its words may be anything, and would stand among those of the log.
        with open(os.devnull, "w") as nowhere:  # noqa: ASYNC230  no disk is waited for
            async with Client(stdio_client(parameters, errlog=nowhere)) as client:
                yield client
        return
    async with (
        httpx2.AsyncClient(headers=dict(server.headers), timeout=None) as http,
        Client(streamable_http_client(server.url, http_client=http)) as client,
    ):
        yield client


def _is_forgotten(error: MCPError) -> bool:
    """How the transport tells the status 404 to a session: read in mcp 2.3."""
    return error.code == INVALID_REQUEST and error.message == "Session terminated"


def _reason(error: BaseException) -> str:
    """In a word or two: an exception's text may have what is secret."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, Unreachable):
        return str(error)
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return "it ended before it answered"
    if isinstance(error, TimeoutError):
        return f"no answer within {CONNECT_SECONDS:g} seconds"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
