"""A session of a server, opened when it is needed and kept; opened anew after it has died.

A task of its own enters and leaves the client: the client's task group cancels the task that it was
entered in when the connection breaks, and that must not be the task of a run.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mcp import Client, MCPError
from mcp.types import CONNECTION_CLOSED, CallToolResult, Tool
from pydantic import ValidationError

from turnstream.tools.mcp.elicitation import Elicitation, forget_call
from turnstream.tools.mcp.http_client import Failure, failure_of
from turnstream.tools.mcp.notifications import Progress, listening, told_to

OPEN_SECONDS = 30.0
"""To start a server and agree on a protocol; one that a package runner fetches first takes long."""
LIST_SECONDS = 30.0
PROBE_SECONDS = 5.0
CLOSE_SECONDS = 8.0
"""The client gives a process 2 seconds to end by itself, and 2 more after SIGTERM."""
MAX_PAGES, MAX_TOOLS = 100, 2000
"""Pages and tools of a server's list."""

Open = Callable[[Callable[[], None], Callable[[], None]], AbstractAsyncContextManager[Client]]
"""`turnstream.tools.mcp.connections.connected` of a server, with what to call on changes and at its
end."""

Answer = TypeVar("Answer")

logger = logging.getLogger(__name__)


class Unreachable(Exception):
    """No session can be opened; the message says why in few words, for whoever runs the server."""


class ConnectionLost(Exception):
    """The session ended while the server was at work: the call may have run."""


class Unavailable(ConnectionLost):
    """A gateway answered in place of the server; the session may go on."""


class NotTaken(ConnectionLost):
    """The server did not take the request, so the call did not run: it does not know the session,
    or no connection could be made."""


@dataclass(eq=False, slots=True)
class _Kept:
    """A session that is open."""

    client: Client
    ends: asyncio.Event
    """Whoever sets it ends the session."""
    calls: int = 0
    """The number of calls that it is making."""
    is_given_up: bool = False
    """True: it ends with the last of its calls, and calls that come go to another session."""
    is_suspect: bool = False
    """True if a call got no answer in the time that it had: the server may hang."""


