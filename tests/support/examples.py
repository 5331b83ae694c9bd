"""Requests that a fresh server answers with a known status, by operation and name.

A request without a body of its own has the example of that name in the OpenAPI document.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.routes import ROUTES
from turnstream.server.extensions.openapi.document import endpoints
from turnstream.server.http.operations import Operation

OPERATIONS: Mapping[tuple[str, str], Operation] = {
    (one.method, one.route.path): one.operation for one in endpoints(ROUTES) if one.operation.id
}


@dataclass(frozen=True, slots=True)
class Example:
    """`{thread}` and `{run}` in a path are those of a thread that has one turn."""

    status: int
    body: Any = None
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


NEW, OF_THREAD = {"thread_id": "t1"}, {"thread_id": "{thread}"}
NO_RUN, OF_RUN = {**OF_THREAD, "run_id": "none"}, {**OF_THREAD, "run_id": "{run}"}

EXAMPLES: Mapping[tuple[str, str], Mapping[str, Example]] = {
    ("POST", "/chat"): {
        "a message": Example(200),
        "a message of parts": Example(200),
        "a message from assistant-ui": Example(200),
        "a message from useChat": Example(200),
        "a message that may wait": Example(200),
        "a run that is read elsewhere": Example(202, headers={"Prefer": "respond-async"}),
        "nothing to do": Example(422, {}),
        "a thread that must exist": Example(
            404, {"thread_id": "no-such-thread", "message": "Hello", "must_exist": True}
        ),
        "nothing to go on with": Example(409, {"continue": True}),
        "a format that there is not": Example(
            422, {"message": "Hello"}, query={"protocol": "soap"}
        ),
    },
    ("GET", "/chat/{thread_id}/stream"): {
        "a thread without a run": Example(204, path=NEW),
        "an unknown cursor": Example(200, path=OF_THREAD, headers={"Last-Event-ID": "run:3"}),
    },
    ("POST", "/chat/{thread_id}/stop"): {
        "a thread that there is not": Example(404, path=NEW),
        "a run that has ended": Example(200, path=OF_THREAD),
    },
    ("GET", "/threads"): {
        "a page": Example(200, query={"limit": "10", "state": "finished"}),
        "a search": Example(200, query={"q": "hel"}),
        "a search for nothing": Example(422, query={"q": "..."}),
        "more than there are in a page": Example(422, query={"limit": "1000"}),
    },
    ("GET", "/threads/{thread_id}"): {
        "a thread": Example(200, path=OF_THREAD),
        "its messages as useChat has them": Example(
            200, path=OF_THREAD, query={"protocol": "ui-message-stream"}
        ),
        "a page": Example(200, path=OF_THREAD, query={"limit": "1"}),
        "a page before an unknown message": Example(409, path=OF_THREAD, query={"before": "m9"}),
        "a version that there is not": Example(404, path=OF_THREAD, query={"version": "v9"}),
        "a thread that there is not": Example(404, path=NEW),
    },
    ("PATCH", "/threads/{thread_id}"): {
        "another title": Example(200, path=OF_THREAD),
        "no tool but one": Example(200, path=OF_THREAD),
        "pinned": Example(200, path=OF_THREAD),
        "no title": Example(422, {"title": ""}, path=OF_THREAD),
    },
    ("DELETE", "/threads/{thread_id}"): {
        "a thread": Example(202, path=OF_THREAD),
        "at once": Example(204, path=OF_THREAD, query={"at_once": "true"}),
        "a thread that there is not": Example(204, path=NEW),
    },
    ("GET", "/threads/{thread_id}/queue"): {
        "a thread": Example(200, path=OF_THREAD),
        "a thread that there is not": Example(404, path=NEW),
    },
    ("PATCH", "/threads/{thread_id}/queue/{run_id}"): {
        "other words": Example(404, path=OF_RUN),
        "the next one": Example(404, path=OF_RUN),
        "no words": Example(422, {"message": ""}, path=OF_RUN),
    },
    ("DELETE", "/threads/{thread_id}/queue/{run_id}"): {
        "of a run that has begun": Example(404, path=OF_RUN),
    },
    ("POST", "/threads/{thread_id}/restore"): {
        "a thread that is there": Example(200, path=OF_THREAD),
        "a thread that there is not": Example(404, path=NEW),
    },
    ("GET", "/threads/{thread_id}/feedback"): {
        "all": Example(200, path=OF_THREAD),
        "a thread that there is not": Example(404, path=NEW),
    },
    ("POST", "/threads/{thread_id}/feedback"): {
        "a thumb down": Example(200, path=OF_THREAD),
        "none any more": Example(200, path=OF_THREAD),
        "no thumb": Example(422, {"message_id": "m1", "value": "so-so"}, path=OF_THREAD),
        "a thread that there is not": Example(404, {"message_id": "m1", "value": "up"}, path=NEW),
    },
    ("GET", "/export"): {
        "everything": Example(200),
    },
    ("POST", "/login"): {
        "where a proxy logs people in": Example(404, {"credential": "ts_1"}),
    },
    ("POST", "/logout"): {
        "without a session": Example(204),
    },
    ("GET", "/me"): {
        "whoever calls": Example(200),
    },
    ("DELETE", "/me"): {
        "everything": Example(204),
        "not confirmed": Example(422, {"confirm": "somebody"}),
    },
    ("GET", "/components"): {
        "none": Example(200),
    },
    ("GET", "/tools"): {
        "all": Example(200),
    },
    ("POST", "/tools/{name}"): {
        "a sum": Example(200, path={"name": "calculator"}),
        "arguments that do not fit": Example(422, {"a": 1}, path={"name": "multiply"}),
        "a sum that has no value": Example(
            422, {"expression": "1 / 0"}, path={"name": "calculator"}
        ),
        "a tool that there is not": Example(404, {}, path={"name": "calculater"}),
    },
    ("GET", "/graphs"): {
        "all": Example(200),
    },
    ("GET", "/models"): {
        "all": Example(200),
    },
    ("GET", "/approvals"): {
        "none": Example(200),
        "a page": Example(200, query={"limit": "10", "cursor": "0"}),
        "an unknown cursor": Example(422, query={"cursor": "next"}),
    },
    ("POST", "/approvals/{approval_id}"): {
        "a call that there is not": Example(404, {"approved": True}, path={"approval_id": "a"}),
    },
    ("GET", "/health"): {
        "a server that works": Example(200),
    },
    ("GET", "/health/live"): {
        "a server that works": Example(200),
    },
    ("GET", "/health/stream"): {
        "a stream of two events": Example(200),
    },
    ("GET", "/health/ready"): {
        "a server that works": Example(200),
    },
    ("GET", "/openapi.json"): {
        "all of it": Example(200),
    },
    ("POST", "/ag-ui"): {
        "a message": Example(200),
        "a message of parts": Example(200),
        "a run that is read elsewhere": Example(202, headers={"Prefer": "respond-async"}),
        "nothing new": Example(
            409,
            {
                "threadId": "t1",
                "runId": "r1",
                "messages": [
                    {"id": "m1", "role": "user", "content": "Hello"},
                    {"role": "assistant", "content": "Hi"},
                ],
                "tools": [],
                "context": [],
                "state": {},
                "forwardedProps": {},
            },
        ),
        "an answer to no question": Example(
            409,
            {
                "threadId": "t1",
                "runId": "r1",
                "messages": [],
                "tools": [],
                "context": [],
                "state": {},
                "forwardedProps": {},
                "resume": [{"interruptId": "i1", "status": "resolved", "payload": 1}],
            },
        ),
        "no messages": Example(422, {"threadId": "t1"}),
    },
    ("POST", "/ag-ui/{graph}"): {
        "a message": Example(200, path={"graph": "chat"}),
        "a graph that there is not": Example(
            422,
            {
                "threadId": "t1",
                "runId": "r1",
                "messages": [{"id": "m1", "role": "user", "content": "Hello"}],
                "tools": [],
                "context": [],
                "state": {},
                "forwardedProps": {},
            },
            path={"graph": "none"},
        ),
    },
    ("GET", "/langgraph/info"): {
        "all": Example(200),
    },
    ("POST", "/langgraph/assistants"): {
        "one of a graph": Example(200),
        "one with an id": Example(200),
        "one of a graph that there is not": Example(404, {"graph_id": "none"}),
        "the id of a graph": Example(409, {"graph_id": "chat", "assistant_id": "chat"}),
        "too much": Example(422, {"graph_id": "chat", "name": "x" * 16_000}),
    },
    ("PATCH", "/langgraph/assistants/{assistant_id}"): {
        "another name": Example(409, path={"assistant_id": "chat"}),
        "one that there is not": Example(404, {"name": "x"}, path={"assistant_id": "none"}),
    },
    ("DELETE", "/langgraph/assistants/{assistant_id}"): {
        "a graph": Example(409, path={"assistant_id": "chat"}),
        "with its threads": Example(
            422, path={"assistant_id": "none"}, query={"delete_threads": "true"}
        ),
        "one that there is not": Example(404, path={"assistant_id": "none"}),
    },
    ("POST", "/langgraph/assistants/{assistant_id}/versions"): {
        "all": Example(200, path={"assistant_id": "chat"}),
        "none at all": Example(422, {"limit": 0}, path={"assistant_id": "chat"}),
    },
    ("POST", "/langgraph/assistants/{assistant_id}/latest"): {
        "the first one": Example(409, path={"assistant_id": "chat"}),
        "one that there is not": Example(404, {"version": 1}, path={"assistant_id": "none"}),
    },
    ("GET", "/langgraph/assistants/{assistant_id}/schemas"): {
        "a graph": Example(200, path={"assistant_id": "chat"}),
        "one that there is not": Example(404, path={"assistant_id": "none"}),
    },
    ("GET", "/langgraph/assistants/{assistant_id}/subgraphs"): {
        "a graph": Example(200, path={"assistant_id": "chat"}),
        "one that there is not": Example(404, path={"assistant_id": "none"}),
    },
    ("GET", "/langgraph/assistants/{assistant_id}/subgraphs/{namespace}"): {
        "a graph": Example(200, path={"assistant_id": "chat", "namespace": "none"}),
        "one that there is not": Example(404, path={"assistant_id": "none", "namespace": "none"}),
    },
    ("POST", "/langgraph/assistants/search"): {
        "all": Example(200),
        "one that there is not": Example(200),
        "names": Example(200),
    },
    ("GET", "/langgraph/ok"): {
        "all": Example(200),
    },
    ("POST", "/langgraph/assistants/count"): {
        "all": Example(200),
        "those of a name": Example(200),
        "no object": Example(422, []),
    },
    ("GET", "/langgraph/assistants/{assistant_id}/graph"): {
        "a graph": Example(200, path={"assistant_id": "chat"}),
        "inside of its nodes": Example(200, path={"assistant_id": "chat"}, query={"xray": "true"}),
        "no number": Example(422, path={"assistant_id": "chat"}, query={"xray": "all"}),
        "one that there is not": Example(404, path={"assistant_id": "none"}),
    },
    ("PUT", "/langgraph/store/items"): {
        "an item": Example(404),
        "a namespace with a dot": Example(422, {"namespace": ["a.b"], "key": "c", "value": {}}),
    },
    ("GET", "/langgraph/store/items"): {
        "an item": Example(404, query={"namespace": "memories.ann", "key": "colour"}),
    },
    ("DELETE", "/langgraph/store/items"): {
        "an item": Example(404),
    },
    ("POST", "/langgraph/store/items/search"): {
        "all": Example(404),
        "those of a namespace": Example(404),
        "none at all": Example(422, {"limit": 0}),
    },
    ("POST", "/langgraph/store/namespaces"): {
        "all": Example(404),
        "those below one": Example(404),
        "none at all": Example(422, {"limit": 0}),
    },
    ("POST", "/langgraph/runs"): {
        "a message": Example(200),
        "an assistant that there is not": Example(404, {"assistant_id": "none"}),
    },
    ("POST", "/langgraph/runs/crons"): {"none": Example(404)},
    ("POST", "/langgraph/runs/crons/search"): {"none": Example(404)},
    ("POST", "/langgraph/runs/crons/count"): {"none": Example(404)},
    ("GET", "/langgraph/runs/crons/{cron_id}"): {"none": Example(404, path={"cron_id": "c"})},
    ("PATCH", "/langgraph/runs/crons/{cron_id}"): {"none": Example(404, path={"cron_id": "c"})},
    ("DELETE", "/langgraph/runs/crons/{cron_id}"): {"none": Example(404, path={"cron_id": "c"})},
    ("POST", "/langgraph/threads/{thread_id}/runs/crons"): {"none": Example(404, path=OF_THREAD)},
    ("POST", "/langgraph/runs/batch"): {
        "two": Example(200),
        "none": Example(200),
        "one of them cannot be": Example(
            404,
            [
                {
                    "assistant_id": "chat",
                    "input": {"messages": [{"type": "human", "content": "Hello"}]},
                },
                {"assistant_id": "none"},
            ],
        ),
        "too many": Example(422, [{"assistant_id": "chat"}] * 21),
    },
    ("POST", "/langgraph/runs/cancel"): {
        "all": Example(204),
        "one": Example(204),
        "what they said is to be lost": Example(422, {}, query={"action": "rollback"}),
    },
    ("DELETE", "/langgraph/threads/{thread_id}/runs/{run_id}"): {
        "a run that has ended": Example(409, path=OF_RUN),
        "a run that there is not": Example(404, path=NO_RUN),
    },
    ("POST", "/langgraph/runs/stream"): {
        "a message": Example(200),
        "an assistant that there is not": Example(404, {"assistant_id": "none"}),
    },
    ("POST", "/langgraph/runs/wait"): {
        "a message": Example(200),
        "one whose thread is kept": Example(200),
        "an end that there is not": Example(
            422,
            {
                "assistant_id": "chat",
                "input": {"messages": [{"type": "human", "content": "Hello"}]},
                "on_completion": "archive",
            },
        ),
        "nothing to do": Example(409, {"assistant_id": "chat"}),
    },
    ("GET", "/langgraph/assistants/{assistant_id}"): {
        "a graph": Example(200, path={"assistant_id": "chat"}),
        "one that there is not": Example(404, path={"assistant_id": "none"}),
    },
    ("POST", "/langgraph/threads"): {
        "a new one": Example(200),
        "one with an id of the client's": Example(200),
        "one for a graph": Example(200),
        "an id that cannot be": Example(422, {"thread_id": "a b"}),
        "one with steps": Example(422, {"supersteps": [{"updates": []}]}),
        "one for a graph that there is not": Example(404, {"metadata": {"graph_id": "none"}}),
    },
    ("POST", "/langgraph/threads/search"): {
        "a page": Example(200),
        "those of a graph": Example(200),
        "the oldest": Example(200),
        "none at all": Example(422, {"limit": 0}),
    },
    ("POST", "/langgraph/threads/prune"): {
        "none": Example(200),
        "all but the newest state": Example(422, {"thread_ids": [], "strategy": "keep_latest"}),
    },
    ("POST", "/langgraph/threads/{thread_id}/copy"): {
        "a thread": Example(200, path=OF_THREAD),
        "a thread that there is not": Example(404, path=NEW),
    },
    ("POST", "/langgraph/threads/count"): {
        "all": Example(200),
        "those that wait": Example(200),
        "no object": Example(422, []),
    },
    ("GET", "/langgraph/threads/{thread_id}"): {
        "a thread": Example(200, path=OF_THREAD),
        "a thread that there is not": Example(404, path=NEW),
    },
    ("PATCH", "/langgraph/threads/{thread_id}"): {
        "a value": Example(200, path=OF_THREAD),
        "nothing": Example(200, path=OF_THREAD),
        "too much": Example(422, {"metadata": {"topic": "x" * 16_000}}, path=OF_THREAD),
        "a thread that there is not": Example(404, {"metadata": {}}, path=NEW),
    },
    ("DELETE", "/langgraph/threads/{thread_id}"): {
        "a thread": Example(204, path=OF_THREAD),
        "a thread that there is not": Example(204, path=NEW),
    },
    ("GET", "/langgraph/threads/{thread_id}/state"): {
        "of a thread": Example(200, path=OF_THREAD),
        "of one that no run has begun": Example(200, path=NEW),
    },
    ("POST", "/langgraph/threads/{thread_id}/state"): {
        "a message": Example(200, path=OF_THREAD),
        "nothing": Example(200, path=OF_THREAD),
        "a result": Example(
            422, {"values": {"messages": [{"type": "tool", "content": ""}]}}, path=OF_THREAD
        ),
        "a thread that there is not": Example(404, {"values": {}}, path=NEW),
    },
    ("GET", "/langgraph/threads/{thread_id}/state/{checkpoint_id}"): {
        "ahead of the first message": Example(
            200, path={"thread_id": "{thread}", "checkpoint_id": "start"}
        ),
        "one that there is not": Example(
            409, path={"thread_id": "{thread}", "checkpoint_id": "after-x"}
        ),
    },
    ("POST", "/langgraph/threads/{thread_id}/state/checkpoint"): {
        "the newest": Example(200, path=OF_THREAD),
        "of a checkpoint": Example(200, path=OF_THREAD),
        "one that there is not": Example(
            409, {"checkpoint": {"checkpoint_id": "after-x"}}, path=OF_THREAD
        ),
    },
    ("GET", "/langgraph/threads/{thread_id}/storage"): {
        "of a thread": Example(200, path=OF_THREAD),
        "of a thread that there is not": Example(404, path=NEW),
    },
    ("GET", "/langgraph/threads/{thread_id}/history"): {
        "a limit of very many digits": Example(422, path=OF_THREAD, query={"limit": "9" * 5000}),
        "of a thread": Example(200, path=OF_THREAD),
        "of one that no run has begun": Example(200, path=NEW),
    },
    ("POST", "/langgraph/threads/{thread_id}/history"): {
        "of a thread": Example(200, path=OF_THREAD),
        "of one that no run has begun": Example(200, path=NEW),
        "before the first state": Example(200, path=OF_THREAD),
        "the checkpoints": Example(200, path=OF_THREAD),
        "before none": Example(409, {"before": "after-x"}, path=OF_THREAD),
    },
    ("POST", "/langgraph/threads/{thread_id}/runs/stream"): {
        "a message": Example(200, path=NEW),
        "a message of blocks": Example(200, path=NEW),
        "the last answer anew": Example(200, path=OF_THREAD),
        "an assistant that there is not": Example(404, {"assistant_id": "none"}, path=NEW),
        "nothing to go on with": Example(409, {"assistant_id": "chat"}, path=OF_THREAD),
        "nothing that waits": Example(
            409, {"assistant_id": "chat", "command": {"resume": "yes"}}, path=OF_THREAD
        ),
        "an option that there is not": Example(
            422,
            {
                "assistant_id": "chat",
                "input": {"messages": [{"type": "human", "content": "Hello"}]},
                "interrupt_before": ["tools"],
            },
            path=NEW,
        ),
        "a thread that must exist": Example(
            404,
            {
                "assistant_id": "chat",
                "input": {"messages": [{"type": "human", "content": "Hello"}]},
                "if_not_exists": "reject",
            },
            path={"thread_id": "no-such-thread"},
        ),
        "no graph": Example(422, {"input": None}, path=NEW),
    },
    ("GET", "/langgraph/threads/{thread_id}/stream"): {
        "a mode that there is not": Example(422, path=OF_THREAD, query={"stream_mode": "all"}),
        "a thread that there is not": Example(404, path=NEW),
    },
    ("POST", "/langgraph/threads/{thread_id}/runs"): {
        "a message": Example(200, path=NEW),
        "a tool of the client whose schema is none": Example(
            422,
            {
                "assistant_id": "chat",
                "input": {
                    "messages": [{"type": "human", "content": "Hello"}],
                    "tools": [{"name": "pick_colour", "parameters": {"type": "no type"}}],
                },
            },
            path=NEW,
        ),
        "a strategy that there is not": Example(
            422,
            {
                "assistant_id": "chat",
                "input": {"messages": [{"type": "human", "content": "Hello"}]},
                "multitask_strategy": "undo",
            },
            path=NEW,
        ),
    },
    ("GET", "/langgraph/threads/{thread_id}/runs"): {
        "of a thread": Example(200, path=OF_THREAD),
        "of a status": Example(200, path=OF_THREAD, query={"status": "error"}),
        "a thread that there is not": Example(404, path=NEW),
    },
    ("POST", "/langgraph/threads/{thread_id}/runs/wait"): {
        "a message": Example(200, path=NEW),
        "an assistant that there is not": Example(404, {"assistant_id": "none"}, path=NEW),
    },
    ("GET", "/langgraph/threads/{thread_id}/runs/{run_id}/join"): {
        "a run that has ended": Example(200, path=OF_RUN),
        "a run that there is not": Example(404, path=NO_RUN),
    },
    ("GET", "/langgraph/threads/{thread_id}/runs/{run_id}"): {
        "a run that has ended": Example(200, path=OF_RUN),
        "a run that there is not": Example(404, path=NO_RUN),
    },
    ("GET", "/langgraph/threads/{thread_id}/runs/{run_id}/stream"): {
        "from the start": Example(200, path=OF_RUN, headers={"Last-Event-ID": "-1"}),
        "some of it": Example(200, path=OF_RUN, query={"stream_mode": "values,updates"}),
        "an unknown cursor": Example(200, path=OF_RUN, headers={"Last-Event-ID": "run:3"}),
        "a mode that there is not": Example(422, path=OF_RUN, query={"stream_mode": "all"}),
        "a run that there is not": Example(404, path=NO_RUN),
    },
    ("POST", "/langgraph/threads/{thread_id}/runs/{run_id}/cancel"): {
        "a run that has ended": Example(202, path=OF_RUN),
        "with its end": Example(204, path=OF_RUN, query={"wait": "1"}),
        "a rollback of one that has ended": Example(202, path=OF_RUN, query={"action": "rollback"}),
        "an action that there is not": Example(422, path=OF_RUN, query={"action": "undo"}),
        "a run that there is not": Example(404, path=NO_RUN),
    },
}


def body_of(place: tuple[str, str], name: str) -> Any:
    """Return the body of an example; None if its operation takes none."""
    own = EXAMPLES[place][name].body
    return OPERATIONS[place].examples.get(name) if own is None else own


def bodies(method: str, path: str) -> list[Any]:
    """Return the bodies of all examples of an operation."""
    return [body_of((method, path), name) for name in EXAMPLES[method, path]]
