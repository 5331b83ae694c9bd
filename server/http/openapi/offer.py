"""The operations that say what is served: tools, graphs, models, approvals, health."""

from turnstream.server.http.approvals import MAX_CALLS, MAX_CURSOR_DIGITS
from turnstream.server.http.openapi.answers import TEXT
from turnstream.server.http.openapi.operation import Answer, Example, Operation, query
from turnstream.server.http.openapi.problems import (
    APPROVALS,
    BODY,
    BODY_FIELDS,
    CAPACITY,
    LIMITED,
    RUNS,
    STORAGE,
    THREADS,
    TOOLS,
)
from turnstream.server.protocols.body_schemas import ref

OPERATIONS = {
    ("GET", "/tools"): Operation(
        "listTools",
        "The tools that the caller may use",
        {200: Answer("The catalogue.", ref("Tools"))},
        examples={"all": Example(200)},
    ),
    ("POST", "/tools/{name}"): Operation(
        "callTool",
        "Call a real tool",
        {200: Answer("What the client may see of its result.", ref("ToolOutcome"))},
        (BODY, TOOLS, LIMITED, STORAGE),
        path={"name": TEXT},
        body={"type": "object", "description": "The arguments, as `parameters` of the tool says."},
        examples={
            "a sum": Example(200, {"expression": "6 * 7"}, path={"name": "calculator"}),
            "arguments that do not fit": Example(422, {"a": 1}, path={"name": "multiply"}),
            "a sum that has no value": Example(
                422, {"expression": "1 / 0"}, path={"name": "calculator"}
            ),
            "a tool that there is not": Example(404, {}, path={"name": "calculater"}),
        },
    ),
    ("GET", "/graphs"): Operation(
        "listGraphs",
        "The graphs that are served",
        {200: Answer("The default first.", ref("Graphs"))},
        examples={"all": Example(200)},
    ),
    ("GET", "/models"): Operation(
        "listModels",
        "The models that the caller may name",
        {200: Answer("The default first; none where the graph has its own.", ref("Models"))},
        examples={"all": Example(200)},
    ),
    ("GET", "/approvals"): Operation(
        "listApprovals",
        "The calls that wait for a decision, over all threads",
        {
            200: Answer(
                "The caller's own, and those of others that they may decide on; without a cursor "
                "it is the last page.",
                ref("Approvals"),
            )
        },
        (THREADS.only("invalid_limit"), APPROVALS.only("invalid_cursor"), STORAGE),
        parameters=(
            query(
                "limit",
                {"type": "integer", "minimum": 1, "maximum": MAX_CALLS, "default": MAX_CALLS},
                "Calls of a page.",
            ),
            query(
                "cursor",
                {**TEXT, "pattern": f"^[0-9]{{1,{MAX_CURSOR_DIGITS}}}$"},
                "Of the page before.",
            ),
        ),
        examples={
            "none": Example(200),
            "a page": Example(200, query={"limit": "10", "cursor": "0"}),
            "an unknown cursor": Example(422, query={"cursor": "next"}),
        },
    ),
    ("POST", "/approvals/{approval_id}"): Operation(
        "decide",
        "Decide on a call that waits",
        {200: Answer("The run that goes on from the decision has begun.", ref("Decided"))},
        (
            BODY,
            APPROVALS.only(
                *("unknown_approval", "already_answered", "run_in_progress"),
                *("asker_forbidden", "limit_exceeded"),
            ),
            BODY_FIELDS.only(
                "invalid_body",
                "unknown_key",
                "invalid_approval",
                "invalid_text",
                "invalid_json_value",
                "value_too_long",
            ),
            RUNS.only(
                "forbidden",
                "not_pending",
                "already_answered",
                "approval_expired",
                "unknown_tool",
                "invalid_approval",
                "invalid_arguments",
                "thread_too_large",
                "graph_not_served",
                "thread_being_deleted",
                "model_not_allowed",
            ),
            CAPACITY,
            LIMITED,
            STORAGE,
        ),
        path={"approval_id": TEXT},
        body=ref("DecisionBody"),
        examples={
            "a call that there is not": Example(404, {"approved": True}, path={"approval_id": "a"})
        },
    ),
    ("GET", "/health"): Operation(
        "health",
        "Whether the server works",
        {
            200: Answer("It does.", ref("Health")),
            503: Answer("Its database file was deleted or replaced.", ref("Health")),
        },
        examples={"a server that works": Example(200)},
    ),
    ("GET", "/health/live"): Operation(
        "live",
        "Whether the process answers",
        {200: Answer("It does.", ref("Live"))},
        examples={"a server that works": Example(200)},
    ),
    ("GET", "/health/ready"): Operation(
        "ready",
        "Whether runs can begin",
        {200: Answer("They can.", ref("Ready"))},
        (CAPACITY.only("shutting_down"), STORAGE),
        examples={"a server that works": Example(200)},
    ),
    ("GET", "/openapi.json"): Operation(
        "describe",
        "This document",
        {200: Answer("As it is for the caller.", {"type": "object"})},
        examples={"all of it": Example(200)},
    ),
}
