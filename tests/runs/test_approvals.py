"""A call that a person must approve waits for the decision, and runs at most once for it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from tests.support.backend import (
    Backend,
    after_crash,
    answers,
    backend,
    chunks_of,
    chunks_until,
    key_of,
    message,
)
from tests.support.gated_tools import GatedTools, approvals, decide
from tests.support.run_chunks import (
    ALERT,
    COMPONENT,
    QUESTION,
    SELECTION,
    RunChunks,
    send_message,
    tool_call_message,
)
from tests.support.scripted_model import ScriptedModel, finish, text
from tests.support.waiting import HeldMethod, eventually
from turnstream.graphs.answers import client_view
from turnstream.graphs.approvals import asked_in
from turnstream.graphs.rights import NEEDS_APPROVAL
from turnstream.server.callers.principal import Principal
from turnstream.server.extensions.users.policy import Policy
from turnstream.server.extensions.users.policy_file import PolicyFile
from turnstream.server.runs.waiting_approvals import asker_of
from turnstream.server.storage.checkpointer import SqliteCheckpointer
from turnstream.server.turns.chunks import Approval, Chunk, MessageFinish, ToolApproval, ToolSettled
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.messages import AssistantTurn, ToolCall
from turnstream.server.turns.requests import Branch, InvalidRequest, TurnRequest

PAY = ("c1", "pay", '{"word": "rent"}')
MORE = ("c2", "pay", '{"word": "food"}')
PAY_AGAIN = ("c2", "pay", '{"word": "rent"}')
SLOWLY = ("c1", "pay_slowly", '{"word": "rent"}')
ANN = Principal("ann", ("user",), "Ann", "key")


def told(run: RunChunks) -> list[ToolApproval]:
    return [chunk for chunk in run.chunks if isinstance(chunk, ToolApproval)]


async def shown(inside: Backend) -> dict[str, ToolCall]:
    """The calls of the thread as clients load them."""
    turns = [turn for turn in await inside.turns() if isinstance(turn, AssistantTurn)]
    parts = (part for turn in turns for part in turn.parts)
    return {part.tool_call_id: part for part in parts if isinstance(part, ToolCall)}


async def state_of(inside: Backend) -> str:
    entry = await inside.entry()
    assert entry
    return entry.run_state


def answer_in(prompt: list[BaseMessage], call_id: str) -> ToolMessage:
    """What the model has read of a call."""
    [found] = [m for m in prompt if isinstance(m, ToolMessage) and m.tool_call_id == call_id]
    return found


async def test_a_gated_call_waits_and_the_free_ones_beside_it_run(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY, ("c2", "echo", '{"word": "hi"}')))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        run = await send_message(inside)
        assert run.dispositions == {"c1": "approval", "c2": "server"}
        assert [part.disposition for part in run.calls] == ["approval", "server"]
        assert run.reason == "tool-calls"
        assert [*run.results] == ["c2"]
        assert dict(tools.calls) == {"hi": 1}
        assert await state_of(inside) == "waiting"
        calls = await shown(inside)
        assert calls["c1"].approval == Approval("c1")
        assert calls["c2"].approval is None
    assert len(model.prompts) == 1


async def test_an_approved_call_runs_and_the_model_goes_on_in_the_same_message(
    tmp_path: Path,
) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY), [text("Paid."), finish()])
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        run = await decide(inside, ("c1", True, "Go on."))
        approved = Approval("c1", approved=True, reason="Go on.")
        assert told(run) == [ToolApproval("c1", approved)]
        [settled] = run.settled
        assert (settled.tool_call_id, settled.end, settled.result) == (
            "c1",
            "result",
            {"paid": "rent"},
        )
        [finished] = [chunk for chunk in run.chunks if isinstance(chunk, MessageFinish)]
        assert finished.tool_ms == {"c1": settled.duration_ms}
        assert run.text == "Paid."
        assert await state_of(inside) == "finished"
        calls = await shown(inside)
        assert (calls["c1"].approval, calls["c1"].end) == (approved, "result")
        assert len(await inside.turns()) == 2
    assert dict(tools.calls) == {"rent": 1}
    assert "for the model alone" in answer_in(model.prompts[1], "c1").text


async def test_a_declined_call_never_runs_and_the_model_reads_the_reason(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        run = await decide(inside, ("c1", False, "Too dear."))
        assert told(run) == [ToolApproval("c1", Approval("c1", approved=False, reason="Too dear."))]
        [settled] = run.settled
        assert settled.end == "declined"
        assert run.text == "Done."
        assert (await shown(inside))["c1"].end == "declined"
    assert not tools.calls
    said = client_view(answer_in(model.prompts[1], "c1"))["error"]
    assert (said["code"], "Too dear." in said["message"]) == ("declined", True)


async def test_a_person_may_change_the_arguments_and_the_model_is_told(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        await decide(inside, ("c1", True, None, {"word": "less rent"}))
        call = (await shown(inside))["c1"]
        assert call.args == {"word": "rent"}, "the model's own call stays"
        assert call.approval == Approval("c1", approved=True, args={"word": "less rent"})
        assert call.result == {"paid": "less rent"}
    assert dict(tools.calls) == {"less rent": 1}
    [note, _] = answer_in(model.prompts[1], "c1").text.splitlines()
    assert note == 'A person changed the arguments of this call to {"word":"less rent"}.'


async def test_the_same_arguments_again_are_no_change(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        await decide(inside, ("c1", True, None, {"word": "rent"}))
        assert (await shown(inside))["c1"].approval == Approval("c1", approved=True)
    assert not answer_in(model.prompts[1], "c1").text.startswith("A person")


async def test_the_model_goes_on_when_the_last_of_several_calls_has_its_answer(
    tmp_path: Path,
) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY, MORE, ("c3", SELECTION, QUESTION)))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        first = await decide(inside, ("c2", True))
        assert [settled.tool_call_id for settled in first.settled] == ["c2"]
        assert (first.reason, first.steps, await state_of(inside)) == ("tool-calls", 0, "waiting")
        declined = await decide(inside, ("c1", False))
        assert (declined.reason, declined.steps) == ("tool-calls", 0)
        assert len(model.prompts) == 1
        last = RunChunks(await inside.turn(answers(("c3", {"cancelled": True}))))
        assert last.text == "Done."
    assert dict(tools.calls) == {"food": 1}


async def test_decisions_and_an_answer_may_come_together(tmp_path: Path) -> None:
    tools = GatedTools()
    calls = tool_call_message(PAY, MORE, ("c3", SELECTION, QUESTION), ("c4", COMPONENT, ALERT))
    model = ScriptedModel.of(calls)
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        both = approvals(
            *(("c1", True), ("c2", False)), answers=answers(("c3", {"value": "red"})).answers
        )
        run = RunChunks(await inside.turn(both))
        assert run.text == "Done."
    assert dict(tools.calls) == {"rent": 1}


async def test_a_result_of_a_gated_call_is_read_as_the_decision(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY, MORE))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        for wrong in ({"approved": "yes"}, {"paid": True}, "yes", {"approved": True, "x": 1}):
            with pytest.raises(InvalidRequest) as refused:
                await inside.start(answers(("c1", wrong)))
            assert refused.value.code == "invalid_approval"
        given = answers(("c1", {"approved": True}), ("c2", {"cancelled": True}))
        run = RunChunks(await inside.turn(given))
        assert [settled.end for settled in run.settled] == ["declined", "result"]
    assert dict(tools.calls) == {"rent": 1}


@pytest.mark.parametrize(
    ("args", "gated"),
    [('{"amount": 9}', False), ('{"amount": 10}', True), ('{"amount": -1}', True)],
)
async def test_a_rule_of_the_tool_decides_by_the_arguments_and_asks_if_it_fails(
    tmp_path: Path, args: str, gated: bool
) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(("c1", "spend", args)))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        run = await send_message(inside)
        assert run.dispositions["c1"] == ("approval" if gated else "server")
        assert [part.disposition for part in run.calls] == ["server"]
    assert bool(tools.calls) is not gated


async def test_a_rule_of_the_tool_knows_who_calls(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(("c1", "spend", '{"amount": 10}')))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await inside.turn(message(), principal=Principal("chief", method="key"))
    assert dict(tools.calls) == {"10": 1}


async def test_arguments_that_do_not_fit_are_never_shown_to_a_person(tmp_path: Path) -> None:
    tools = GatedTools()
    wrong = tool_call_message(("c1", "pay", '{"words": "rent"}'), ("c2", "pay", "{bad"))
    async with backend(
        tmp_path / "t.db", ScriptedModel.of(wrong), catalogue=tools.catalogue
    ) as inside:
        run = await send_message(inside)
        assert run.dispositions == {"c1": "invalid", "c2": "invalid"}
        assert run.error_codes == {"c1": "invalid_arguments", "c2": "invalid_json"}


def policy(**roles: Mapping[str, Any]) -> Policy:
    return Policy(PolicyFile.model_validate({"roles": roles}))


@pytest.mark.parametrize(
    ("role", "call", "disposition"),
    [
        ({"approval": ["ec*"]}, ("c1", "echo", '{"word": "hi"}'), "approval"),
        ({"approval_waived": ["pay"]}, PAY, "server"),
        ({"approval_waived": ["sp*"]}, ("c1", "spend", '{"amount": 99}'), "server"),
        ({"approval": ["spend"]}, ("c1", "spend", '{"amount": 1}'), "approval"),
        ({"approval": ["*"]}, ("c1", SELECTION, QUESTION), "client"),
        ({}, PAY, "approval"),
    ],
)
async def test_a_policy_demands_an_approval_or_waives_it(
    tmp_path: Path, role: dict[str, Any], call: tuple[str, str, str], disposition: str
) -> None:
    tools = GatedTools()
    async with backend(
        tmp_path / "t.db",
        ScriptedModel.of(tool_call_message(call)),
        catalogue=tools.catalogue,
        policy=policy(user=role),
    ) as inside:
        run = RunChunks(await inside.turn(message(), principal=ANN))
        assert run.dispositions == {"c1": disposition}
    assert bool(tools.calls) is (disposition == "server")


async def test_a_new_message_cancels_what_nobody_decided(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        run = await send_message(inside, "Never mind.")
        [settled] = run.settled
        assert (settled.end, settled.result["error"]["code"]) == ("cancelled", "not_answered")
        with pytest.raises(InvalidRequest) as refused:
            await inside.start(approvals(("c1", True)))
        assert refused.value.code == "already_answered"
    assert not tools.calls


@pytest.mark.parametrize(
    ("request_", "code", "status"),
    [
        (approvals(("c9", True)), "not_pending", 409),
        (approvals(("c2", True)), "not_pending", 409),
        (approvals(("c1", True), ("c1", False)), "already_answered", 409),
        (approvals(("c1", True, None, None, "c1.2")), "already_answered", 409),
        (approvals(("c1", True, None, {"words": "rent"})), "invalid_arguments", 422),
        (approvals(("c1", True, None, {})), "invalid_arguments", 422),
        (approvals(("c1", False, None, {"word": "rent"})), "invalid_approval", 422),
        (approvals(("c1", True), message=message().message), "conflicting_actions", 422),
        (TurnRequest(continue_=True), "approval_pending", 409),
    ],
)
async def test_a_decision_that_cannot_be_taken_is_refused_and_the_call_waits_on(
    tmp_path: Path, request_: TurnRequest, code: str, status: int
) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY, ("c2", "echo", '{"word": "hi"}')))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        with pytest.raises(InvalidRequest) as refused:
            await inside.start(request_)
        assert (refused.value.code, refused.value.status) == (code, status)
        assert (await shown(inside))["c1"].awaits_approval
        await decide(inside, ("c1", True))
    assert dict(tools.calls) == {"hi": 1, "rent": 1}


async def test_the_first_decision_counts(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        await decide(inside, ("c1", True))
        for second in (True, False):
            with pytest.raises(InvalidRequest) as refused:
                await inside.start(approvals(("c1", second)))
            assert refused.value.code == "already_answered"
    assert dict(tools.calls) == {"rent": 1}


async def test_copies_of_decisions_that_the_thread_has_are_passed_over(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY, MORE))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        await decide(inside, ("c1", True))
        again = (("c1", True, None, None, "c1"), ("c2", True, None, None, "c2"))
        await inside.turn(approvals(*again, answers_are_copies=True))
        with pytest.raises(InvalidRequest) as refused:
            await inside.start(approvals(*again, answers_are_copies=True))
        assert refused.value.code == "nothing_to_do"
    assert dict(tools.calls) == {"rent": 1, "food": 1}


async def test_a_stop_while_an_approved_call_runs_asks_again_and_says_that_it_may_have_run(
    tmp_path: Path,
) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(SLOWLY, MORE))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        run = await inside.start(approvals(("c1", True)))
        await tools.begun("rent")
        await inside.stop()
        chunks = RunChunks(await chunks_of(run))
        again = Approval("c1.2", may_have_run=True)
        assert [item.approval for item in told(chunks)] == [Approval("c1", approved=True), again]
        assert not chunks.settled
        calls = await shown(inside)
        assert calls["c1"].approval == again
        assert calls["c2"].approval == Approval("c2")
        assert await state_of(inside) == "stopped"
        with pytest.raises(InvalidRequest, match="answered, and is asked anew"):
            await inside.start(approvals(("c1", True, None, None, "c1")))
        assert dict(tools.calls) == {"rent": 1}
        tools.release.set()
        last = await decide(inside, ("c1", True, None, None, "c1.2"), ("c2", False))
        assert last.text == "Done."
        assert (await shown(inside))["c1"].approval == Approval("c1.2", approved=True)
    assert dict(tools.calls) == {"rent": 2}, "once for each approval"


@pytest.mark.parametrize("approved", [True, False])
async def test_a_decision_whose_run_is_stopped_before_it_was_stored_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, approved: bool
) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(SLOWLY, MORE))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        first = HeldMethod(monkeypatch, SqliteCheckpointer, "aput", once=True)
        decision = approvals(("c1", approved), ("c2", approved))
        starting = asyncio.create_task(inside.start(decision))
        await first.reached.wait()
        await inside.stop()
        run = RunChunks(await chunks_of(await starting))
        seen = {item.tool_call_id: item.approval for item in told(run)}
        calls = await shown(inside)
        assert {id: call.approval for id, call in calls.items()} == seen
        asked_anew = [approval.approved is None for approval in seen.values()]
        assert asked_anew == [approved, approved], "of calls that were to run"
    assert not tools.calls


async def test_after_a_crash_an_approved_call_is_asked_about_again(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(SLOWLY, MORE))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as before:
        await send_message(before)
        await before.start(approvals(("c1", True), ("c2", True)))
        await tools.begun("rent")
        await tools.begun("food")
        await settled_in(before, "c2")
        async with after_crash(tmp_path / "t.db", model, tools.catalogue) as inside:
            calls = await shown(inside)
            assert calls["c1"].approval == Approval("c1.2", may_have_run=True)
            assert calls["c2"].end == "result"
            assert await state_of(inside) == "waiting"
            [waiting] = (await inside.store.approvals("local", (), 0, 10)).approvals
            assert (waiting.tool_call_id, waiting.may_have_run) == ("c1", True)
            with pytest.raises(InvalidRequest) as refused:
                await inside.start(TurnRequest(continue_=True))
            assert refused.value.code == "approval_pending"
            assert tools.calls["rent"] == 1
            tools.release.set()
            run = await decide(inside, ("c1", True))
            assert run.text == "Done."
    assert dict(tools.calls) == {"rent": 2, "food": 1}


async def test_a_call_that_waited_after_a_crash_waits_on_when_the_run_that_goes_on_is_stopped(
    tmp_path: Path,
) -> None:
    """The crash came when the model's message was saved, and no checkpoint had it."""
    tools, path = GatedTools(), tmp_path / "t.db"
    model = ScriptedModel.of(tool_call_message(PAY, ("c2", "hold", '{"word": "one"}')))
    async with backend(path, model, catalogue=tools.catalogue) as before:
        with pytest.MonkeyPatch.context() as patch:
            hold_checkpoints(patch, lambda: len(model.prompts) > 0)
            await before.start(message())
            await eventually(lambda: shown(before))
            async with after_crash(path, model, tools.catalogue) as inside:
                assert (await shown(inside))["c1"].awaits_approval
                patch.undo()
                run = await inside.start(TurnRequest(continue_=True))
                await tools.begun("one")
                assert not (await inside.store.approvals("local", (), 0, 10)).approvals
                await inside.stop()
                RunChunks(await chunks_of(run))
                calls = await shown(inside)
                assert calls["c1"].approval == Approval("c1")
                assert calls["c2"].end == "cancelled"
                [waiting] = (await inside.store.approvals("local", (), 0, 10)).approvals
                assert waiting.tool_call_id == "c1"
                assert (await decide(inside, ("c1", True))).text == "Done."
    assert dict(tools.calls) == {"one": 1, "rent": 1}


