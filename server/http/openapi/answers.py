"""JSON Schemas of what endpoints answer, by name."""

from typing import get_args

from turnstream.graphs.models import OFFLINE, PROVIDERS
from turnstream.server.protocols.body_schemas import (
    Schema,
    an_object,
    choice,
    closed_object,
    nullable,
    ref,
)
from turnstream.server.protocols.metadata_schemas import ERROR, INTERRUPT
from turnstream.server.protocols.schemas import message_components
from turnstream.server.storage.interfaces import ThreadRunState
from turnstream.server.users.principal import Method

TEXT: Schema = {"type": "string"}
YES_OR_NO: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}
NAMES: Schema = {"type": "array", "items": TEXT}
RUN_STATE = choice(*get_args(ThreadRunState))
RUN_HEADERS = {"X-Thread-Id": TEXT, "X-Run-Id": TEXT, "X-Message-Id": TEXT}
PREVIOUS_RUN = {"X-Previous-Run-Id": TEXT}
_EVENT: Schema = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "id": {"type": "string", "description": "The run's id, a colon, the number in the run."},
        "data": {
            "anyOf": [
                {"const": "[DONE]"},
                {
                    "type": "string",
                    "contentMediaType": "application/json",
                    "contentSchema": an_object(["type"], type={"type": "string"}),
                },
            ]
        },
    },
}
EVENT_STREAM: Schema = {
    "anyOf": [_EVENT, ref("LangGraph.Event")],
    "description": "One event. Its data is a chunk of the wire format; `[DONE]` is the last. "
    "Of `ag-ui` that is `RUN_FINISHED` or `RUN_ERROR`; events of `langgraph` have names, and the "
    "last is `end` or `error`.",
}

_COUNT: Schema = {"type": "integer", "minimum": 1}
_CALL = {"tool_call_id": TEXT, "tool_name": TEXT, "args": {"type": "object"}}
_ENTRY = {
    **dict.fromkeys(("id", "title", "run_id", "graph"), TEXT),
    **dict.fromkeys(("created_at", "updated_at"), TIME),
    **dict.fromkeys(("pinned", "archived"), YES_OR_NO),
    "run_state": RUN_STATE,
}
_NARROWED = {**_ENTRY, "allowed_tools": NAMES}
_ENTRY_HAS = (
    *("id", "title", "created_at", "updated_at", "run_id", "run_state", "pinned", "archived"),
)


def components() -> dict[str, Schema]:
    return {
        **message_components(),
        "Problem": _problem(),
        "ThreadEntry": closed_object(_ENTRY_HAS, **_NARROWED),
        "ThreadList": closed_object(
            ["threads"],
            threads=_list(closed_object(_ENTRY_HAS, **_ENTRY, found=ref("Found"))),
            cursor=TEXT,
        ),
        "Found": closed_object(
            ["title"],
            title=_list(ref("Segment")),
            text=_list(ref("Segment")),
            message_id=TEXT,
        ),
        "Segment": closed_object(["text"], text=TEXT, is_match={"const": True}),
        "Deleted": closed_object(["restorable_until"], restorable_until=TIME),
        "Thread": _thread(),
        "ThreadLine": {
            "anyOf": [
                ref("Thread"),
                closed_object(
                    [*_ENTRY_HAS, "messages", "error"],
                    **_NARROWED,
                    messages={"type": "array", "maxItems": 0},
                    error=ERROR,
                ),
            ]
        },
        "Stopped": closed_object(
            ["thread_id", "run_id", "state"],
            thread_id=TEXT,
            run_id=TEXT,
            state=RUN_STATE,
        ),
        "Accepted": closed_object(
            ["thread_id", "run_id"],
            thread_id=TEXT,
            run_id=TEXT,
            stream_url=TEXT,
            thread_url=TEXT,
        ),
        "Tools": _tools(),
        "ToolOutcome": closed_object(
            ["result", "duration_ms"],
            result={},
            duration_ms=nullable({"type": "integer", "minimum": 0}),
        ),
        "Graphs": _graphs(),
        "Models": _models(),
        "Approvals": _approvals(),
        "Decided": closed_object(["id", "approved"], id=TEXT, approved=YES_OR_NO),
        "Me": _me(),
        "Health": _health(),
        "Live": closed_object(["status"], status={"const": "live"}),
        "Ready": closed_object(["status"], status={"const": "ready"}),
    }


