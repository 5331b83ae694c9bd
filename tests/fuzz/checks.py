"""What schemathesis checks beside its own checks, of every answer."""

import os
import random
import re
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, HookContext, Response
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from tests.fuzz.served import QUEUED_RUNS, QUEUED_THREAD

load_all_checks()

BEYOND_SCHEMAS = {
    # What other values, or other requests, decide on.
    *("conflicting_actions", "idempotency_key_reused", "value_not_allowed", "invalid_cursor"),
    # What the thread decides on.
    *("unsupported_checkpoint", "invalid_resume"),
    # Sums and sizes.
    *("message_too_long", "value_too_long", "too_many_images", "images_too_large"),
    *("too_many_tools", "invalid_title", "body_too_large"),
    # What is inside a text, and JSON Schemas.
    *("invalid_image", "invalid_tool", "invalid_text", "invalid_json_value", "invalid_thread_id"),
    "invalid_query",
    # What depends on a name.
    *("unknown_tool", "unknown_graph", "invalid_arguments", "tool_error"),
}
"""Codes of a 422 for a request that fits its schema."""
OF_HISTORIES = {
    *("invalid_body", "empty_message", "unsupported_part", "invalid_message_id"),
    *("invalid_approval", "unsupported_message"),
}
"""The same, of bodies whose messages are read only if the thread does not have them."""
_FRAME = re.compile(rb'(id: [^\n]+\n)?data: (\{"type":"[^\n]+\}|\[DONE\])\n')
_END = re.compile(rb'data: (\[DONE\]$|\{"type":"RUN_(FINISHED|ERROR)")')
_NAMED_FRAME = re.compile(rb"(id: [^\n]+\n)?event: ([a-z]+)\ndata: [^\n]+\n")


@schemathesis.hook
def before_call(ctx: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:
    """Have half of the requests about a queue meet one of those that wait."""
    del ctx, kwargs
    runs = os.environ.get(QUEUED_RUNS, "").split()
    if runs and "/queue" in case.operation.path and random.random() < 0.5:
        names = {"thread_id": QUEUED_THREAD, "run_id": random.choice(runs)}
        case.path_parameters |= {n: v for n, v in names.items() if n in case.path_parameters}


@schemathesis.check
def fitting_data_is_accepted(ctx: CheckContext, response: Response, case: Case[Any]) -> bool | None:
    """As `positive_data_acceptance`, which knows no codes. It believes that all of `st fuzz` fits,
    also a body made of nothing but values of an earlier answer, without what is required."""
    if not _fits(case):
        return None
    if response.status_code == 422 and _is_beyond(response.json()["code"], case.body):
        return None
    if response.status_code == 413 and "MAX_BODY" in response.json()["detail"]:
        return None
    return positive_data_acceptance(ctx, response, case)


@schemathesis.check
def other_data_is_refused(ctx: CheckContext, response: Response, case: Case[Any]) -> bool | None:
    """As `negative_data_rejection`, for which a body that is too large too is not refused."""
    return None if response.status_code == 413 else negative_data_rejection(ctx, response, case)


def _fits(case: Case[Any]) -> bool:
    if case.media_type is None or isinstance(case.body, bytes):
        return True
    described = case.operation.get_body_for_media_type(case.media_type)
    return described is None or described.is_valid(case.body)


def _is_beyond(code: str, body: Any) -> bool:
    return code in BEYOND_SCHEMAS or (_has_history(body) and code in OF_HISTORIES)


def _has_history(body: Any) -> bool:
    if not isinstance(body, dict):
        return False
    last = body.get("message")
    has_last = isinstance(last, dict) and "role" in last
    has_messages = has_last or isinstance(body.get("messages"), list | dict)
    return has_messages or _has_history(body.get("input"))


@schemathesis.check
def streams_are_whole(_ctx: CheckContext, response: Response, _case: Case[Any]) -> None:
    """Each frame has one line of data, and the last is the end's."""
    if response.headers.get("content-type", [""])[0].startswith("text/event-stream"):
        frames = [frame for frame in response.content.split(b"\n\n") if frame[:1] != b":"]
        *whole, rest = frames
        assert rest == b"", "a frame is not whole"
        named = [_NAMED_FRAME.fullmatch(frame + b"\n") for frame in whole]
        if any(named):
            ends = [found[2] in (b"end", b"error") for found in named if found]
            assert ends == [*[False] * (len(whole) - 1), True], "one end, at the end"
            return
        for frame in whole:
            assert _FRAME.fullmatch(frame + b"\n"), frame
        assert _END.search(whole[-1]), "the stream has no end"


@schemathesis.check
def problems_are_problems(_ctx: CheckContext, response: Response, case: Case[Any]) -> None:
    """Also of methods that no operation has: those have no schema."""
    if response.status_code >= 400 and case.method != "HEAD" and response.status_code != 503:
        assert response.headers["content-type"][0] == "application/problem+json"
        assert {"type", "title", "status", "code", "detail"} <= response.json().keys()
    assert response.headers["x-content-type-options"] == ["nosniff"]
