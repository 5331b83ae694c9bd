"""Versions of turns without HTTP: a process dies as a branch begins, and calls wait in branches."""

import asyncio
from pathlib import Path

import pytest

from tests.support.backend import Backend, after_crash, backend, key_of, message
from tests.support.gated_tools import GatedTools, approvals
from tests.support.run_chunks import tool_call_message
from tests.support.scripted_model import Piece, ScriptedModel, finish, text
from tests.support.waiting import WAIT_SECONDS, HeldMethod
from turnstream.server.extensions.base import Extension
from turnstream.server.extensions.versions import VersionsExtension, VersionsSettings
from turnstream.server.runs.versions import ShownVersions
from turnstream.server.storage.checkpointer import SqliteCheckpointer
from turnstream.server.turns.messages import AssistantTurn, Text, Turn, UserTurn
from turnstream.server.turns.pages import WHOLE
from turnstream.server.turns.requests import Branch, InvalidRequest, TextContent, TurnRequest

PAY = tool_call_message(("c1", "pay", '{"word": "rent"}'))
AGAIN = TurnRequest(branch=Branch("regenerate", None))


def on() -> list[Extension]:
    return [VersionsExtension(VersionsSettings.model_validate({}))]


def says(words: str) -> list[Piece]:
    return [text(words), finish()]


async def shown(inside: Backend) -> ShownVersions:
    kept = await inside.reader.versions(key_of())
    messages = (await inside.state()).messages
    return kept.shown(messages, messages)


def said(turns: tuple[Turn, ...]) -> list[str]:
    words = list[str]()
    for turn in turns:
        if isinstance(turn, UserTurn):
            words += [item.text for item in turn.content if isinstance(item, TextContent)]
        else:
            words += [part.text for part in turn.parts if isinstance(part, Text)]
    return words


async def test_a_branch_that_never_began_is_no_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    model = ScriptedModel.of(says("A"), says("B"), says("C"))
    async with backend(path, model, extensions=on()) as before:
        await before.turn(message("One"))
        await before.turn(message("Two"))
        first_write = HeldMethod(monkeypatch, SqliteCheckpointer, "aput")
        starting = asyncio.create_task(before.start(AGAIN))
        async with asyncio.timeout(WAIT_SECONDS):
            await first_write.reached.wait()
        monkeypatch.undo()
        try:
            async with after_crash(
                path, ScriptedModel.of(says("D"), says("E")), extensions=on()
            ) as after:
                assert said(await after.turns()) == ["One", "A", "Two", "B"]
                assert await shown(after) == {}
                run = await after.start(AGAIN)
                assert said(await after.turns())[:3] == ["One", "A", "Two"]
                [versions] = (await shown(after)).values()
                assert versions.shown == run.header.run_id
                assert len(versions.ids) == 2
        finally:
            first_write.through.set()
            await starting


async def test_a_branch_that_was_cut_off_before_its_first_word_is_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    async with backend(path, ScriptedModel.of(says("A"), says("B")), extensions=on()) as before:
        await before.turn(message("One"))
        first_writes = HeldMethod(monkeypatch, SqliteCheckpointer, "aput_writes")
        starting = asyncio.create_task(before.start(AGAIN))
        async with asyncio.timeout(WAIT_SECONDS):
            await first_writes.reached.wait()
            while not (await before.state()).unfinished:
                pass  # the input is being written beside it
        monkeypatch.undo()
        try:
            async with after_crash(path, ScriptedModel.of(says("C")), extensions=on()) as after:
                assert said(await after.turns()) == ["One"]
                _, empty = after.reader.page(await after.state(), WHOLE, await shown(after))[0]
                assert isinstance(empty, AssistantTurn)
                assert empty.steps == ()
                assert empty.finish_reason is None
                assert empty.versions is not None
                assert empty.versions.shown == empty.versions.ids[1]
                await after.turn(TurnRequest(continue_=True))
                assert said(await after.turns()) == ["One", "C"]
                [versions] = (await shown(after)).values()
                await after.turn(message("Two", version=versions.ids[0]))
                assert said(await after.turns()) == ["One", "A", "Two", "Done."]
        finally:
            first_writes.through.set()
            await starting


async def test_a_call_of_a_version_is_approved_there_and_runs_once(tmp_path: Path) -> None:
    tools, model = GatedTools(), ScriptedModel.of(PAY, says("B"), says("Paid."))
    async with backend(
        tmp_path / "t.db", model, catalogue=tools.catalogue, extensions=on()
    ) as inside:
        await inside.turn(message("Pay"))
        await inside.turn(AGAIN)
        assert (await inside.store.approvals("local", (), 0, 10)).approvals == []
        [versions] = (await shown(inside)).values()
        first = versions.ids[0]
        decision = approvals(("c1", True))
        with pytest.raises(InvalidRequest, match="is waiting for an approval"):
            await inside.turn(decision)
        await inside.turn(approvals(("c1", True), version=first))
        assert said(await inside.turns()) == ["Pay", "Paid."]
        assert tools.calls == {"rent": 1}
        await inside.turn(message("B again", version=versions.ids[1]))
        with pytest.raises(InvalidRequest) as refused:
            await inside.turn(approvals(("c1", True), version=first))
        assert refused.value.status == 409
        assert tools.calls == {"rent": 1}


async def test_a_call_that_waits_in_the_thread_waits_in_its_version(tmp_path: Path) -> None:
    tools, model = GatedTools(), ScriptedModel.of(says("A"), PAY, says("B"), says("C"))
    async with backend(
        tmp_path / "t.db", model, catalogue=tools.catalogue, extensions=on()
    ) as inside:
        await inside.turn(message("Pay"))
        await inside.turn(AGAIN)
        [waiting] = (await inside.store.approvals("local", (), 0, 10)).approvals
        [versions] = (await shown(inside)).values()
        await inside.turn(message("Thanks", version=versions.ids[0]))
        assert (await inside.store.approvals("local", (), 0, 10)).approvals == []
        await inside.turn(approvals(("c1", False), version=versions.ids[1]))
        last = (await inside.turns())[-1]
        assert isinstance(last, AssistantTurn)
        assert (waiting.tool_call_id, tools.calls) == ("c1", {})
