"""Several calls of one message wait for an approval, and are decided on in any order."""

from pathlib import Path

from tests.support.backend import backend, chunks_of
from tests.support.gated_tools import GatedTools, approvals, decide
from tests.support.run_chunks import RunChunks, send_message, tool_call_message
from tests.support.scripted_model import ScriptedModel
from tests.support.served_run import serve_run
from turnstream.server.turns.chunks import RunEnded
from turnstream.server.turns.messages import AssistantTurn

PAY = ("c1", "pay", '{"word": "rent"}')
MORE = ("c2", "pay", '{"word": "food"}')
SLOWLY = ("c3", "pay_slowly", '{"word": "tax"}')


async def test_the_model_goes_on_when_calls_that_were_approved_together_have_run(
    tmp_path: Path,
) -> None:
    tools, model = GatedTools(), ScriptedModel.of(tool_call_message(PAY, MORE))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        run = await decide(inside, ("c1", True), ("c2", True))
        assert [settled.tool_call_id for settled in run.settled] == ["c1", "c2"]
        assert (run.text, run.reason) == ("Done.", "stop")
    assert dict(tools.calls) == {"rent": 1, "food": 1}
    assert len(model.prompts) == 2


async def test_calls_approved_together_leave_the_model_silent_while_another_one_waits(
    tmp_path: Path,
) -> None:
    tools, model = GatedTools(), ScriptedModel.of(tool_call_message(PAY, MORE, SLOWLY))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        run = await decide(inside, ("c1", True), ("c2", True))
        assert (run.steps, run.reason) == (0, "tool-calls")
    assert len(model.prompts) == 1


async def test_a_turn_that_waits_again_after_a_stop_is_not_stopped_any_more(
    tmp_path: Path,
) -> None:
    tools, model = GatedTools(), ScriptedModel.of(tool_call_message(PAY, MORE, SLOWLY))
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside:
        await send_message(inside)
        run = await inside.start(approvals(("c3", True)))
        await tools.begun("tax")
        await inside.stop()
        assert RunChunks(await chunks_of(run)).ended == RunEnded("stopped")
        tools.release.set()
        served = await serve_run(inside, approvals(("c1", True)))
        served.check_chunks()
        last = served.kept[-1]
        assert isinstance(last, AssistantTurn)
        assert (last.ended, last.finish_reason) == (None, "tool-calls")
