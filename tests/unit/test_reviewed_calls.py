"""Which calls an interrupt asks to approve, and the answer that LangChain's middleware takes."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from turnstream.server.runs.reviewed_calls import review_answer, reviewed_calls
from turnstream.server.turns.chunks import Approval, Interrupt
from turnstream.server.turns.requests import ApprovalAnswer, InvalidRequest

DECISIONS = ["approve", "edit", "reject"]


def call(id: str, name: str = "mail", **args: Any) -> Any:
    return {"id": id, "name": name, "args": args, "type": "tool_call"}


def history(*calls: Any, answered: tuple[str, ...] = ()) -> list[Any]:
    earlier = AIMessage("", tool_calls=[call("c0", to="ann")])
    answers = [ToolMessage("ok", tool_call_id=id) for id in answered]
    return [HumanMessage("Go"), earlier, AIMessage("", tool_calls=list(calls)), *answers]


def batch(*actions: dict[str, Any], allowed: Any = DECISIONS) -> dict[str, Any]:
    names = {action.get("name"): None for action in actions}
    configs = [{"action_name": name, "allowed_decisions": allowed} for name in names]
    return {"action_requests": list(actions), "review_configs": configs}


def action(name: str = "mail", **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "description": "Send?"}


def single(id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_approval", "tool_call_id": id, **action(to="ann"), **more}


ANN, BOB = call("c1", to="ann"), call("c2", to="bob")


@pytest.mark.parametrize(
    ("value", "messages", "ids"),
    [
        (single(), history(ANN, BOB), ("c1",)),
        (single(), history(ANN, BOB, answered=("c1",)), ()),
        (single("c0"), history(ANN), ()),
        (single("c9"), history(ANN), ()),
        (single(), [], ()),
        (batch(action(to="ann"), action(to="bob")), history(ANN, BOB), ("c1", "c2")),
        (batch(action(to="bob")), history(ANN, BOB), ("c2",)),
        (batch(action(to="ann")), history(ANN, call("c2", to="ann")), ("c1",)),
        (batch(*[action(to="ann")] * 2), history(ANN, call("c2", to="ann")), ("c1", "c2")),
        (batch(action(to="ann")), history(ANN, call("c2", to="ann"), answered=("c1",)), ("c2",)),
        (batch(*[action(to="ann")] * 2), history(ANN), ()),
        (batch(action(to="bob"), action(to="ann")), history(ANN, BOB), ()),
        (batch(action("post", to="ann")), history(ANN), ()),
        (batch(action(to="ann"), allowed=["respond"]), history(ANN), ()),
        (batch(action(to="ann"), allowed="approve"), history(ANN), ()),
        (batch(action(to="ann")) | {"review_configs": [None]}, history(ANN), ()),
        (batch(action(to="ann")) | {"review_configs": 7}, history(ANN), ()),
        (batch({"name": "mail"}), history(ANN), ()),
        (batch(), history(ANN), ()),
        ({"action_requests": ["mail"], "review_configs": []}, history(ANN), ()),
        ({"type": "tool_approval"}, history(ANN), ()),
        ("Send?", history(ANN), ()),
        ({"hidden": True}, history(ANN), ()),
        (None, history(ANN), ()),
    ],
)
def test_an_interrupt_is_about_the_open_calls_that_it_was_made_of(
    value: Any, messages: list[Any], ids: tuple[str, ...]
) -> None:
    assert reviewed_calls(value, None, messages) == ids


@pytest.mark.parametrize(
    ("schema", "asks"),
    [
        (None, True),
        ({"type": "object"}, True),
        ({"oneOf": [], "discriminator": {"mapping": {"approve": "#", "reject": "#"}}}, True),
        ({"oneOf": [], "discriminator": {"mapping": {"edit": "#", "reject": "#"}}}, False),
        ({"properties": {"type": {"const": "approve"}}}, True),
        ({"properties": {"type": {"const": "respond"}}}, False),
    ],
)
def test_an_interrupt_that_takes_no_approval_asks_for_none(schema: Any, asks: bool) -> None:
    assert reviewed_calls(single(), schema, history(ANN)) == (("c1",) if asks else ())


def interrupt(value: Any, *ids: str, schema: Any = None) -> Interrupt:
    return Interrupt("i1", value, "review", (), schema, ids)


def given(*items: ApprovalAnswer) -> dict[str, ApprovalAnswer]:
    return {item.tool_call_id: item for item in items}


YES, NO = ApprovalAnswer("c1", True), ApprovalAnswer("c1", False)
WHY = ApprovalAnswer("c1", False, "Not her.")
OTHER = ApprovalAnswer("c1", True, args={"to": "ada"})
EDITED = {"type": "edit", "edited_action": {"name": "mail", "args": {"to": "ada"}}}


@pytest.mark.parametrize(
    ("decision", "answer"),
    [
        (YES, {"type": "approve"}),
        (ApprovalAnswer("c1", True, "Fine.", args={"to": "ann"}), {"type": "approve"}),
        (NO, {"type": "reject"}),
        (WHY, {"type": "reject", "message": "Not her."}),
        (OTHER, EDITED),
    ],
)
def test_a_decision_is_written_as_the_middleware_takes_it(
    decision: ApprovalAnswer, answer: Any
) -> None:
    assert review_answer(interrupt(single(), "c1"), given(decision)) == answer
    batched = interrupt(batch(action(to="ann")), "c1")
    assert review_answer(batched, given(decision)) == {"decisions": [answer]}


def test_the_decisions_on_a_batch_stand_in_its_order() -> None:
    both = interrupt(batch(action(to="ann"), action(to="bob")), "c1", "c2")
    answer = review_answer(both, given(ApprovalAnswer("c2", True), NO))
    assert answer == {"decisions": [{"type": "reject"}, {"type": "approve"}]}


ONLY_APPROVE = {"properties": {"type": {"const": "approve"}}, "required": ["type"]}


@pytest.mark.parametrize(
    ("asked", "decision", "named"),
    [
        (interrupt(batch(action(to="ann"), action(to="bob")), "c1", "c2"), YES, "'c2'"),
        (interrupt(batch(action(to="ann"), allowed=["approve"]), "c1"), NO, "'approve'"),
        (interrupt(batch(action(to="ann"), allowed=["approve"]), "c1"), OTHER, "'approve'"),
        (interrupt(single(), "c1", schema=ONLY_APPROVE), NO, "approve"),
    ],
)
def test_a_decision_that_is_missing_or_not_allowed_is_refused(
    asked: Interrupt, decision: ApprovalAnswer, named: str
) -> None:
    with pytest.raises(InvalidRequest, match=named) as caught:
        review_answer(asked, given(decision))
    assert (caught.value.code, caught.value.status) == ("invalid_approval", 422)


def test_each_call_has_a_question_of_its_own() -> None:
    asked = interrupt(batch(), "c1", "c2").approvals
    assert asked == {"c1": Approval("i1.c1"), "c2": Approval("i1.c2")}
