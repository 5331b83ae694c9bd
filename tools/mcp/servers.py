"""One server: its sessions, its tools, and the task that keeps them up to date."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.tools import BaseTool
from mcp import MCPError
from mcp.types import CallToolResult
from pydantic import ValidationError

from turnstream.tools.held_calls import HeldCalls
from turnstream.tools.mcp.configuration import Server
from turnstream.tools.mcp.connections import connected
from turnstream.tools.mcp.forwarding import headers_of
from turnstream.tools.mcp.notifications import Progress
from turnstream.tools.mcp.sessions import ConnectionLost, Session, Unreachable
from turnstream.tools.mcp.tools import Source, make_tools
from turnstream.tools.threads import in_thread

MAX_SESSIONS, IDLE_SECONDS = 64, 600.0
"""The sessions of callers whom a server is told of: how many are kept, and how long without a call.
"""
RETRY_SECONDS, MAX_RETRY_SECONDS = 1.0, 60.0
PAUSE_SECONDS = 1.0
"""Between two lists of tools, however often the server says that they are others."""

logger = logging.getLogger(__name__)


class NotJoined(Exception):
    """The server's tools cannot be had; the message says why in few words."""


class McpServer:
    """`servers` are the names of all servers, `taken` those of tools that are not of these;
    `updated` is called when `tools` are others. Calls that ask the user wait in `held_calls`."""

    def __init__(
        self,
        name: str,
        config: Server,
        servers: Collection[str],
        taken: Collection[str],
        updated: Callable[[], None],
        held_calls: HeldCalls,
    ) -> None:
        self.name, self.config = name, config
        self._held_calls = held_calls
        self.tools: Sequence[BaseTool] = ()
        self._servers, self._taken, self._updated = servers, taken, updated
        self._changed = asyncio.Event()
        self._is_current = False
        self._own = Session(partial(connected, config, {}), self._changed.set)
        """It lists the tools, and makes all calls where nothing is forwarded."""
        self._of_callers: OrderedDict[tuple[tuple[str, str], ...], Session] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        user: Mapping[str, Any],
        progress: Progress | None,
    ) -> CallToolResult:
        """See `Session.call`; raises NothingToForward."""
        return await self._session(user).call(tool, arguments, progress)

    async def refresh(self) -> None:
        """Raises NotJoined; then the tools stay as they are."""
        self._is_current = False
        try:
            await self._own.ready()
            self._changed.clear()
            listed = await self._own.tools()
        except Unreachable as error:
            raise NotJoined(str(error)) from None
        except (MCPError, ConnectionLost, ValidationError, RuntimeError, TimeoutError) as error:
            raise NotJoined(f"its tools cannot be listed ({type(error).__name__})") from error
        # In a thread: to read many schemas takes a while.
        self.tools = await in_thread(
            lambda: make_tools(
                Source(self.name, self.config.turnstream, self.call, self._held_calls),
                listed,
                self._servers,
                self._taken,
            )
        )
        self._is_current = True
        self._updated()
        named = {"server": self.name, "count": len(self.tools)}
        logger.info("MCP server %(server)s: %(count)s tools", named)

    async def watch(self) -> None:
        """Keep the tools up to date, and try again what could not be reached."""
        delay = RETRY_SECONDS
        while True:
            if self._is_current:
                await self._changed.wait()
            else:
                await asyncio.sleep(delay)
            try:
                await self.refresh()
                delay = RETRY_SECONDS
            except Exception as error:
                delay = min(2 * delay, MAX_RETRY_SECONDS)
                named = {"server": self.name, "seconds": f"{delay:g}"}
                logger.warning(
                    "MCP server %(server)s does not tell its tools; asked again in %(seconds)s s",
                    named,
                    exc_info=None if isinstance(error, NotJoined) else error,
                )
            await asyncio.sleep(PAUSE_SECONDS)

    async def close(self) -> None:
        sessions = [self._own, *self._of_callers.values()]
        await asyncio.gather(*(session.close() for session in sessions), *self._closing)

    def _session(self, user: Mapping[str, Any]) -> Session:
        headers = headers_of(self.config.turnstream.forward, user)
        if not headers:
            return self._own
        key = tuple(sorted(headers.items()))
        session = self._of_callers.get(key)
        if session is None:
            session = self._of_callers[key] = Session(
                partial(connected, self.config, headers), lost=self._changed.set
            )
        self._of_callers.move_to_end(key)
        session.used_at = asyncio.get_running_loop().time()
        self._close_unused()
        return session

    def _close_unused(self) -> None:
        """The oldest beyond the most that are kept, and those without a call for long; a session
        in use stays."""
        now = asyncio.get_running_loop().time()
        idle = [key for key, one in self._of_callers.items() if not one.in_use]
        beyond = len(self._of_callers) - MAX_SESSIONS
        for place, key in enumerate(idle[:-1]):
            if place < beyond or now - self._of_callers[key].used_at > IDLE_SECONDS:
                task = asyncio.create_task(self._of_callers.pop(key).close())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