def hold_checkpoints(patch: pytest.MonkeyPatch, begin: Callable[[], bool]) -> None:
    """From then on what tasks write is saved, and no checkpoint behind it."""
    put = SqliteCheckpointer.aput

    async def held(*given: Any, **named: Any) -> Any:
        if begin():
            await asyncio.Event().wait()
        return await put(*given, **named)

    patch.setattr(SqliteCheckpointer, "aput", held)


async def test_typing_past_a_call_that_may_have_run_tells_the_model_so(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(SLOWLY))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        await inside.start(approvals(("c1", True)))
        await tools.begun("rent")
        await inside.stop()
        await send_message(inside, "Did you?")
        assert (await shown(inside))["c1"].approval == Approval("c1.2", may_have_run=True)
    assert "may have run" in answer_in(model.prompts[-1], "c1").text


async def test_a_call_in_a_branch_that_was_left_cannot_be_approved(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        assert len((await inside.store.approvals("local", (), 0, 10)).approvals) == 1
        await inside.turn(TurnRequest(branch=Branch("regenerate", None)))
        assert not (await inside.store.approvals("local", (), 0, 10)).approvals
        with pytest.raises(InvalidRequest) as refused:
            await inside.start(approvals(("c1", True)))
        assert refused.value.code == "not_pending"
    assert not tools.calls


async def test_a_call_that_nobody_approved_in_time_is_refused_and_then_cancelled(
    tmp_path: Path,
) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY, ("c2", SELECTION, QUESTION)))
    async with backend(
        tmp_path / "t.db", model, catalogue=tools.catalogue, approval_seconds=1e-9
    ) as inside:
        await send_message(inside)
        with pytest.raises(InvalidRequest) as refused:
            await inside.start(approvals(("c1", True)))
        assert (refused.value.code, refused.value.status) == ("approval_expired", 409)
        run = RunChunks(await inside.turn(answers(("c2", {"value": "red"}))))
        [settled] = run.settled
        assert settled.result["error"]["code"] == "approval_expired"
        assert run.text == "Done."
    assert not tools.calls


