"""A decision counts for the question that its giver has seen, and for no other of the same call."""

from pathlib import Path

import pytest
from langchain_core.messages import ToolMessage

from tests.support.backend import Backend, answers, backend, message
from tests.support.gated_tools import GatedTools, approvals, decide
from tests.support.run_chunks import send_message, tool_call_message
from tests.support.scripted_model import ScriptedModel
from turnstream.graphs.answers import client_view
from turnstream.server.turns.requests import ApprovalAnswer, Branch, InvalidRequest, TurnRequest

SLOWLY = ("c1", "pay_slowly", '{"word": "rent"}')


async def refused(inside: Backend, request: TurnRequest) -> str:
    with pytest.raises(InvalidRequest) as refusal:
        await inside.start(request)
    return refusal.value.code


@pytest.mark.parametrize(
    "decision",
    [
        approvals(("c1", True), on_busy="stop"),
        approvals(("c1", False), on_busy="stop"),
        approvals(("c1", True, None, None, "c1"), on_busy="stop"),
        TurnRequest(answers=answers(("c1", {"approved": True})).answers, on_busy="stop"),
    ],
)
async def test_a_decision_that_stops_the_approved_call_is_not_one_on_what_is_asked_then(
    tmp_path: Path, decision: TurnRequest
) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(SLOWLY))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        await inside.start(approvals(("c1", True)))
        await tools.begun("rent")
        assert await refused(inside, decision) == "already_answered"
        [waiting] = (await inside.store.approvals("local", (), 0, 10)).approvals
        assert (waiting.approval_id, waiting.may_have_run) == ("c1.2", True)
        assert tools.calls["rent"] == 1
        tools.release.set()
        run = await decide(inside, ("c1", True, None, None, "c1.2"))
        assert run.text == "Done."
    assert tools.calls["rent"] == 2, "once for each approval"


async def test_a_decision_that_stops_a_run_counts_for_another_call(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(SLOWLY, ("c2", "pay", '{"word": "food"}')))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        await inside.start(approvals(("c1", True)))
        await tools.begun("rent")
        await inside.turn(approvals(("c2", True), on_busy="stop"))
    assert dict(tools.calls) == {"rent": 1, "food": 1}


async def test_a_copy_of_the_decision_that_stops_its_own_run_is_passed_over(
    tmp_path: Path,
) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(SLOWLY))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        await inside.start(approvals(("c1", True)))
        await tools.begun("rent")
        copy = approvals(("c1", True), on_busy="stop", answers_are_copies=True)
        assert await refused(inside, copy) == "nothing_to_do"
    assert tools.calls["rent"] == 1


async def test_a_decision_on_a_call_of_another_branch_is_refused_though_the_ids_are_the_same(
    tmp_path: Path,
) -> None:
    tools = GatedTools()
    cheap, dear = (tool_call_message(("c1", "pay", f'{{"word": "{w}"}}')) for w in ("tea", "gold"))
    async with backend(
        tmp_path / "t.db", ScriptedModel.of(cheap, dear), catalogue=tools.catalogue
    ) as inside:
        await send_message(inside)
        [seen] = (await inside.store.approvals("local", (), 0, 10)).approvals
        await inside.turn(TurnRequest(branch=Branch("regenerate", None)))
        [now] = (await inside.store.approvals("local", (), 0, 10)).approvals
        assert (seen.approval_id, seen.args) == (now.approval_id, {"word": "tea"})
        assert now.args == {"word": "gold"}
        for waiting, code in ((seen, "already_answered"), (now, "")):
            answer = ApprovalAnswer("c1", True, None, None, "c1", waiting.asked_at)
            if code:
                assert await refused(inside, TurnRequest(approvals=(answer,))) == code
            else:
                await inside.turn(TurnRequest(approvals=(answer,)))
    assert dict(tools.calls) == {"gold": 1}


async def test_the_model_reads_that_a_call_which_is_declined_may_have_run_before(
    tmp_path: Path,
) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(SLOWLY))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        await inside.start(approvals(("c1", True)))
        await tools.begun("rent")
        await inside.stop()
        run = await decide(inside, ("c1", False, "Not again."))
        [settled] = run.settled
        told = settled.result["error"]["message"]
        assert "may have run" in told
        assert told.endswith("The user declined this call: Not again.")
    [answer] = [m for m in model.prompts[-1] if isinstance(m, ToolMessage)]
    assert client_view(answer) == settled.result


async def test_what_was_decided_before_a_message_is_no_decision_on_what_comes_then(
    tmp_path: Path,
) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(
        tool_call_message(("c1", "pay", '{"word": "tea"}')),
        tool_call_message(("c1", "pay", '{"word": "gold"}')),
    )
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        await inside.turn(message("Something else."))
        assert await refused(inside, approvals(("c1", True))) == "already_answered"
    assert not tools.calls
