"""A thread read in pages shows what the whole shows, at rest and while a run is live."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from tests.support.backend import backend, chunks_of, chunks_until, message
from tests.support.scripted_model import Piece, ScriptedModel, call, finish, text
from turnstream.server.turns.chunks import TextDelta
from turnstream.server.turns.messages import Turn
from turnstream.server.turns.pages import TurnPage

ANSWERS = [
    [text("One."), finish()],
    [call('{"expression": "6 * 7"}', name="calculator", id="c1"), finish("tool_calls")],
    [text("It is 42."), finish()],
]


def walked(read: Callable[[TurnPage], tuple[tuple[Turn, ...], bool]], limit: int) -> list[Turn]:
    """All pages, from the newest to the oldest, put together."""
    turns, has_earlier = read(TurnPage(limit))
    whole = [*turns]
    while has_earlier:
        turns, has_earlier = read(TurnPage(limit, before=whole[0].id))
        assert 0 < len(turns) <= limit
        whole = [*turns, *whole]
    return whole


async def test_the_pages_of_a_thread_are_the_thread(tmp_path: Path) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel.of(*ANSWERS)) as inside:
        await inside.turn(message("First"))
        await inside.turn(message("Second"))
        state = await inside.state()
        whole = [*inside.reader.shown(state)]
        assert len(whole) == 4
        for limit in range(1, 6):
            assert walked(lambda page: inside.reader.page(state, page), limit) == whole


async def test_the_pages_of_a_live_thread_are_the_thread_so_far(tmp_path: Path) -> None:
    gate = asyncio.Event()
    live: list[Piece] = [text("So "), gate, text("far."), finish()]
    async with backend(tmp_path / "t.db", ScriptedModel.of(*ANSWERS, live)) as inside:
        await inside.turn(message("First"))
        await inside.turn(message("Second"))
        run = await inside.start(message("Third"))
        await chunks_until(run, lambda chunks: any(isinstance(c, TextDelta) for c in chunks))
        whole = await inside.reader.progress(run)
        assert len(whole.turns) == 6
        assert not whole.has_earlier
        for limit in range(1, 8):
            newest = await inside.reader.progress(run, TurnPage(limit))
            assert newest.turns == whole.turns[-limit:]
            assert newest.has_earlier == (limit < 6)
            assert (newest.first_part, newest.last) == (whole.first_part, whole.last)
        for place, turn in enumerate(whole.turns):
            page = await inside.reader.progress(run, TurnPage(2, before=turn.id))
            assert page.turns == whole.turns[max(0, place - 2) : place]
            assert page.has_earlier == (place > 2)
        gate.set()
        await chunks_of(run)