async def test_who_loses_the_tool_before_the_approval_does_not_run_it(tmp_path: Path) -> None:
    tools, path = GatedTools(), tmp_path / "t.db"
    model = ScriptedModel.of(tool_call_message(PAY))
    async with backend(path, model, catalogue=tools.catalogue) as inside:
        await inside.turn(message(), principal=ANN)
    rules = policy(user={"tools": ["echo"]})
    async with backend(path, model, catalogue=tools.catalogue, policy=rules) as inside:
        run = RunChunks(await inside.turn(approvals(("c1", True)), principal=ANN))
        assert [settled.result["error"]["code"] for settled in run.settled] == ["tool_not_allowed"]
    assert not tools.calls


async def test_a_call_left_by_a_crash_does_not_run_where_it_needs_an_approval_now(
    tmp_path: Path,
) -> None:
    tools, path = GatedTools(), tmp_path / "t.db"
    hold = tool_call_message(("c1", "hold", '{"word": "one"}'))
    model = ScriptedModel.of(hold)
    async with backend(path, model, catalogue=tools.catalogue) as before:
        await before.start(message(), principal=ANN)
        await tools.begun("one")
        tools.release.set()
        async with after_crash(
            path, model, tools.catalogue, policy=policy(user={"approval": ["hold"]})
        ) as inside:
            await inside.turn(TurnRequest(continue_=True), principal=ANN)
            state = await inside.checkpoints.load(ThreadKey("ann", key_of().thread_id))
            [answer] = [m for m in state.messages if isinstance(m, ToolMessage)]
            assert client_view(answer)["error"]["code"] == NEEDS_APPROVAL.code
    assert tools.calls["one"] == 1