def _problem() -> Schema:
    """Each operation names the statuses and codes that it has; further members are those of a
    code."""
    return {
        **an_object(
            ["type", "title", "status", "code", "detail"],
            type={"const": "about:blank"},
            title=TEXT,
            status={"type": "integer"},
            code=TEXT,
            detail=TEXT,
            id={**TEXT, "description": "Of the entry in the server's log."},
            login=YES_OR_NO,
            limit=TEXT,
            value={"type": "number"},
            run_id=TEXT,
            stream_url=TEXT,
            stop_url=TEXT,
            run_state=TEXT,
            updated_at=TEXT,
            new_messages={"type": "array", "items": TEXT},
        ),
        "description": "A problem as of RFC 9457.",
    }


def _thread() -> Schema:
    live = closed_object(
        ["id", "stream_url", "stop_url", "cursor", "message_id", "first_part"],
        id=TEXT,
        stream_url=TEXT,
        stop_url=TEXT,
        cursor=TEXT,
        message_id=TEXT,
        first_part={"type": "integer", "minimum": 0},
    )
    asked = closed_object(
        [*_CALL, "approval_id"],
        **_CALL,
        approval_id=TEXT,
        may_have_run={"const": True},
    )
    return closed_object(
        [*_ENTRY_HAS, "messages", "pending", "run"],
        **_NARROWED,
        messages=_list(ref("Message")),
        pending=_list(closed_object([*_CALL], **_CALL)),
        approvals=_list(asked),
        interrupts=_list(INTERRUPT),
        pendingInterrupts=_list({"type": "object"}),  # as AG-UI has them
        state={"type": "object", "description": "Of the graph's own state what clients see."},
        run=nullable(live),
        has_earlier=YES_OR_NO,
        version={**TEXT, "description": "That was asked for, if it is not the thread's own."},
    )


def _tools() -> Schema:
    tool = closed_object(
        ["name", "kind", "description", "parameters", "approval"],
        name=TEXT,
        kind=choice("real", "ui"),
        description=TEXT,
        parameters={"type": "object"},
        approval=choice("never", "sometimes", "always"),
    )
    return closed_object(["tools"], tools=_list(tool))


def _graphs() -> Schema:
    graph = closed_object(
        ["name", "default", "context", "configurable", "input", "client_tools"],
        name=TEXT,
        description=TEXT,
        default=YES_OR_NO,
        context=NAMES,
        configurable=NAMES,
        input=NAMES,
        client_tools=YES_OR_NO,
    )
    return closed_object(["graphs"], graphs={**_list(graph), "minItems": 1})


def _models() -> Schema:
    model = closed_object(
        ["name", "provider", "default", "images"],
        name=TEXT,
        provider=choice(OFFLINE, *PROVIDERS),
        default=YES_OR_NO,
        images={**YES_OR_NO, "description": "Whether it takes images, as far as that is known."},
    )
    images = closed_object(
        ["types", "max", "max_bytes"],
        types=_list(TEXT),
        max={**_COUNT, "description": "Of one message."},
        max_bytes={
            "type": "integer",
            "minimum": 0,
            "description": "Of the `data:` URLs of one message, together, as far as a body may be.",
        },
    )
    return closed_object(["models", "images"], models=_list(model), images=images)


def _approvals() -> Schema:
    approval = closed_object(
        ["id", *_CALL, "asked_at", "asked_by"],
        id=TEXT,
        **_CALL,
        asked_at=TIME,
        expires_at=TIME,
        may_have_run={"const": True},
        asked_by=closed_object(["id", "name"], id=TEXT, name=TEXT),
        thread_id=TEXT,
    )
    return closed_object(["approvals"], approvals=_list(approval), cursor=TEXT)


def _me() -> Schema:
    return closed_object(
        ["id", "display_name", "roles", "method", "session"],
        id=TEXT,
        display_name=TEXT,
        roles=NAMES,
        method=choice(*get_args(Method)),
        session=YES_OR_NO,
        expires_at=TIME,
        approves={"const": True},
    )


def _health() -> Schema:
    """Status alone for a host that is not named."""
    status, seconds = choice("ok", "database_gone"), {"type": "number", "minimum": 0}
    flags = dict.fromkeys(("offline", "titles"), YES_OR_NO)
    about = {"model": nullable(TEXT), **flags, "examples": NAMES, "undo_seconds": seconds}
    whole = closed_object(["status", *about], status=status, **about)
    return {"anyOf": [whole, closed_object(["status"], status=status)]}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}
