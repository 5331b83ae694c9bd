"""GET /export: all threads of the caller, one JSON object a line."""

import asyncio
import logging
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any, NotRequired
from uuid import uuid4

from pydantic import Field
from starlette.endpoints import HTTPEndpoint
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from typing_extensions import TypeAliasType, TypedDict

from turnstream.server.callers.reach import MetadataFilter
from turnstream.server.extensions.base import Refusal
from turnstream.server.formats import DEFAULT, WireFormat
from turnstream.server.http.audited import record_now
from turnstream.server.http.chat import PROTOCOL
from turnstream.server.http.operations import LINES, TEXT, Answer, Operation
from turnstream.server.http.problems import Problem, problem
from turnstream.server.http.readers import respond_in_time
from turnstream.server.http.state import ApiRequest, owner, principal
from turnstream.server.http.thread_content import ThreadJson, consistent
from turnstream.server.http.thread_json import as_json, thread_json
from turnstream.server.http.thread_listing import ThreadEntryJson, shown
from turnstream.server.http.unread import counted, in_pieces
from turnstream.server.runs.thread_version import UnknownThread
from turnstream.server.storage.interfaces import StorageUnavailable, ThreadEntry
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.problem_codes import STORAGE, pick
from turnstream.tools.threads import beside_loop

PAGE = 100
EXTENSION_SECONDS = 5.0
FILE_NAME = "turnstream-export.ndjson"

logger = logging.getLogger(__name__)


class LineErrorJson(TypedDict):
    """`thread_unreadable` with the `id` of the log entry, or `limit_reached`."""

    code: str
    message: str
    id: NotRequired[str]


class UnreadableThreadJson(ThreadEntryJson):
    """A thread that cannot be exported now."""

    messages: Annotated[list[Any], Field(max_length=0)]
    error: LineErrorJson


ThreadLineJson = TypeAliasType("ThreadLineJson", ThreadJson | UnreadableThreadJson)
"""A line of an export."""


class Export(HTTPEndpoint):
    @Operation(
        "exportThreads",
        Answer(
            "A line a thread, newest first, each a JSON object: `ThreadLine`.",
            TEXT,
            LINES,
            headers=("Content-Disposition",),
            mentions=(ThreadLineJson,),
        ),
        STORAGE | pick("invalid_protocol", "export_in_progress"),
        query={"protocol": PROTOCOL},
    )
    async def get(self, request: ApiRequest) -> Response:
        """Export all threads of the caller.

        Each line is a thread as GET /threads/{thread_id} shows it. One export at a time is sent to
        each caller. A thread that is deleted meanwhile is left out.
        """
        format = request.state["formats"].wire_format(
            request.query_params.get("protocol", DEFAULT.name)
        )
        filter = await request.state["runs"].reach.search(principal(request))
        caller, exporting = owner(request), request.state["exporting"]
        if caller in exporting:
            raise problem("export_in_progress")
        exporting.add(caller)
        try:
            await record_now(request, "data_exported", principal(request))
        except BaseException:
            exporting.discard(caller)
            raise
        return ExportResponse(request, format, filter)


class ExportResponse(StreamingResponse):
    """It breaks off if its reader takes nothing for too long, or their credentials expire."""

    def __init__(self, request: ApiRequest, format: WireFormat, filter: MetadataFilter) -> None:
        disposition = f'attachment; filename="{FILE_NAME}"'
        super().__init__(
            _lines(request, format, filter),
            headers={"Content-Disposition": disposition},
            media_type="application/x-ndjson",
        )
        self._exporting, self._caller = request.state["exporting"], principal(request)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exporting, caller = self._exporting, self._caller
        try:
            await respond_in_time(super().__call__, scope, receive, send, caller.expires_at)
        finally:
            exporting.discard(caller.owner)


async def _lines(
    request: ApiRequest, format: WireFormat, filter: MetadataFilter
) -> AsyncIterator[bytes]:
    cursor, reach = None, request.state["runs"].reach
    while True:
        page = await reach.page(owner(request), filter, PAGE, cursor)
        for entry in page.entries:
            line, waiting = await _line(request, format, entry), request.state["unread"]
            try:
                with waiting.holding(counted(line), owner(request)):
                    for piece in in_pieces(line):
                        yield piece
            except Problem as no_room:
                yield await _error_line(request, entry, no_room.code, no_room.detail)
        cursor = page.cursor
        if cursor is None:
            return


async def _line(request: ApiRequest, format: WireFormat, entry: ThreadEntry) -> bytes:
    """Empty if there is no such thread any more, or the caller may not read it. Raises
    StorageUnavailable."""
    key = ThreadKey(owner(request), entry.id)
    try:
        await request.state["runs"].reach.check(principal(request), key, "read")
        entry, turns, rest = await consistent(request, key, format)
        messages = await beside_loop(len(turns), partial(format.snapshot, turns))
    except (Problem, Refusal, UnknownThread):
        return b""
    except StorageUnavailable:
        raise
    except Exception:
        error_id = uuid4().hex[:12]
        named = {"thread": entry.id, "error_id": error_id}
        logger.exception("thread %(thread)s cannot be exported, error %(error_id)s", named)
        sentence = "This thread cannot be read; the server's log says why."
        return await _error_line(request, entry, "thread_unreadable", sentence, id=error_id)
    kept = (await request.state["store"].metadata(key.owner, [entry.id])).get(entry.id)
    parts = {**({"metadata": kept} if kept else {}), **await _of_extensions(request, key)}
    return await thread_json(shown(request, entry), messages, {**rest, **parts}) + b"\n"


async def _of_extensions(request: ApiRequest, key: ThreadKey) -> dict[str, Any]:
    """Return what extensions have about a thread, by their names. Raises StorageUnavailable."""
    found = {}
    for each in request.state["extensions"]:
        try:
            async with asyncio.timeout(EXTENSION_SECONDS):
                part = await each.exported(key)
            as_json(part)
        except StorageUnavailable:
            raise
        except Exception:
            error_id = uuid4().hex[:12]
            named = {"extension": each.name, "thread": key.thread_id, "error_id": error_id}
            text = "extension %(extension)s has no part of %(thread)s, error %(error_id)s"
            logger.exception(text, named)
            part = {"error": {"code": "extension_failed", "id": error_id}}
        if part is not None:
            found[each.name] = part
    return {"extensions": found} if found else {}


async def _error_line(
    request: ApiRequest, entry: ThreadEntry, code: str, message: str, **more: str
) -> bytes:
    rest = {"error": {"code": code, "message": message, **more}}
    return await thread_json(shown(request, entry), [], rest) + b"\n"
