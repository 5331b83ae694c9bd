"""LangGraph SDK: the operations of threads, their states and their history."""

from turnstream.server.http.langgraph.threads import MAX_FOUND, MAX_SEARCHED, MAX_STATES, STATES
from turnstream.server.http.openapi.answers import TEXT
from turnstream.server.http.openapi.operation import Answer, Example, Operation
from turnstream.server.http.openapi.problems import (
    BODY,
    BODY_FIELDS,
    CAPACITY,
    LANGGRAPH_ASSISTANTS,
    LANGGRAPH_CHECKPOINTS,
    LANGGRAPH_THREADS,
    LIMITED,
    STORAGE,
    THREAD,
)
from turnstream.server.protocols.body_schemas import THREAD_ID, Schema, an_object, nullable, ref
from turnstream.server.protocols.langgraph_sdk.schemas import CHECKPOINT_ID, OMITTED

_PATH = {"thread_id": TEXT}
_OF_THREAD = {"thread_id": "{thread}"}
_NO_THREAD = {"thread_id": "t1"}


def _number(least: int, most: int, default: int) -> Schema:
    bounds = {"minimum": least, "maximum": most}
    return nullable({"type": "integer", **bounds, "default": default})


def _list(items: str) -> Schema:
    return {"type": "array", "items": ref(items)}


_CHECKPOINT = an_object((), checkpoint_id=CHECKPOINT_ID)
_STATE = Answer(
    "The state; an empty one while no run has begun the thread.", ref("LangGraph.State")
)

OPERATIONS = {
    ("POST", "/langgraph/threads"): Operation(
        "langgraphCreateThread",
        "Make a thread",
        {200: Answer("The thread.", ref("LangGraph.Thread"))},
        (
            BODY,
            BODY_FIELDS.only("invalid_body", "invalid_thread_id"),
            LANGGRAPH_THREADS.only("thread_exists"),
            LANGGRAPH_ASSISTANTS,
            CAPACITY,
            LIMITED,
            STORAGE,
        ),
        body=an_object(
            (),
            thread_id=nullable(THREAD_ID),
            if_exists={
                "description": "What it means that the thread is there: with `do_nothing` the "
                "thread is the answer, else a 409."
            },
            metadata={
                "anyOf": [OMITTED, {"type": "object"}],
                "description": "`graph_id`, the name of a graph: that of a first run that names "
                "none. No other metadata is kept.",
            },
        ),
        examples={
            "a new one": Example(200, {}),
            "one with an id of the client's": Example(200, {"thread_id": "t1"}),
            "one for a graph": Example(200, {"metadata": {"graph_id": "chat"}}),
            "an id that cannot be": Example(422, {"thread_id": "a b"}),
            "one for a graph that there is not": Example(404, {"metadata": {"graph_id": "none"}}),
        },
    ),
    ("POST", "/langgraph/threads/search"): Operation(
        "langgraphSearchThreads",
        "List threads, newest first",
        {200: Answer("Those that match.", _list("LangGraph.ThreadEntry"))},
        (
            BODY,
            BODY_FIELDS.only("invalid_body"),
            LANGGRAPH_THREADS.only("invalid_limit"),
            STORAGE,
        ),
        body=an_object(
            (),
            limit=_number(1, MAX_FOUND, STATES),
            offset=_number(0, MAX_SEARCHED, 0),
            status={"description": "`idle`, `busy`, `interrupted` or `error`."},
            metadata={
                "anyOf": [OMITTED, {"type": "object"}],
                "description": "`graph_id` or `assistant_id`, the name of a graph. No thread has "
                "other metadata.",
            },
        ),
        examples={
            "a page": Example(200, {"limit": 10, "offset": 0, "status": "idle"}),
            "those of a graph": Example(200, {"metadata": {"graph_id": "chat"}}),
            "none at all": Example(422, {"limit": 0}),
        },
    ),
    ("GET", "/langgraph/threads/{thread_id}"): Operation(
        "langgraphGetThread",
        "A thread with its messages",
        {200: Answer("The thread.", ref("LangGraph.Thread"))},
        (THREAD, STORAGE),
        path=_PATH,
        examples={
            "a thread": Example(200, path=_OF_THREAD),
            "a thread that there is not": Example(404, path=_NO_THREAD),
        },
    ),
    ("DELETE", "/langgraph/threads/{thread_id}"): Operation(
        "langgraphDeleteThread",
        "Delete a thread",
        {204: Answer("There is no such thread, or no more.")},
        (STORAGE,),
        "A live run is stopped first.",
        path=_PATH,
        examples={
            "a thread": Example(204, path=_OF_THREAD),
            "a thread that there is not": Example(204, path=_NO_THREAD),
        },
    ),
    ("GET", "/langgraph/threads/{thread_id}/state"): Operation(
        "langgraphGetState",
        "The newest state of a thread",
        {200: _STATE},
        (STORAGE,),
        path=_PATH,
        examples={
            "of a thread": Example(200, path=_OF_THREAD),
            "of one that no run has begun": Example(200, path=_NO_THREAD),
        },
    ),
    ("GET", "/langgraph/threads/{thread_id}/state/{checkpoint_id}"): Operation(
        "langgraphGetStateAt",
        "The state of a checkpoint",
        {200: _STATE},
        (LANGGRAPH_CHECKPOINTS, STORAGE),
        path={**_PATH, "checkpoint_id": TEXT},
        examples={
            "ahead of the first message": Example(
                200, path={**_OF_THREAD, "checkpoint_id": "start"}
            ),
            "one that there is not": Example(409, path={**_OF_THREAD, "checkpoint_id": "after-x"}),
        },
    ),
    ("POST", "/langgraph/threads/{thread_id}/history"): Operation(
        "langgraphGetHistory",
        "The states of a thread, newest first",
        {200: Answer("One a message, and one ahead of all.", _list("LangGraph.State"))},
        (
            BODY,
            BODY_FIELDS.only("invalid_body", "invalid_text"),
            LANGGRAPH_THREADS.only("invalid_limit"),
            LANGGRAPH_CHECKPOINTS,
            STORAGE,
        ),
        path=_PATH,
        body=an_object(
            (),
            limit=_number(1, MAX_STATES, STATES),
            before={
                "anyOf": [
                    CHECKPOINT_ID,
                    an_object(["configurable"], configurable=_CHECKPOINT),
                    {**_CHECKPOINT, "not": {"required": ["configurable"]}},
                ],
                "description": "A checkpoint: the states before it.",
            },
        ),
        examples={
            "of a thread": Example(200, {"limit": 10}, path=_OF_THREAD),
            "of one that no run has begun": Example(200, {}, path=_NO_THREAD),
            "before the first state": Example(
                200, {"before": {"checkpoint_id": "start"}}, path=_OF_THREAD
            ),
            "before none": Example(409, {"before": "after-x"}, path=_OF_THREAD),
        },
    ),
}
