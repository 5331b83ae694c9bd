"""LangGraph SDK: the operations of runs."""

from turnstream.server.http.openapi.answers import PREVIOUS_RUN, RUN_HEADERS, TEXT
from turnstream.server.http.openapi.operation import (
    EVENTS,
    Answer,
    Example,
    Operation,
    header,
    query,
)
from turnstream.server.http.openapi.problems import (
    BODY,
    BODY_FIELDS,
    BUSY,
    CAPACITY,
    LANGGRAPH_ASSISTANTS,
    LANGGRAPH_CHECKPOINTS,
    LANGGRAPH_FIELDS,
    LANGGRAPH_RUNS,
    LIMITED,
    RUNS,
    STORAGE,
    STREAMS,
    THREAD,
    VERSION,
)
from turnstream.server.protocols.body_schemas import THREAD_ID, Schema, choice, ref
from turnstream.server.protocols.langgraph_sdk.schemas import MODE

_THREAD = "/langgraph/threads/{thread_id}"
_OF_THREAD = {"thread_id": "{thread}"}
_NO_RUN = {**_OF_THREAD, "run_id": "none"}
_OF_RUN = {**_OF_THREAD, "run_id": "{run}"}
_RUN_PATH = {"thread_id": TEXT, "run_id": TEXT}
_PLACES = {
    "X-Thread-Id": TEXT,
    "X-Run-Id": TEXT,
    "Content-Location": TEXT,
    "Location": TEXT,
}
_MESSAGES = {**RUN_HEADERS, **PREVIOUS_RUN}
_EVENT = {**ref("LangGraph.Event"), "description": "One event; `error` or `end` is the last."}
_STREAM = Answer("The run as an event stream.", _EVENT, EVENTS, headers=_PLACES, may_have=_MESSAGES)
_RUN = Answer("The run.", ref("LangGraph.Run"))
_FOUND = (THREAD, LANGGRAPH_RUNS.only("run_not_found"), STORAGE)
_START = (
    BODY,
    BODY_FIELDS.only(
        *("invalid_body", "empty_message", "message_too_long", "too_many_images"),
        *("images_too_large", "value_too_long", "invalid_text", "unsupported_part"),
        *("invalid_image", "invalid_thread_id", "invalid_message_id", "invalid_json_value"),
        "unknown_key",
    ),
    LANGGRAPH_ASSISTANTS,
    LANGGRAPH_FIELDS,
    LANGGRAPH_ASSISTANTS,
    LANGGRAPH_CHECKPOINTS,
    BUSY,
    VERSION,
    CAPACITY,
    RUNS.only(
        *("forbidden", "model_not_allowed", "not_pending", "already_answered"),
        *("approval_pending", "approval_expired", "unknown_message", "nothing_to_do"),
        *("nothing_to_continue", "message_exists", "unknown_interrupt", "thread_too_large"),
        *("thread_being_deleted", "graph_not_served", "graph_mismatch", "invalid_approval"),
        *("invalid_arguments", "invalid_answer", "value_not_allowed", "invalid_context"),
        *("invalid_resume", "conflicting_actions", "unknown_tool", "images_not_supported"),
    ),
    LIMITED,
    STORAGE,
)
_NAMES = "|".join(MODE["enum"])
_MODES: Schema = {"type": "string", "pattern": f"^(({_NAMES})?(,|$))*$"}
_ASKED = {"assistant_id": "chat", "input": {"messages": [{"type": "human", "content": "Hello"}]}}
_NEW = {"thread_id": "t1"}

