"""The server dies when a request is saved, and no step of the graph has read it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.backend import Backend, after_crash, backend, message
from tests.support.gated_tools import GatedTools, approvals, decide
from tests.support.run_chunks import send_message, tool_call_message
from tests.support.scripted_model import ScriptedModel
from tests.support.served_run import serve_run
from tests.support.waiting import WAIT_SECONDS, HeldMethod
from turnstream.server.storage.checkpointer import SqliteCheckpointer
from turnstream.server.turns.chunks import Approval
from turnstream.server.turns.messages import AssistantTurn, ToolCall, UserTurn
from turnstream.server.turns.requests import Branch, InvalidRequest, TurnRequest

CONTINUE = TurnRequest(continue_=True)
PAY = tool_call_message(("c1", "pay", '{"word": "rent"}'))


@asynccontextmanager
async def crashed(
    folder: Path, patch: pytest.MonkeyPatch, tools: GatedTools, *requests: TurnRequest
) -> AsyncIterator[Backend]:
    """The server after it: it died in the last of these requests. The model calls `pay` first."""
    path, model = folder / "t.db", ScriptedModel.of(PAY)
    *others, last = requests
    async with backend(path, model, catalogue=tools.catalogue) as before:
        for request in others:
            await before.turn(request)
        first_writes = HeldMethod(patch, SqliteCheckpointer, "aput_writes")
        starting = asyncio.create_task(before.start(last))
        await first_writes.reached.wait()
        async with asyncio.timeout(WAIT_SECONDS):
            while not (await before.state()).unfinished:
                pass  # the input is being written beside it
        patch.undo()
        try:
            async with after_crash(path, ScriptedModel.of(), tools.catalogue) as after:
                yield after
        finally:
            first_writes.through.set()
            await starting


async def state_of(inside: Backend) -> str:
    entry = await inside.entry()
    assert entry
    return entry.run_state


async def test_a_message_is_in_the_thread_and_can_be_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with crashed(tmp_path, monkeypatch, GatedTools(), message("Hi")) as after:
        [asked] = await after.turns()
        assert isinstance(asked, UserTurn)
        assert await state_of(after) == "interrupted"
        run = await serve_run(after, CONTINUE)
        run.check_chunks()
        assert run.message_id == f"{asked.id}.a"
        assert [turn.id for turn in run.kept] == [asked.id, f"{asked.id}.a"]


async def test_a_call_that_was_approved_is_asked_about_again_and_not_gone_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = GatedTools()
    requests = message("Hi"), approvals(("c1", True))
    async with crashed(tmp_path, monkeypatch, tools, *requests) as after:
        last = (await after.turns())[-1]
        assert isinstance(last, AssistantTurn)
        [call] = [part for part in last.parts if isinstance(part, ToolCall)]
        assert call.approval == Approval("c1.2", may_have_run=True)
        [waiting] = (await after.store.approvals("local", (), 0, 10)).approvals
        assert (waiting.approval_id, await state_of(after)) == ("c1.2", "waiting")
        with pytest.raises(InvalidRequest) as refused:
            await after.start(CONTINUE)
        assert refused.value.code == "approval_pending"
        assert not tools.calls
        assert (await decide(after, ("c1", True))).text == "Done."
        assert dict(tools.calls) == {"rent": 1}


async def test_a_question_that_is_asked_anew_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = message("Hi"), TurnRequest(branch=Branch("regenerate", None))
    async with crashed(tmp_path, monkeypatch, GatedTools(), *requests) as after:
        assert [type(turn) for turn in await after.turns()] == [UserTurn]
        assert await state_of(after) == "interrupted"
        assert (await send_message(after, "And now?")).text == "Done."
