"""/approvals: the calls that wait for a decision, over all threads; deciding on one."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from math import ceil
from typing import Literal, NotRequired

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.callers.rights import Forbidden, LimitExceeded
from turnstream.server.formats import DEFAULT, BodyLimits, approval_body
from turnstream.server.http.operations import (
    TEXT,
    Answer,
    Operation,
    Parameter,
    Time,
    whole_number,
)
from turnstream.server.http.problems import Problem, problem
from turnstream.server.http.state import ApiRequest, owner, principal, rights
from turnstream.server.http.thread_content import CallJson
from turnstream.server.http.thread_listing import number
from turnstream.server.runs.busy_threads import RunInProgress
from turnstream.server.runs.lives import StreamLost
from turnstream.server.runs.thread_version import UnknownThread
from turnstream.server.runs.waiting_approvals import asker_of
from turnstream.server.storage.interfaces import WaitingApproval
from turnstream.server.turns.header import LOCAL_OWNER
from turnstream.server.turns.problem_codes import CAPACITY, STORAGE, pick
from turnstream.server.turns.requests import InvalidRequest, TurnRequest

MAX_CALLS = 100
"""Largest page."""
MAX_CURSOR_DIGITS = 9
_CURSOR = f"^[0-9]{{1,{MAX_CURSOR_DIGITS}}}$"
_REFUSALS = pick(
    *("unknown_approval", "already_answered", "run_in_progress", "asker_forbidden"),
    *("limit_exceeded", "invalid_body", "unknown_key", "invalid_approval", "invalid_text"),
    *("invalid_json_value", "value_too_long", "forbidden", "not_pending", "approval_expired"),
    *("409 unknown_tool", "invalid_arguments", "thread_too_large", "graph_not_served"),
    *("thread_being_deleted", "model_not_allowed"),
)
"""The problems of a decision."""


class AskerJson(TypedDict):
    id: str
    name: str


class ApprovalJson(CallJson):
    """A call that waits; `thread_id` is there if the thread is the caller's own."""

    id: str
    asked_at: Time
    expires_at: NotRequired[Time]
    may_have_run: NotRequired[Literal[True]]
    asked_by: AskerJson
    thread_id: NotRequired[str]


class ApprovalsJson(TypedDict):
    approvals: list[ApprovalJson]
    cursor: NotRequired[str]


class DecidedJson(TypedDict):
    id: str
    approved: bool


class Approvals(HTTPEndpoint):
    @Operation(
        "listApprovals",
        Answer(
            "The caller's own, and those of others that they may decide on; without a cursor it is "
            "the last page.",
            ApprovalsJson,
        ),
        STORAGE | pick("invalid_limit", "invalid_cursor"),
        query={
            "limit": Parameter("Calls of a page.", whole_number(1, MAX_CALLS, MAX_CALLS)),
            "cursor": Parameter("The cursor of the page before.", {**TEXT, "pattern": _CURSOR}),
        },
    )
    async def get(self, request: ApiRequest) -> Response:
        """List the calls that wait for a decision, over all threads.

        A page has 2 MB of arguments at most, oldest first. The oldest call of each asker comes on a
        page before the second of any. A call that is decided on meanwhile moves those behind it up.
        """
        permitted, catalogue = rights(request), request.state["catalogue"].current
        names = [name for name in catalogue.real_by_name if permitted.may_approve(name)]
        limit = number(request.query_params.get("limit", str(MAX_CALLS)), MAX_CALLS)
        skip, now = _cursor(request.query_params.get("cursor", "0")), time.time()
        page = await request.state["store"].approvals(owner(request), names, now, limit, skip)
        reach = request.state["runs"].reach
        filter = await reach.search(principal(request))
        reached = [one for one in page.approvals if await reach.matches(one.key, filter)]
        shown: ApprovalsJson = {"approvals": [_shown(one, owner(request)) for one in reached]}
        if page.has_more:
            shown["cursor"] = str(skip + len(page.approvals))
        return JSONResponse(shown)


