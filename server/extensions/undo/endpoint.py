"""/threads/{thread_id}/restore: a deleted thread comes back."""

from collections.abc import Callable
from typing import Any

from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from turnstream.server.extensions.base import Threads
from turnstream.server.extensions.requests import thread_entry, thread_key
from turnstream.server.http.operations import Operation
from turnstream.server.http.problems import unknown_thread
from turnstream.server.http.threads import ENTRY
from turnstream.server.turns.problem_codes import STORAGE, pick


def endpoint(threads: Callable[[], Threads]) -> type[HTTPEndpoint]:
    """Return the endpoint over what `threads` returns."""

    class Restore(HTTPEndpoint):
        @Operation("restoreThread", ENTRY, STORAGE | pick("thread_not_found"))
        async def post(self, request: Request[Any]) -> Response:
            """Bring back a thread that was deleted.

            One that is not deleted stays as it is.
            """
            key = thread_key(request)
            is_there = await threads().restore(key)
            entry = await thread_entry(request, key) if is_there else None
            if entry is None:
                raise unknown_thread(key)
            return JSONResponse(entry)

    return Restore