@dataclass(eq=False, slots=True)
class Session:
    """`changed` is called when the server says that its tools are others now, when it may have been
    restarted, and when a session was opened; `lost` when a session was given up."""

    open: Open
    changed: Callable[[], None] = lambda: None
    lost: Callable[[], None] = lambda: None
    in_use: int = 0
    """Calls that are being made."""
    used_at: float = 0.0
    """On the loop's clock."""
    _opening: "asyncio.Future[_Kept] | None" = None
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    async def call(
        self, tool: str, arguments: Mapping[str, Any], progress: Progress | None = None
    ) -> CallToolResult:
        """Cancelling it cancels the call on the server.

        Raises Unreachable, ConnectionLost, MCPError for an error that the server answers, and
        ValidationError or RuntimeError for an answer that is not valid.
        """

        async def call(client: Client) -> CallToolResult:
            asked = client.elicitation_callback
            with asked.making() if isinstance(asked, Elicitation) else nullcontext():
                return await client.call_tool(
                    tool, dict(arguments), progress_callback=told_to(progress)
                )

        return await self._request(call)

    async def tools(self) -> list[Tool]:
        """Return the tools that the server lists, up to MAX_TOOLS. Raises as `call`, and
        TimeoutError."""
        async with asyncio.timeout(LIST_SECONDS):
            return await self._request(_listed)

    async def ready(self) -> None:
        """Open the session if it is not. Raises Unreachable."""
        await self._session()

    async def close(self) -> None:
        """End the session, and the process of a server that runs by stdio."""
        opening, self._opening = self._opening, None
        if opening is None or not opening.done():
            for task in self._tasks:
                task.cancel()
        elif opening.exception() is None:
            opening.result().ends.set()
        if self._tasks:
            _, slow = await asyncio.wait(self._tasks, timeout=CLOSE_SECONDS)
            for task in slow:
                task.cancel()
            if slow:
                await asyncio.wait(slow, timeout=CLOSE_SECONDS)

    async def _request(self, request: Callable[[Client], Awaitable[Answer]]) -> Answer:
        """Make a request; again, in a new session, if the server did not take it."""
        with suppress(NotTaken):
            async with self._used() as kept:
                return await request(kept.client)
        try:
            async with self._used() as kept:
                return await request(kept.client)
        except NotTaken as error:
            raise Unreachable("it takes no request in a session just opened") from error

    @asynccontextmanager
    async def _used(self) -> AsyncIterator[_Kept]:
        self.in_use += 1
        try:
            kept = await self._answering()
            kept.calls += 1
            try:
                yield kept
            except MCPError as error:
                lost = await self._lost(kept, error)
                if lost is None:
                    raise
                if not isinstance(lost, Unavailable):
                    self._give_up(kept)
                self.lost()
                raise lost from error
            except asyncio.CancelledError:
                kept.is_suspect = True
                raise
            finally:
                kept.calls -= 1
                _end_if_unused(kept)
            kept.is_suspect = False
        finally:
            self.in_use -= 1
            self.used_at = asyncio.get_running_loop().time()

    async def _lost(self, kept: _Kept, error: MCPError) -> ConnectionLost | None:
        """Return None if the session goes on and the server has answered."""
        match failure_of(error):
            case Failure.NOT_SENT | Failure.SESSION_GONE:
                return NotTaken()
            case Failure.REFUSED:
                return NotTaken() if await _is_refused(kept) else None
            case Failure.UNAVAILABLE:
                return Unavailable()
            case Failure.BROKEN:
                return ConnectionLost()
        return ConnectionLost() if error.code == CONNECTION_CLOSED else None

    async def _answering(self) -> _Kept:
        """The session; a new one if the server hangs, or does not know the session any more."""
        kept = await self._session()
        if not kept.is_suspect:
            return kept
        with suppress(MCPError, TimeoutError):
            async with asyncio.timeout(PROBE_SECONDS):
                await kept.client.list_tools()
            kept.is_suspect = False
            return kept
        self._give_up(kept)
        _end_if_unused(kept)
        return await self._session()

    async def _session(self) -> _Kept:
        opening = self._opening
        if opening is not None and not opening.done():
            # This attempt may have begun before the server was there.
            with suppress(Unreachable):
                return await asyncio.shield(opening)
        return await asyncio.shield(self._opened())

    def _opened(self) -> "asyncio.Future[_Kept]":
        opening = self._opening
        if opening is None:
            opening = self._opening = asyncio.get_running_loop().create_future()
            # Whoever asks may be cancelled before the answer is there.
            opening.add_done_callback(_retrieved)
            task = asyncio.create_task(self._keep(opening))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return opening

    async def _keep(self, opening: "asyncio.Future[_Kept]") -> None:
        """Hold a session open until it is to end, or has ended by itself."""
        forget_call()
        ends = asyncio.Event()
        clock = asyncio.timeout(OPEN_SECONDS)

        def ended() -> None:
            ends.set()
            if self._opening is opening and opening.done():
                self._opening = None

        try:
            async with clock, self.open(self.changed, ended) as client:
                clock.reschedule(None)
                opening.set_result(_Kept(client, ends))
                self.changed()
                async with listening(client, self.changed):
                    await ends.wait()
        except BaseException as error:
            if not opening.done():
                opening.set_exception(Unreachable(_reason(error)))
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
        finally:
            if self._opening is opening:
                self._opening = None

    def _give_up(self, kept: _Kept) -> None:
        kept.is_given_up = True
        opening = self._opening
        if opening is not None and opening.done() and opening.result() is kept:
            self._opening = None


def _end_if_unused(kept: _Kept) -> None:
    if kept.is_given_up and not kept.calls:
        kept.ends.set()


async def _is_refused(kept: _Kept) -> bool:
    """Return True if the server refuses any request of the session, a list of its tools too."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            await kept.client.list_tools()
    except MCPError as error:
        return failure_of(error) in (Failure.REFUSED, Failure.SESSION_GONE)
    except (TimeoutError, ValidationError, RuntimeError):
        return False
    return False


async def _listed(client: Client) -> list[Tool]:
    tools: list[Tool] = []
    cursor = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None or len(tools) > MAX_TOOLS:
            break
    return tools


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return bool(task and task.cancelling())


def _retrieved(opening: "asyncio.Future[_Kept]") -> None:
    """An exception that nobody waits for any more is no stray one."""
    if not opening.cancelled():
        opening.exception()


def _reason(error: BaseException) -> str:
    """In few words, of the first exception in a group of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"it did not answer within {OPEN_SECONDS:g} seconds"
    words = " ".join(str(error).split())[:200]
    if isinstance(error, Unreachable):
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