async def test_the_audit_says_who_decided_what(tmp_path: Path) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY, MORE))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue, audits=True) as inside:
        await inside.turn(message(), principal=ANN)
        decisions = approvals(("c1", True, None, {"word": "less"}), ("c2", False, "No."))
        await inside.turn(decisions, principal=ANN)
        recorded = await inside.recorded()
    decided = [record for record in recorded if record.event == "approval"]
    assert [(r.principal, r.tool_call_id, r.name, r.outcome) for r in decided] == [
        ("ann", "c1", "pay", "changed"),
        ("ann", "c2", "pay", "declined"),
    ]
    calls = {r.tool_call_id: r for r in recorded if r.event == "tool_call"}
    assert {id: (r.disposition, r.outcome) for id, r in calls.items()} == {
        "c1": ("approval", "result"),
        "c2": ("approval", "declined"),
    }


async def test_somebody_else_decides_and_the_run_has_the_rights_of_who_asked(
    tmp_path: Path,
) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(PAY))
    boss = Principal("boss", ("approver",), "The boss", "key")
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await inside.turn(message(), principal=ANN)
        [waiting] = (await inside.store.approvals("boss", ["pay"], 0, 10)).approvals
        assert (waiting.key.owner, waiting.asker.roles) == ("ann", ("user",))
        run = await inside.runs.start(
            asker_of(waiting),
            approvals(("c1", True), thread_id=waiting.key.thread_id),
            "assistant-transport",
            decider=boss,
        )
        [decided] = told(RunChunks(await chunks_of(run)))
        assert decided.approval.by == "The boss"
        assert not (await inside.store.approvals("boss", ["pay"], 0, 10)).approvals
        closed = await inside.store.approval(waiting.id)
        assert closed
        assert not closed.is_open


