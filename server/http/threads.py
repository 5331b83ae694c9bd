"""/threads: the list and its search, one thread (hydrate), change, delete."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict
from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.formats import DEFAULT
from turnstream.server.formats.fields import ClosedFields, Fault, Otherwise, Text, keys, read
from turnstream.server.formats.graph_values import ToolNames
from turnstream.server.http.chat import PROTOCOL
from turnstream.server.http.operations import (
    FLAG,
    Answer,
    Operation,
    Parameter,
    Time,
    component,
    says,
    whole_number,
)
from turnstream.server.http.problems import Problem, unknown_thread
from turnstream.server.http.state import ApiRequest, rights, thread_key
from turnstream.server.http.thread_content import ThreadJson, consistent
from turnstream.server.http.thread_json import thread_json
from turnstream.server.http.thread_listing import (
    PAGE_PROBLEMS,
    PAGE_QUERY,
    ThreadEntryJson,
    ThreadListJson,
    flag,
    number,
    page,
    shown,
)
from turnstream.server.runs.tool_choice import check_choice
from turnstream.server.storage.interfaces import MAX_PINNED, TooManyPinned
from turnstream.server.storage.titles import one_line
from turnstream.server.turns.pages import WHOLE, TurnPage
from turnstream.server.turns.problem_codes import STORAGE, pick
from turnstream.tools.threads import beside_loop

MESSAGES, MAX_MESSAGES = 50, 1000
"""Messages of a page of a thread."""


MAX_TITLE_CHARS = 200


def _title(title: str) -> str:
    if not 1 <= len(title.strip()) <= MAX_TITLE_CHARS:
        raise Fault(
            "invalid_title", f"has {len(title.strip())} characters: send 1 to {MAX_TITLE_CHARS}."
        )
    line = one_line(title)
    if not line:
        raise Fault("invalid_title", "has no character that can be seen: send a title.")
    return line


class ThreadChanges(ClosedFields):
    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    title: Annotated[
        Text,
        Otherwise("invalid_title", f"send a text of 1 to {MAX_TITLE_CHARS} characters"),
        AfterValidator(_title),
        component("NotBlank"),
        says(
            f"1 to {MAX_TITLE_CHARS} characters, blanks at its ends aside. What cannot be seen in "
            "it, or turns the text around it, is left out."
        ),
    ] = ""
    allowed_tools: Annotated[ToolNames, component("ToolNames")] | None = None
    pinned: bool = False
    archived: bool = False

    @classmethod
    def check_keys(cls, value: Mapping[str, Any]) -> None:
        super().check_keys(value)
        if not value:
            listed = ", ".join(keys(cls))
            raise Fault("invalid_body", f"changes nothing: send one or more of {listed}.")


def changes_of(body: Any) -> dict[str, Any]:
    """Checked. Raises InvalidRequest."""
    changes = read(ThreadChanges, body)
    given: dict[str, Any] = changes.model_dump(include=changes.model_fields_set)
    return given


class DeletedJson(TypedDict):
    restorable_until: Time


ENTRY = Answer("The thread's entry in the list.", ThreadEntryJson)


class Threads(HTTPEndpoint):
    @Operation(
        "listThreads",
        Answer("A page of the list; without a cursor it is the last.", ThreadListJson),
        STORAGE | PAGE_PROBLEMS,
        query=PAGE_QUERY,
    )
    async def get(self, request: ApiRequest) -> Response:
        """List threads, or search them.

        Pinned ones first, then by last activity, newest first.
        """
        return JSONResponse(await page(request))


class Thread(HTTPEndpoint):
    @Operation(
        "loadThread",
        Answer("The thread; its messages are in the wire format.", ThreadJson),
        STORAGE
        | pick("thread_not_found", "invalid_protocol", "unknown_message", "unknown_version")
        | pick("invalid_limit"),
        query={
            "protocol": PROTOCOL,
            "limit": Parameter("Messages of the page.", whole_number(1, MAX_MESSAGES, MESSAGES)),
            "before": Parameter("The id of a message; the page ends with the one before it."),
            "version": Parameter("The id of a version of a message: show its branch."),
        },
    )
    async def get(self, request: ApiRequest) -> Response:
        """Load a thread, or a page of it.

        A page, with `limit` or `before`, has `has_earlier`: true if the thread has messages before
        the page. The message of a live run is as its log tells it up to `cursor`: attach with that,
        and nothing is missed or doubled. The cursor is at the beginning of a run that withdrew a
        step or whose nodes speak beside each other.
        """
        format = request.state["formats"].wire_format(
            request.query_params.get("protocol", DEFAULT.name)
        )
        wanted = _page(request)
        version = request.query_params.get("version")
        entry, turns, rest = await consistent(request, thread_key(request), format, wanted, version)
        messages = await beside_loop(len(turns), partial(format.snapshot, turns))
        body = await thread_json(shown(request, entry), messages, rest)
        return Response(body, media_type="application/json")

    @Operation(
        "changeThread",
        ENTRY,
        STORAGE
        | pick("thread_not_found", "tool_not_allowed", "422 unknown_tool", "too_many_pinned")
        | pick("invalid_title", "invalid_body", "invalid_text", "unknown_key"),
        body=ThreadChanges,
        examples={
            "another title": {"title": "Sums"},
            "no tool but one": {"allowed_tools": ["calculator"]},
            "pinned": {"pinned": True},
        },
    )
    async def patch(self, request: ApiRequest) -> Response:
        """Rename, pin or archive a thread, or choose its tools.

        A live run keeps the tools that it began with.
        """
        key, store = thread_key(request), request.state["store"]
        changes, _ = await request.state["bodies"].read(request, changes_of)
        entry = await store.get(key)
        if entry is not None and "allowed_tools" in changes:
            graphs, tools = request.state["graphs"], request.state["catalogue"].current
            possible = [one.attached for one in graphs.possible(entry)]
            check_choice(changes["allowed_tools"] or (), possible, tools, rights(request))
        # First what can still be refused: then nothing has changed.
        if entry is not None and changes.keys() & {"pinned", "archived"}:
            try:
                entry = await store.arrange(key, changes.get("pinned"), changes.get("archived"))
            except TooManyPinned:
                detail = f"{MAX_PINNED} threads are pinned. Unpin another one first."
                raise Problem(409, "too_many_pinned", detail) from None
        if entry is not None and "allowed_tools" in changes:
            entry = await store.allow_tools(key, changes["allowed_tools"])
        if entry is not None and "title" in changes:
            entry = await store.rename(key, changes["title"])
        if entry is None:
            raise unknown_thread(key)
        return JSONResponse(shown(request, entry))

    @Operation(
        "deleteThread",
        {
            202: Answer("The thread can be brought back for a while.", DeletedJson),
            204: Answer("There is no such thread, or no more."),
        },
        STORAGE | pick("invalid_flag", "thread_still_busy"),
        query={"at_once": Parameter("Delete the thread for good, now.", FLAG)},
    )
    async def delete(self, request: ApiRequest) -> Response:
        """Delete a thread.

        A live run is stopped first.
        """
        at_once = flag(request, "at_once", default=False)
        runs, key = request.state["runs"], thread_key(request)
        until = await runs.delete(key, at_once=bool(at_once))
        if until is None:
            return Response(status_code=204)
        moment = datetime.fromtimestamp(until, UTC).isoformat(timespec="milliseconds")
        return JSONResponse(DeletedJson(restorable_until=moment), 202)


def _page(request: ApiRequest) -> TurnPage:
    """Parse the page of a thread that a request asks for. Raises Problem."""
    query = request.query_params
    if not {"limit", "before"} & query.keys():
        return WHOLE
    limit = number(query.get("limit", str(MESSAGES)), MAX_MESSAGES)
    return TurnPage(limit, query.get("before"))