OPERATIONS = {
    ("POST", f"{_THREAD}/runs/stream"): Operation(
        "langgraphStreamRun",
        "Start a run and stream it",
        {200: _STREAM},
        (*_START, STREAMS),
        "`Content-Location` and `Location` name the run and its stream, without `/langgraph`.",
        path={"thread_id": THREAD_ID},
        body=ref("LangGraph.RunBody"),
        examples={
            "a message": Example(200, _ASKED, path=_NEW),
            "a message of blocks": Example(
                200,
                {
                    "assistant_id": "chat",
                    "input": {
                        "messages": [
                            {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
                        ]
                    },
                    "stream_mode": ["messages-tuple", "values"],
                    "multitask_strategy": "interrupt",
                },
                path=_NEW,
            ),
            "the last answer anew": Example(
                200,
                {"assistant_id": "chat", "checkpoint": {"checkpoint_id": "start"}, **_ASKED},
                path=_OF_THREAD,
            ),
            "an assistant that there is not": Example(404, {"assistant_id": "none"}, path=_NEW),
            "nothing to go on with": Example(409, {"assistant_id": "chat"}, path=_OF_THREAD),
            "nothing that waits": Example(
                409, {"assistant_id": "chat", "command": {"resume": "yes"}}, path=_OF_THREAD
            ),
            "an option that there is not": Example(
                422, {**_ASKED, "interrupt_before": ["tools"]}, path=_NEW
            ),
            "a thread that must exist": Example(
                404, {**_ASKED, "if_not_exists": "reject"}, path={"thread_id": "no-such-thread"}
            ),
            "no graph": Example(422, {"input": None}, path=_NEW),
        },
    ),
    ("POST", f"{_THREAD}/runs"): Operation(
        "langgraphCreateRun",
        "Start a run and wait for nothing",
        {200: Answer(_RUN.says, _RUN.schema, headers=_PLACES)},
        _START,
        path={"thread_id": THREAD_ID},
        body=ref("LangGraph.RunBody"),
        examples={
            "a message": Example(200, _ASKED, path=_NEW),
            "a queue": Example(422, {**_ASKED, "multitask_strategy": "enqueue"}, path=_NEW),
        },
    ),
    ("GET", f"{_THREAD}/runs/{{run_id}}"): Operation(
        "langgraphGetRun",
        "How a run stands",
        {200: _RUN},
        _FOUND,
        path=_RUN_PATH,
        examples={
            "a run that has ended": Example(200, path=_OF_RUN),
            "a run that there is not": Example(404, path=_NO_RUN),
        },
    ),
    ("GET", f"{_THREAD}/runs/{{run_id}}/stream"): Operation(
        "langgraphJoinRun",
        "Read a run's stream",
        {200: Answer(_STREAM.says, _EVENT, EVENTS, may_have=_PLACES)},
        (
            *_FOUND,
            STREAMS,
            LIMITED,
            LANGGRAPH_FIELDS.only("invalid_stream_mode"),
        ),
        "From its first event, or after the event whose id is given. A cursor that is unknown gets "
        "a stream that says so; of a run that is held no longer there is its end alone.",
        parameters=(
            query(
                "stream_mode",
                {"type": "array", "items": _MODES},
                "What is told; several in one value are separated by commas.",
            ),
            query(
                "cancel_on_disconnect",
                TEXT,
                "`1` or `true`: the run ends when this reader leaves.",
            ),
            header("Last-Event-ID", TEXT, "The last event that the client has; `-1` for none."),
        ),
        path=_RUN_PATH,
        examples={
            "from the start": Example(200, path=_OF_RUN, headers={"Last-Event-ID": "-1"}),
            "some of it": Example(200, path=_OF_RUN, query={"stream_mode": "values,updates"}),
            "an unknown cursor": Example(200, path=_OF_RUN, headers={"Last-Event-ID": "run:3"}),
            "a mode that there is not": Example(422, path=_OF_RUN, query={"stream_mode": "all"}),
            "a run that there is not": Example(404, path=_NO_RUN),
        },
    ),
    ("POST", f"{_THREAD}/runs/{{run_id}}/cancel"): Operation(
        "langgraphCancelRun",
        "Stop a run",
        {
            202: Answer("It is asked to stop.", {"type": "object", "maxProperties": 0}),
            204: Answer("With `wait`: the thread is saved and free, also if the run had ended."),
        },
        (*_FOUND, LANGGRAPH_RUNS.only("unsupported_option")),
        parameters=(
            query("wait", TEXT, "`1` or `true`: wait until the thread is saved and free."),
            query("action", choice("interrupt"), "What it said is kept."),
        ),
        path=_RUN_PATH,
        examples={
            "a run that has ended": Example(202, path=_OF_RUN),
            "with its end": Example(204, path=_OF_RUN, query={"wait": "1"}),
            "what it said is to be lost": Example(422, path=_OF_RUN, query={"action": "rollback"}),
            "a run that there is not": Example(404, path=_NO_RUN),
        },
    ),
}