class Approval(HTTPEndpoint):
    @Operation(
        "decide",
        Answer("The run that goes on from the decision has begun.", DecidedJson),
        CAPACITY | STORAGE | _REFUSALS,
        body="DecisionBody",
    )
    async def post(self, request: ApiRequest) -> Response:
        """Decide on a call that waits.

        The run has the rights of the user who asked for the call. It is not streamed: the caller
        need not see the thread.
        """
        waiting = await self._found(request)
        limits: BodyLimits = request.state["body_limits"]
        read = partial(
            approval_body, waiting.tool_call_id, approval_id=waiting.approval_id, limits=limits
        )
        answer, _ = await request.state["bodies"].read(request, read)
        if not waiting.is_open:
            raise InvalidRequest("already_answered", "The call was decided on already.", 409)
        mine = waiting.key.owner == owner(request)
        answer = replace(answer, asked_at=waiting.asked_at)
        decision = TurnRequest(thread_id=waiting.key.thread_id, approvals=(answer,))
        try:
            reach = request.state["runs"].reach
            decision = await reach.start(principal(request), decision, waiting.key)
        except UnknownThread:
            raise _unknown(waiting.id) from None
        with suppress(StreamLost), nullcontext() if mine else _run_of_another():
            await request.state["runs"].start(
                principal(request) if mine else asker_of(waiting),
                decision,
                DEFAULT.name,
                decider=principal(request),
            )
        return JSONResponse(DecidedJson(id=waiting.id, approved=answer.approved))

    async def _found(self, request: ApiRequest) -> WaitingApproval:
        """Raises Problem if there is none that the caller may decide on."""
        id = request.path_params["approval_id"]
        waiting = await request.state["store"].approval(id)
        if waiting is None or not _may_decide(request, waiting):
            raise _unknown(id)
        return waiting


def _unknown(id: str) -> Problem:
    sentence = f"No call waits for your approval under {id[:64]!r}; GET /approvals lists them."
    return Problem(404, "unknown_approval", sentence)


def _cursor(text: str) -> int:
    """Return how many calls were on the pages before. Raises Problem."""
    if text.isascii() and text.isdecimal() and len(text) <= MAX_CURSOR_DIGITS:
        return int(text)
    raise problem("invalid_cursor")


def _may_decide(request: ApiRequest, waiting: WaitingApproval) -> bool:
    """A thread made without authentication is nobody's until it is assigned."""
    whose = waiting.key.owner
    may_approve = rights(request).may_approve(waiting.tool_name)
    return whose == owner(request) or (whose != LOCAL_OWNER and may_approve)


@contextmanager
def _run_of_another() -> Iterator[None]:
    """Raise what keeps a run of somebody else from its start as a problem, without its addresses
    and their limits."""
    try:
        yield
    except RunInProgress:
        sentence = "The thread has a live run. Try again when it has ended."
        raise Problem(409, "run_in_progress", sentence) from None
    except Forbidden:
        raise problem("asker_forbidden") from None
    except LimitExceeded as error:
        seconds = ceil(error.retry_after)
        sentence = f"A limit of whoever asked is used up. Try again in {seconds} seconds."
        headers = {"Retry-After": str(seconds)}
        raise Problem(429, "limit_exceeded", sentence, headers=headers) from None


def _shown(waiting: WaitingApproval, caller: str) -> ApprovalJson:
    asker = waiting.key.owner
    shown: ApprovalJson = {
        "id": waiting.id,
        "tool_call_id": waiting.tool_call_id,
        "tool_name": waiting.tool_name,
        "args": waiting.args,
        "asked_at": _time(waiting.asked_at),
        "asked_by": {"id": asker, "name": waiting.asker.display_name or asker},
    }
    if waiting.expires_at is not None:
        shown["expires_at"] = _time(waiting.expires_at)
    if waiting.may_have_run:
        shown["may_have_run"] = True
    if asker == caller:
        shown["thread_id"] = waiting.key.thread_id
    return shown


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
