"""Calls that LangChain's middleware asks about wait for an approval like any other."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.approval import REJECTION, approved, mail_two
from tests.graphs.zoo.served import Home, served
from tests.support.backend import message
from tests.support.served_run import VARIANTS, ServedRun, serve_run
from turnstream.server.turns.chunks import ToolSettled
from turnstream.server.turns.messages import AssistantTurn, ToolCall
from turnstream.server.turns.requests import ApprovalAnswer, InvalidRequest, ToolAnswer, TurnRequest

MODES = ("batched", "per_call")


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def home(tmp_path: Path, mode: str) -> AsyncIterator[Home]:
    """The graph of the zoo that asks about two calls."""
    async with served(tmp_path / "t.db", animal(mode)) as home:
        yield home
        assert not home.model.refused


def animal(mode: str) -> Animal:
    return Animal("approval", lambda model: approved(model, mode), mail_two, "Write.", ())


async def calls(home: Home) -> Mapping[str, ToolCall]:
    """By the recipient, as a client finds them in the thread."""
    last = (await home.inside.turns())[-1]
    assert isinstance(last, AssistantTurn)
    parts = [part for part in last.parts if isinstance(part, ToolCall)]
    return {str(part.args["to"]): part for part in parts if part.args}


async def asked(home: Home) -> Mapping[str, ToolCall]:
    await home.inside.turn(home.request)
    return await calls(home)


async def decide(home: Home, *decisions: ApprovalAnswer, **fields: Any) -> ServedRun:
    return await serve_run(home.inside, TurnRequest(approvals=decisions, **fields))


async def refused(home: Home, request: TurnRequest) -> tuple[int, str]:
    with pytest.raises(InvalidRequest) as caught:
        await home.inside.start(request)
    return caught.value.status, caught.value.code


def ends(run: ServedRun) -> list[str]:
    return [chunk.end for chunk in run.chunks if isinstance(chunk, ToolSettled)]


async def results(home: Home) -> list[str]:
    return [m.text for m in await home.inside.messages() if m.type == "tool"]


async def test_each_call_has_a_question_of_its_own_in_the_stream_and_in_the_thread(
    home: Home, mode: str
) -> None:
    run = await serve_run(home.inside, home.request)
    waiting = await calls(home)
    questions = {id: q for i in run.named("Interrupt") for id, q in i.approvals.items()}
    assert {call.tool_call_id: call.approval for call in waiting.values()} == questions
    assert len({question.id for question in questions.values()}) == 2
    assert all(call.awaits_approval for call in waiting.values())
    assert len(run.named("Interrupt")) == (1 if mode == "batched" else 2)
    entry = await home.inside.entry()
    assert entry is not None
    assert entry.run_state == "waiting"


async def test_decisions_on_both_calls_go_on_with_the_graph(home: Home) -> None:
    waiting = await asked(home)
    ann, bob = waiting["ann"], waiting["bob"]
    run = await decide(
        home,
        ApprovalAnswer(bob.tool_call_id, False, "Not her."),
        ApprovalAnswer(ann.tool_call_id, True, approval_id=id_of(ann)),
    )
    assert sorted(ends(run)) == ["error", "result"]
    assert sorted(await results(home)) == ["Sent to ann.", REJECTION]
    assert run.reason == "stop"
    assert all(call.approval is None for call in (await calls(home)).values())
    run.check_chunks()
    for variant in VARIANTS:
        await run.check_format(variant)


def id_of(call: ToolCall) -> str:
    assert call.approval is not None
    return call.approval.id


async def test_other_arguments_take_the_place_of_the_models(home: Home) -> None:
    waiting = await asked(home)
    ann, bob = waiting["ann"].tool_call_id, waiting["bob"].tool_call_id
    await decide(
        home,
        ApprovalAnswer(ann, True, args={"to": "ada"}),
        ApprovalAnswer(bob, True, args={"to": "bob"}),
    )
    edited, plain = await results(home)
    assert edited.startswith("Note: a human reviewer replaced this tool call")
    assert edited.endswith("Sent to ada.")
    assert plain == "Sent to bob."


async def test_a_result_of_such_a_call_is_a_decision_too(home: Home) -> None:
    waiting = await asked(home)
    answers = [
        ToolAnswer(waiting["ann"].tool_call_id, {"approved": True}),
        ToolAnswer(waiting["bob"].tool_call_id, {"approved": False, "reason": "Not her."}),
    ]
    await serve_run(home.inside, TurnRequest(answers=tuple(answers)))
    assert sorted(await results(home)) == ["Sent to ann.", REJECTION]


@pytest.mark.parametrize("mode", ["batched"], indirect=True)
async def test_an_interrupt_about_two_calls_takes_no_decision_on_one(home: Home) -> None:
    waiting = await asked(home)
    one = TurnRequest(approvals=(ApprovalAnswer(waiting["ann"].tool_call_id, True),))
    assert await refused(home, one) == (422, "invalid_approval")
    assert all(call.awaits_approval for call in (await calls(home)).values())


@pytest.mark.parametrize("mode", ["per_call"], indirect=True)
async def test_of_two_interrupts_one_is_answered_and_the_other_stays_open(home: Home) -> None:
    waiting = await asked(home)
    run = await decide(home, ApprovalAnswer(waiting["ann"].tool_call_id, True))
    assert ends(run) == ["result"]
    left = await calls(home)
    assert left["ann"].end == "result"
    assert left["bob"] == waiting["bob"]
    run.check_chunks()
    await decide(home, ApprovalAnswer(waiting["bob"].tool_call_id, True))
    assert await results(home) == ["Sent to ann.", "Sent to bob."]


@pytest.mark.parametrize("mode", ["per_call"], indirect=True)
async def test_arguments_that_the_tool_does_not_take_resume_nothing(home: Home) -> None:
    waiting = await asked(home)
    wrong = ApprovalAnswer(waiting["ann"].tool_call_id, True, args={"to": 7})
    good = ApprovalAnswer(waiting["bob"].tool_call_id, True)
    request = TurnRequest(approvals=(good, wrong))
    assert await refused(home, request) == (422, "invalid_approval")
    assert await results(home) == []


async def test_what_is_no_open_question_is_refused_and_of_a_copy_passed_over(home: Home) -> None:
    waiting = await asked(home)
    ann, bob = (waiting[name].tool_call_id for name in ("ann", "bob"))
    unknown = ApprovalAnswer("call_x", True)
    stale = ApprovalAnswer(ann, True, approval_id="another")
    good = (ApprovalAnswer(ann, True), ApprovalAnswer(bob, True))
    for item, code in ((unknown, "not_pending"), (stale, "already_answered")):
        request = TurnRequest(approvals=(*good, item))
        assert await refused(home, request) == (409, code)
    copies = TurnRequest(approvals=(unknown, stale), answers_are_copies=True)
    assert await refused(home, copies) == (409, "interrupt_pending")
    await decide(home, unknown, *good, answers_are_copies=True)
    assert await results(home) == ["Sent to ann.", "Sent to bob."]


async def test_a_decision_and_a_message_are_not_taken_together(home: Home) -> None:
    waiting = await asked(home)
    decision = ApprovalAnswer(waiting["ann"].tool_call_id, True)
    both = message("Never mind", approvals=(decision,))
    assert await refused(home, both) == (422, "conflicting_actions")


async def test_a_message_instead_cancels_the_calls_and_their_questions(home: Home) -> None:
    await asked(home)
    await home.inside.turn(message("Never mind"))
    first = (await home.inside.turns())[1]
    assert isinstance(first, AssistantTurn)
    parts = [part for part in first.parts if isinstance(part, ToolCall)]
    assert [(part.end, part.approval) for part in parts] == [("cancelled", None)] * 2


async def test_while_the_decision_runs_the_call_asks_no_more(home: Home) -> None:
    waiting = await asked(home)
    decisions = [ApprovalAnswer(call.tool_call_id, True) for call in waiting.values()]
    run = await decide(home, *decisions)
    before = run.before[-1]
    assert isinstance(before, AssistantTurn)
    assert [part.approval for part in before.parts if isinstance(part, ToolCall)] == [None, None]