async def test_of_a_tool_that_others_must_approve_nobody_approves_their_own_call(
    tmp_path: Path,
) -> None:
    tools = GatedTools()
    model = ScriptedModel.of(tool_call_message(("c1", "echo", '{"word": "hi"}'), PAY_AGAIN))
    rules = policy(user={"approval_by_others": ["echo", "pay"]}, approver={"approves": ["*"]})
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue, policy=rules) as inside:
        run = RunChunks(await inside.turn(message(), principal=ANN))
        assert run.dispositions == {"c1": "approval", "c2": "approval"}
        with pytest.raises(InvalidRequest) as refused:
            await inside.start(approvals(("c1", True)), principal=ANN)
        assert (refused.value.code, refused.value.status) == ("forbidden", 403)
        await inside.turn(approvals(("c2", False)), principal=ANN)
        [waiting] = (await inside.store.approvals("boss", ["echo"], 0, 10)).approvals
        run_ = await inside.runs.start(
            asker_of(waiting),
            approvals(("c1", True), thread_id=waiting.key.thread_id),
            "assistant-transport",
            decider=Principal("boss", ("approver",), method="key"),
        )
        await chunks_of(run_)
    assert dict(tools.calls) == {"hi": 1}


async def settled_in(inside: Backend, call_id: str) -> None:
    """Wait until the live run has said how the call ended."""
    run = await inside.reader.live(key_of())
    assert run

    def reached(chunks: Sequence[Chunk]) -> bool:
        return any(isinstance(c, ToolSettled) and c.tool_call_id == call_id for c in chunks)

    await chunks_until(run, reached)


def test_of_messages_of_old_threads_nothing_is_gated() -> None:
    message = AIMessage("", tool_calls=[{"name": "pay", "args": {}, "id": "c1"}])
    assert asked_in([message]) == {}
