"""Approvals on the wire: how a call asks, how a decision is read, what a client holds of it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.formats.test_protocol_streams import said, ui
from tests.support.example_conversation import U1, call
from tests.support.protocol_readers import decoded_state
from turnstream.server.formats import WIRE_FORMATS, BodyLimits, parse
from turnstream.server.formats.assistant_transport.state import snapshot as state_snapshot
from turnstream.server.turns.accumulate import accumulate
from turnstream.server.turns.chunks import (
    Approval,
    ArgsFinish,
    Chunk,
    Interrupt,
    MessagesRemoved,
    PartFinish,
    PartStart,
    Result,
    StepFinish,
    StepStart,
    StepWithdrawn,
    ToolApproval,
    ToolCallPart,
    ToolSettled,
    Usage,
)
from turnstream.server.turns.messages import AssistantTurn, Step, ToolCall, Turn
from turnstream.server.turns.requests import ApprovalAnswer, InvalidRequest, ToolAnswer, TurnRequest

LIMITS = BodyLimits(max_message_chars=100)
PARTS = WIRE_FORMATS["assistant-transport"]
UI = WIRE_FORMATS["ui-message-stream"]
PAY = ToolCallPart("c1", "pay", "approval")
ASKED: list[Chunk] = [
    StepStart("m1", "s1"),
    *call(0, PAY, ["{}"], {}, step="s1"),
    StepFinish("s1", "tool-calls", Usage(0, 0)),
]
DECLINED = {"error": {"code": "declined", "message": "The user declined this call."}}


OPEN = Approval("c1")


def held(approval: Approval | None = OPEN, **end: Any) -> AssistantTurn:
    """A message whose call needs an approval."""
    gated = ToolCall("c1", "pay", "{}", {}, "approval", approval=approval, **end)
    return AssistantTurn("m1", (Step("s1", (gated,), "tool-calls"),))


def decided(approved: bool, **fields: Any) -> ToolApproval:
    return ToolApproval("c1", Approval("c1", approved=approved, **fields))


AGAIN = ToolApproval("c1", Approval("c1.2", may_have_run=True))


# requests


def part(state: str = "approval-responded", id: str = "c1", **approval: Any) -> dict[str, Any]:
    return {
        "type": "tool-pay",
        "toolCallId": id,
        "state": state,
        "input": {},
        "providerExecuted": True,
        "approval": {"id": f"{id}.2", "approved": True, **approval},
    }


def chat(*parts: Any, **fields: Any) -> dict[str, Any]:
    message = {"id": "m1", "role": "assistant", "parts": list(parts)}
    return {"id": "t1", "messages": [message], "trigger": "submit-message", **fields}


def transport(*commands: Any) -> dict[str, Any]:
    return {"commands": list(commands), "state": {"thread_id": "t1", "messages": []}}


def command(**fields: Any) -> dict[str, Any]:
    return {"type": "tool-approval", "toolCallId": "c1", "approved": True, **fields}


def add_message(**fields: Any) -> dict[str, Any]:
    message = {"role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    return {"type": "add-message", "message": message, "parentId": None, **fields}


def request_of(body: dict[str, Any]) -> TurnRequest:
    request = parse(body, LIMITS).request
    assert isinstance(request, TurnRequest)
    return request


YES = ApprovalAnswer("c1", True, approval_id="c1.2")


@pytest.mark.parametrize(
    ("body", "approvals"),
    [
        (chat(part()), (YES,)),
        (chat({**part(), "type": "dynamic-tool"}), (YES,)),
        (chat(part(approved=False, reason="No.")), (replace(YES, approved=False, reason="No."),)),
        (chat(part(), part(id="c2")), (YES, ApprovalAnswer("c2", True, approval_id="c2.2"))),
        (chat(part(), part()), (YES,)),
        (chat(part("approval-requested"), part("output-available"), part("output-denied")), ()),
        (chat(part(args={"to": "me"})), (YES,)),
        (transport(command()), (ApprovalAnswer("c1", True),)),
        (
            transport(command(approved=False, reason="No.", approvalId="c1.2")),
            (ApprovalAnswer("c1", False, "No.", approval_id="c1.2"),),
        ),
        (
            transport(command(args={"to": "me"}), command(toolCallId="c2")),
            (ApprovalAnswer("c1", True, args={"to": "me"}), ApprovalAnswer("c2", True)),
        ),
        (transport(command(), add_message(sourceId="u1")), ()),
    ],
)
def test_a_body_says_what_was_decided(
    body: dict[str, Any], approvals: tuple[ApprovalAnswer, ...]
) -> None:
    assert request_of(body).approvals == approvals


def test_decisions_go_beside_the_outputs_of_a_message_and_are_copies_too() -> None:
    output = {"type": "tool-ask", "toolCallId": "c3", "state": "output-available", "output": 1}
    request = request_of(chat(part(), output))
    assert (request.approvals, request.answers) == ((YES,), (ToolAnswer("c3", 1),))
    assert request.answers_are_copies


def test_what_is_to_be_done_beside_a_resume_is_no_decision() -> None:
    assert request_of({**chat(part()), "resume": {"a": 1}}).approvals == ()
    both = {**transport(command()), "resume": {"a": 1}}
    with pytest.raises(InvalidRequest) as caught:
        parse(both, LIMITS)
    assert caught.value.code == "conflicting_actions"


@pytest.mark.parametrize(
    ("body", "code", "named"),
    [
        (chat({**part(), "approval": None}), "invalid_body", "parts[0].approval is None"),
        (chat(part(approved="yes")), "invalid_approval", "parts[0].approval.approved is 'yes'"),
        (chat(part(reason=7)), "invalid_body", "parts[0].approval.reason is 7"),
        (chat(part(reason="x" * 99)), "value_too_long", "parts[0].approval.reason"),
        (chat({**part(), "toolCallId": 7}), "invalid_body", "7"),
        (chat({**part(), "approval": {"id": 7, "approved": True}}), "invalid_body", "7"),
        (transport(command(approved=None)), "invalid_approval", "commands[0].approved is None"),
        (transport(command(toolCallId=None)), "invalid_body", "commands[0]"),
        (transport(command(args=[1])), "invalid_body", "commands[0].args is [1]"),
        (transport(command(approvalId=1)), "invalid_body", "commands[0]"),
        (transport({"type": "approve"}), "unsupported_command", "tool-approval"),
    ],
)
def test_a_bad_decision_gets_a_code_and_a_sentence_that_names_the_fault(
    body: dict[str, Any], code: str, named: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(body, LIMITS)
    assert (caught.value.code, caught.value.status) == (code, 422)
    assert named in caught.value.message


# the AI SDK's stream and its messages


def request(id: str = "c1", call_id: str = "c1") -> dict[str, Any]:
    return {"type": "tool-approval-request", "approvalId": id, "toolCallId": call_id}


def about(id: str = "c1", **approval: Any) -> dict[str, Any]:
    data = {"tool_call_id": "c1", "approval": {"id": id, **approval}}
    return {"type": "data-tool-approval", "data": data, "transient": True}


def test_a_call_asks_when_it_is_left_without_a_result() -> None:
    *_, available, asks, finish = ui(ASKED)
    assert (available["type"], finish["type"]) == ("tool-input-available", "finish-step")
    assert available["providerExecuted"] is True
    assert asks == request()


def test_a_call_that_the_run_ends_itself_asks_nothing() -> None:
    result = Result("s1", (0,), DECLINED, "cancelled", "r1")
    stopped = [*ASKED[:-2], result, *ASKED[-2:]]
    assert request() not in ui(stopped)


def test_a_decision_is_data_and_a_question_asked_again_a_request_too() -> None:
    assert ui([decided(True)], U1, held()) == [about(approved=True)]
    asked_again = [request("c1.2"), about("c1.2", mayHaveRun=True)]
    assert ui([AGAIN], U1, held()) == asked_again


def test_of_another_message_only_the_data_is_said() -> None:
    """The client fails at a request for a call that its message does not have."""
    assert ui([AGAIN], U1, held(), message_id="m2") == [about("c1.2", mayHaveRun=True)]


def test_a_declined_call_is_denied_and_nothing_else() -> None:
    declined = ToolSettled("c1", "declined", DECLINED, "r1")
    assert ui([declined], U1, held()) == [{"type": "tool-output-denied", "toolCallId": "c1"}]


def test_the_calls_that_a_graph_asks_about_ask_for_an_approval() -> None:
    asks = Interrupt("i1", "?", "review", tool_call_ids=("c1", "c2", "c3"))
    told: list[Chunk] = [
        StepStart("m1", "s2"),
        *call(0, ToolCallPart("c2", "pay"), ["{}"], {}, step="s2"),
        StepFinish("s2", "tool-calls", Usage(0, 0)),
        asks,
    ]
    earlier = held(approval=None)
    *_, first, second, data = ui(told, U1, earlier)
    assert [first, second] == [request("i1.c1", "c1"), request("i1.c2", "c2")]
    approvals = [{"tool_call_id": id, "approval": {"id": f"i1.{id}"}} for id in ("c1", "c2", "c3")]
    assert data["data"]["approvals"] == approvals
    built = accumulate(told, "m1", earlier.steps)
    (snapshot,) = UI.snapshot([built])
    states = [p["state"] for p in snapshot["parts"] if p["type"] == "tool-pay"]
    assert states == ["approval-requested"] * 2


RAN: dict[str, Any] = {"end": "result", "result": 1, "result_id": "r1"}
CANCELLED: dict[str, Any] = {"end": "cancelled", "result": DECLINED, "result_id": "r1"}
REFUSED: dict[str, Any] = {"end": "declined", "result": DECLINED, "result_id": "r1"}
GRANTED = Approval("c1", approved=True, by="Ann", reason="Why.", args={"a": 1})
SHOWN = {"id": "c1", "approved": True, "reason": "Why."}


@pytest.mark.parametrize(
    ("turn", "shown"),
    [
        (held(), {"state": "approval-requested", "approval": {"id": "c1"}}),
        (held(AGAIN.approval), {"state": "approval-requested", "approval": {"id": "c1.2"}}),
        (held(GRANTED), {"state": "approval-responded", "approval": SHOWN}),
        (held(GRANTED, **RAN), {"state": "output-available", "output": 1, "approval": SHOWN}),
        (
            held(Approval("c1", approved=False), **REFUSED),
            {"state": "output-denied", "approval": {"id": "c1", "approved": False}},
        ),
        (
            held(**CANCELLED),
            {"state": "output-error", "errorText": "The user declined this call."},
        ),
    ],
)
def test_a_loaded_message_has_the_call_as_the_client_that_decided_holds_it(
    turn: AssistantTurn, shown: dict[str, Any]
) -> None:
    (message,) = UI.snapshot([turn])
    about_call = {"type": "tool-pay", "toolCallId": "c1", "providerExecuted": True}
    assert message["parts"][1] == {**about_call, "input": {}, **shown}


@pytest.mark.parametrize(
    ("turn", "last"),
    [
        (held(), [request()]),
        (held(AGAIN.approval), [request("c1.2")]),
        (held(GRANTED), []),
        (
            held(GRANTED, **RAN),
            [
                {
                    "type": "tool-output-available",
                    "toolCallId": "c1",
                    "output": 1,
                    "providerExecuted": True,
                }
            ],
        ),
        (
            held(Approval("c1", approved=False), **REFUSED),
            [request(), {"type": "tool-output-denied", "toolCallId": "c1"}],
        ),
    ],
)
def test_a_replay_asks_only_where_nobody_has_decided(
    turn: AssistantTurn, last: list[dict[str, Any]]
) -> None:
    start, step, available, *rest = said(UI, [], U1, turn, replay=True)
    assert [p["type"] for p in (start, step, available)] == [
        "start",
        "start-step",
        "tool-input-available",
    ]
    assert rest == [*last, {"type": "finish-step"}]


# assistant-transport: parts, and the state


def test_a_part_reader_learns_how_the_approval_of_an_earlier_call_stands() -> None:
    payloads = said(PARTS, [decided(False, reason="No.", by="Ann"), AGAIN])
    assert [payload["data"] for payload in payloads] == [
        [{"name": "tool-approval", "data": {"tool_call_id": "c1", "approval": approval}}]
        for approval in (
            {"id": "c1", "approved": False, "by": "Ann", "reason": "No."},
            {"id": "c1.2", "mayHaveRun": True},
        )
    ]


def operations(chunks: list[Chunk], *turns: Turn) -> list[dict[str, Any]]:
    """Those on the approvals."""
    updates = [p for p in said(PARTS, chunks, *turns, view={}) if p["type"] == "update-state"]
    told = [operation for update in updates for operation in update["operations"]]
    return [operation for operation in told if operation["path"][:1] == ["approvals"]]


def set_to(value: Any, *path: str) -> dict[str, Any]:
    return {"type": "set", "path": ["approvals", *path], "value": value}


def test_the_state_has_the_approvals_by_call() -> None:
    assert operations(ASKED) == [set_to({"id": "c1"}, "c1")]
    told = [decided(True), AGAIN]
    assert operations([*told], U1, held()) == [
        set_to({"id": "c1", "approved": True}, "c1"),
        set_to({"id": "c1.2", "mayHaveRun": True}, "c1"),
    ]
    assert operations([AGAIN], U1, held(AGAIN.approval)) == []
    assert "approvals" not in state_snapshot((U1,), "t1")
    assert state_snapshot((U1, held()), "t1")["approvals"] == {"c1": {"id": "c1"}}


def test_the_state_has_the_calls_that_a_graph_asks_about() -> None:
    asks = Interrupt("i1", "?", "review", tool_call_ids=("c1",))
    assert operations([asks], U1, held(approval=None)) == [set_to({"id": "i1.c1"}, "c1")]


@pytest.mark.parametrize("id", ["__proto__", "constructor", "prototype"])
def test_a_call_id_that_no_path_may_have_does_not_break_the_client(id: str) -> None:
    told: list[Chunk] = [
        StepStart("m1", "s1"),
        PartStart("s1", (0,), ToolCallPart(id, "pay", "approval")),
        ArgsFinish("s1", (0,), {}, "approval"),
        PartFinish("s1", (0,)),
    ]
    paths = [operation["path"] for operation in operations(told)]
    assert paths == [["approvals"]]


def test_a_call_that_is_taken_back_leaves_the_approvals() -> None:
    withdrawn: list[Chunk] = [*ASKED, StepWithdrawn("s1", (0,))]
    assert operations(withdrawn)[-1] == set_to({})
    removed = MessagesRemoved(("s1",))
    assert operations([removed], U1, held()) == [set_to({})]
    assert operations([MessagesRemoved(("u1",))], U1, held()) == []


@pytest.mark.parametrize(
    "approvals", [{}, {"c1": {"id": "old"}}, {"c9": {"id": "c9"}}, ["not", "ours"]]
)
def test_a_client_that_comes_back_gets_the_approvals_that_it_lacks(approvals: Any) -> None:
    known = state_snapshot((U1, held()), "thread-1")
    posted = {**known, "approvals": approvals, "draft": "kept"}
    (update,) = said(PARTS, [], U1, held(), view=posted)
    assert decoded_state(posted, [json.dumps(update)]) == {**known, "draft": "kept"}
    assert said(PARTS, [], U1, held(), view={**known, "draft": "kept"}) == []


def test_a_client_without_approvals_gets_none_where_there_are_none() -> None:
    known = state_snapshot((U1,), "thread-1")
    assert said(PARTS, [], U1, view=known) == []
    assert said(PARTS, [], U1, view={**known, "approvals": {}}) == []
