"""The operations of threads: list, load, change, delete, export."""

from turnstream.server.http.openapi.answers import RUN_STATE, TEXT, YES_OR_NO
from turnstream.server.http.openapi.operation import LINES, Answer, Example, Operation, query
from turnstream.server.http.openapi.problems import (
    BODY,
    BODY_FIELDS,
    BRANCHES,
    EXPORT,
    PAGES,
    PROTOCOL,
    RUNS,
    STILL_BUSY,
    STORAGE,
    THREAD,
    THREADS,
)
from turnstream.server.http.openapi.turns import PROTOCOL_PARAMETER
from turnstream.server.http.thread_changes import MAX_TITLE_CHARS
from turnstream.server.http.thread_listing import MAX_PAGE_SIZE, MAX_QUERY_CHARS, PAGE_SIZE
from turnstream.server.http.threads import MAX_MESSAGES, MESSAGES
from turnstream.server.protocols.body_schemas import (
    NOT_BLANK,
    TOOL_NAMES,
    closed_object,
    nullable,
    ref,
)
from turnstream.server.storage.sealed_places import CURSOR
from turnstream.server.storage.words import MAX_WORDS

_CURSOR = f"^({CURSOR})?$"

OPERATIONS = {
    ("GET", "/threads"): Operation(
        "listThreads",
        "List threads, or search them",
        {200: Answer("A page of the list; without a cursor it is the last.", ref("ThreadList"))},
        (
            THREADS.only(
                *("invalid_limit", "invalid_state", "invalid_cursor"),
                *("invalid_query", "invalid_flag"),
            ),
            STORAGE,
        ),
        "Pinned ones first, then by last activity, newest first.",
        parameters=(
            query(
                "limit",
                {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": PAGE_SIZE},
                "Threads of a page.",
            ),
            query("cursor", {**TEXT, "pattern": _CURSOR}, "Of the page."),
            query("state", RUN_STATE, "Those whose last run is in it."),
            query("archived", YES_OR_NO, "Those of the archive; without `q` false is the default."),
            query(
                "q",
                {**TEXT, "minLength": 1, "maxLength": MAX_QUERY_CHARS},
                f"Those that have these words in their title and texts, {MAX_WORDS} at most; the "
                "last is a beginning.",
            ),
        ),
        examples={
            "a page": Example(200, query={"limit": "10", "state": "finished"}),
            "a search": Example(200, query={"q": "hel"}),
            "a search for nothing": Example(422, query={"q": "..."}),
            "more than there are in a page": Example(422, query={"limit": "1000"}),
        },
    ),
    ("GET", "/threads/{thread_id}"): Operation(
        "loadThread",
        "Load a thread, or a page of it",
        {200: Answer("The thread; its messages are in the wire format.", ref("Thread"))},
        (THREAD, PROTOCOL, PAGES, BRANCHES, THREADS.only("invalid_limit"), STORAGE),
        parameters=(
            PROTOCOL_PARAMETER,
            query(
                "limit",
                {"type": "integer", "minimum": 1, "maximum": MAX_MESSAGES, "default": MESSAGES},
                "Messages of the page.",
            ),
            query("before", TEXT, "The id of a message; the page ends with the one before it."),
            query("version", TEXT, "The id of a version of a message: show its branch."),
        ),
        path={"thread_id": TEXT},
        examples={
            "a thread": Example(200, path={"thread_id": "{thread}"}),
            "its messages as useChat has them": Example(
                200, path={"thread_id": "{thread}"}, query={"protocol": "ui-message-stream"}
            ),
            "a page": Example(200, path={"thread_id": "{thread}"}, query={"limit": "1"}),
            "a page before an unknown message": Example(
                409, path={"thread_id": "{thread}"}, query={"before": "m9"}
            ),
            "a version that there is not": Example(
                404, path={"thread_id": "{thread}"}, query={"version": "v9"}
            ),
            "a thread that there is not": Example(404, path={"thread_id": "t1"}),
        },
    ),
    ("PATCH", "/threads/{thread_id}"): Operation(
        "changeThread",
        "Rename, pin or archive a thread, or choose its tools",
        {200: Answer("The thread's entry in the list.", ref("ThreadEntry"))},
        (
            BODY,
            THREAD,
            THREADS.only("invalid_title", "too_many_pinned"),
            BODY_FIELDS.only("invalid_body", "invalid_text", "unknown_key"),
            RUNS.only("unknown_tool", "tool_not_allowed"),
            STORAGE,
        ),
        path={"thread_id": TEXT},
        body={
            **closed_object(
                (),
                title={
                    **TEXT,
                    "pattern": NOT_BLANK,
                    "description": f"1 to {MAX_TITLE_CHARS} characters, blanks at its ends aside. "
                    "What cannot be seen in it, or turns the text around it, is left out.",
                },
                allowed_tools=nullable(TOOL_NAMES),
                pinned=YES_OR_NO,
                archived=YES_OR_NO,
            ),
            "minProperties": 1,
        },
        examples={
            "another title": Example(200, {"title": "Sums"}, path={"thread_id": "{thread}"}),
            "no tool but one": Example(
                200, {"allowed_tools": ["calculator"]}, path={"thread_id": "{thread}"}
            ),
            "pinned": Example(200, {"pinned": True}, path={"thread_id": "{thread}"}),
            "no title": Example(422, {"title": ""}, path={"thread_id": "{thread}"}),
        },
    ),
    ("DELETE", "/threads/{thread_id}"): Operation(
        "deleteThread",
        "Delete a thread",
        {
            202: Answer("It can be brought back for a while.", ref("Deleted")),
            204: Answer("There is no such thread, or no more."),
        },
        (THREADS.only("invalid_flag"), STORAGE, STILL_BUSY),
        "A live run is stopped first.",
        parameters=(query("at_once", YES_OR_NO, "Delete it for good, now."),),
        path={"thread_id": TEXT},
        examples={
            "a thread": Example(204, path={"thread_id": "{thread}"}),
            "a thread that there is not": Example(204, path={"thread_id": "t1"}),
        },
    ),
    ("POST", "/threads/{thread_id}/restore"): Operation(
        "restoreThread",
        "Bring back a thread that was deleted",
        {200: Answer("The thread's entry in the list.", ref("ThreadEntry"))},
        (THREAD, STORAGE),
        "One that is not deleted stays as it is.",
        path={"thread_id": TEXT},
        examples={
            "a thread that is there": Example(200, path={"thread_id": "{thread}"}),
            "a thread that there is not": Example(404, path={"thread_id": "t1"}),
        },
    ),
    ("GET", "/export"): Operation(
        "exportThreads",
        "All threads of the caller",
        {
            200: Answer(
                "A line a thread, newest first, each a JSON object: `ThreadLine`.",
                TEXT,
                LINES,
                headers={"Content-Disposition": TEXT},
            )
        },
        (PROTOCOL, EXPORT, STORAGE),
        parameters=(PROTOCOL_PARAMETER,),
        examples={"everything": Example(200)},
    ),
}
