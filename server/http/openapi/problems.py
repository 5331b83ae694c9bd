"""The problems that an operation may answer with, by where they are raised.

Each source names its modules, and exactly the codes that these raise: a test reads both.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from turnstream.server.storage.interfaces import STORAGE_FAULTS

Codes = Mapping[int, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Source:
    """What some modules answer with, by status."""

    modules: tuple[str, ...]
    codes: Codes

    def only(self, *codes: str) -> "Source":
        """Of an operation that can meet no others of these. Raises ValueError for an unknown
        code."""
        unknown = set(codes) - {code for named in self.codes.values() for code in named}
        if unknown:
            raise ValueError(f"{', '.join(unknown)}: of none of {', '.join(self.modules)}")
        left = {
            status: [code for code in named if code in codes]
            for status, named in self.codes.items()
        }
        return Source(self.modules, {status: named for status, named in left.items() if named})


CONNECTION = Source(
    ("turnstream.server.connections",),
    {
        400: ["malformed_request"],
        408: ["request_timeout"],
        503: ["too_many_connections"],
    },
)
ERRORS = ("turnstream.server.http.problems", "turnstream.server.http.problem_handlers")
UNEXPECTED = Source(ERRORS, {500: ["internal_error"]})
HOST = Source(
    ("turnstream.server.http.guard",),
    {400: ["malformed_request"], 403: ["host_not_allowed", "authentication_not_set"]},
)
UNREAD = Source(("turnstream.server.http.byte_budget",), {503: ["limit_reached"]})
"""The refusals of a large response."""
ORIGIN = Source(("turnstream.server.http.guard",), {403: ["origin_not_allowed"]})
CREDENTIALS = Source(
    ("turnstream.server.http.authenticated",),
    {401: ["unauthenticated"], 503: ["authentication_unavailable"]},
)
COOKIE = Source(("turnstream.server.http.authenticated",), {403: ["origin_required"]})
LIMITED = Source(ERRORS, {429: ["limit_exceeded"]})
ROLE = Source(ERRORS, {403: ["forbidden"]})
STORAGE = Source(("turnstream.server.storage.interfaces",), {503: [*STORAGE_FAULTS]})
BODY = Source(
    ("turnstream.server.http.bodies", "turnstream.server.http.byte_budget"),
    {
        400: ["malformed_json"],
        413: ["body_too_large"],
        415: ["not_json"],
        503: ["limit_reached"],
    },
)
THREAD = Source(ERRORS, {404: ["thread_not_found"]})
STILL_BUSY = Source(ERRORS, {503: ["thread_still_busy"]})
BUSY = Source(ERRORS, {409: ["run_in_progress"], 503: ["thread_still_busy"]})
VERSION = Source(ERRORS, {404: ["thread_not_found"], 409: ["thread_changed"]})
BRANCHES = Source(("turnstream.server.runs.versions",), {404: ["unknown_version"]})
CAPACITY = Source(ERRORS, {503: ["shutting_down", "limit_reached"]})
PROTOCOL = Source(("turnstream.server.protocols",), {422: ["invalid_protocol"]})
BODY_FIELDS = Source(
    (
        "turnstream.server.protocols",
        "turnstream.server.protocols.content",
        "turnstream.server.protocols.fields",
        "turnstream.server.protocols.graph_values",
        "turnstream.server.protocols.tool_fields",
        "turnstream.server.protocols.native.body",
        "turnstream.server.protocols.assistant_transport.body",
        "turnstream.server.protocols.ai_sdk.body",
        "turnstream.server.protocols.ag_ui.body",
    ),
    {
        422: [
            *("invalid_body", "unknown_key", "missing_action", "conflicting_actions"),
            *("empty_message", "message_too_long", "too_many_images", "images_too_large"),
            *("value_too_long", "invalid_text", "unsupported_part", "invalid_image"),
            *("invalid_thread_id", "invalid_message_id", "invalid_approval", "invalid_tool"),
            *("invalid_json_value", "invalid_protocol", "invalid_on_busy"),
            *("invalid_on_interrupt", "invalid_trigger", "unsupported_command", "invalid_resume"),
        ]
    },
)
RUNS = Source(
    (
        "turnstream.server.runs.approvals",
        "turnstream.server.runs.branches",
        "turnstream.server.runs.client_answers",
        "turnstream.server.runs.client_tools",
        "turnstream.server.runs.client_values",
        "turnstream.server.runs.interrupts",
        "turnstream.server.runs.plan",
        "turnstream.server.runs.prepare",
        "turnstream.server.runs.review_answers",
        "turnstream.server.runs.reviewed_calls",
        "turnstream.server.runs.runs",
        "turnstream.server.runs.busy_threads",
        "turnstream.server.runs.served_graphs",
        "turnstream.server.runs.served_models",
        "turnstream.server.runs.tool_choice",
    ),
    {
        403: ["forbidden", "model_not_allowed", "tool_not_allowed"],
        409: [
            *("not_pending", "already_answered", "approval_pending", "approval_expired"),
            *("unknown_tool", "unknown_message", "nothing_to_do", "nothing_to_continue"),
            *("message_exists", "interrupt_pending", "unknown_interrupt", "thread_too_large"),
            *("tool_name_taken", "thread_being_deleted", "graph_not_served", "graph_mismatch"),
        ],
        422: [
            *("invalid_approval", "invalid_arguments", "invalid_answer", "invalid_tool"),
            *("too_many_tools", "client_tools_not_supported", "value_not_allowed"),
            *("invalid_context", "invalid_resume", "conflicting_actions", "unknown_graph"),
            *("model_not_selectable", "unknown_model", "unknown_tool", "idempotency_key_reused"),
            "images_not_supported",
        ],
    },
)
IDEMPOTENCY = Source(("turnstream.server.http.chat",), {422: ["invalid_idempotency_key"]})
STREAMS = Source(("turnstream.server.http.event_streams",), {503: ["limit_reached"]})
PAGES = Source(("turnstream.server.turns.pages",), {409: ["unknown_message"]})
THREADS = Source(
    (
        "turnstream.server.http.threads",
        "turnstream.server.http.thread_listing",
        "turnstream.server.http.thread_changes",
    ),
    {
        409: ["too_many_pinned"],
        422: [
            *("invalid_limit", "invalid_title", "invalid_state", "invalid_cursor"),
            *("invalid_query", "invalid_flag", "invalid_body"),
        ],
    },
)
EXPORT = Source(("turnstream.server.http.export",), {409: ["export_in_progress"]})
DATA = Source(("turnstream.server.http.personal_data",), {422: ["not_confirmed"]})
LOGIN = Source(
    ("turnstream.server.http.login",),
    {404: ["no_login"], 413: ["body_too_large"], 422: ["invalid_credential"]},
)
APPROVALS = Source(
    ("turnstream.server.http.approvals",),
    {
        404: ["unknown_approval"],
        409: ["already_answered", "run_in_progress", "asker_forbidden"],
        422: ["invalid_cursor"],
        429: ["limit_exceeded"],
    },
)
TOOLS = Source(
    ("turnstream.server.http.tools",),
    {
        403: ["tool_not_allowed", "approval_required"],
        404: ["unknown_tool", "not_a_real_tool"],
        422: ["invalid_arguments", "tool_error"],
        500: ["tool_failed"],
        504: ["tool_timeout"],
    },
)
LANGGRAPH_ASSISTANTS = Source(
    ("turnstream.server.http.langgraph.assistants",), {404: ["assistant_not_found"]}
)
LANGGRAPH_THREADS = Source(
    ("turnstream.server.http.langgraph.threads",), {409: ["thread_exists"], 422: ["invalid_limit"]}
)
LANGGRAPH_RUNS = Source(
    ("turnstream.server.http.langgraph.runs",),
    {404: ["run_not_found"], 422: ["unsupported_option"]},
)
LANGGRAPH_CHECKPOINTS = Source(
    ("turnstream.server.protocols.langgraph_sdk.states",), {409: ["unknown_checkpoint"]}
)
LANGGRAPH_FIELDS = Source(
    (
        "turnstream.server.protocols.langgraph_sdk.body",
        "turnstream.server.protocols.langgraph_sdk.decisions",
        "turnstream.server.protocols.langgraph_sdk.input_messages",
        "turnstream.server.protocols.langgraph_sdk.modes",
        "turnstream.server.protocols.langgraph_sdk.turn_request",
    ),
    {
        409: ["unknown_interrupt", "nothing_to_do"],
        422: [
            *("invalid_body", "conflicting_actions", "unsupported_option", "unsupported_message"),
            *("unsupported_checkpoint", "invalid_stream_mode", "invalid_multitask_strategy"),
            *("invalid_resume", "invalid_approval"),
        ],
    },
)
NO_OPERATION = Source(ERRORS, {404: ["not_found"], 405: ["method_not_allowed"]})
"""Of addresses and methods that no operation has."""

START = (BUSY, CAPACITY, RUNS, LIMITED)
"""Of whatever starts a run."""


def together(sources: Iterable[Source]) -> dict[int, list[str]]:
    """The codes of several sources, by status."""
    codes: dict[int, set[str]] = {}
    for source in sources:
        for status, named in source.codes.items():
            codes.setdefault(status, set()).update(named)
    return {status: sorted(codes[status]) for status in sorted(codes)}
