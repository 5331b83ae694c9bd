"""Random turns for property tests: what a model says, where it fails, when it is stopped."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk

from tests.support.backend import answers, message
from tests.support.scripted_model import Piece, call, finish, reasoning, text
from turnstream.server.turns.requests import TurnRequest

QUESTION = {
    "kind": "single",
    "prompt": "Which?",
    "options": [{"value": "a", "label": "A"}, {"value": "b", "label": "B"}],
}
ALERT = {"component": "alert", "props": {"message": "Mind the gap."}}

WORDS = st.sampled_from(["Hello", " ", "\n", "ünï ", "日本", "🙂", '"quoted" ', "\\", "[DONE]"])
CALLS = st.sampled_from(
    [
        ("echo", '{"word": "one"}'),
        ("echo", '{"word":"two"}'),
        ("nap", '{"word": "three"}'),
        ("broken", '{"word": "four"}'),
        ("echo", '{"word": '),
        ("echo", '{"wrong": 1}'),
        ("nothing", "{}"),
        ("render_ui_component", json.dumps(ALERT)),
        ("render_ui_component", '{"component": "none"}'),
        ("request_user_selection", json.dumps(QUESTION)),
    ]
)


class Breath(asyncio.Event):
    """A few turns of the loop for everybody else."""

    async def wait(self) -> Any:
        for _ in range(4):
            await asyncio.sleep(0)
        return True


@dataclass(frozen=True)
class RandomTurn:
    """`stop_after`: the number of events after which it is stopped; None: it is left alone."""

    scripts: list[list[Piece]]
    stop_after: int | None


def _fragments(args: str, pieces: int) -> list[str]:
    size = max(1, len(args) // pieces)
    return [args[start : start + size] for start in range(0, len(args), size)]


@st.composite
def _calls(draw: st.DrawFn, step: int) -> list[AIMessageChunk]:
    """Parallel calls whose fragments interleave."""
    drawn = draw(st.lists(CALLS, max_size=3))
    heads = [
        call("", name=name, id=f"call-{step}-{index}", index=index)
        for index, (name, _) in enumerate(drawn)
    ]
    queues = [
        [call(piece, index=index) for piece in _fragments(args, draw(st.integers(1, 3)))]
        for index, (_, args) in enumerate(drawn)
    ]
    mixed: list[AIMessageChunk] = []
    while any(queues):
        mixed += [queue.pop(0) for queue in queues if queue]
    return heads + mixed


@st.composite
def _script(draw: st.DrawFn, step: int) -> list[Piece]:
    said = draw(
        st.lists(st.one_of(st.builds(text, WORDS), st.builds(reasoning, WORDS)), max_size=5)
    )
    called = draw(_calls(step))
    pieces: list[Piece] = [*said, *called, finish("tool_calls" if called else "stop")]
    if draw(st.integers(0, 9)) == 0:
        pieces.insert(draw(st.integers(0, len(pieces) - 1)), ValueError("the model is down"))
    return [found for piece in pieces for found in (piece, Breath())]


@st.composite
def random_turn(draw: st.DrawFn, number: int = 0) -> RandomTurn:
    steps = draw(st.integers(1, 3))
    scripts = [draw(_script(10 * number + step)) for step in range(steps)]
    return RandomTurn(scripts, draw(st.one_of(st.none(), st.integers(0, 30))))


def next_request(ended_badly: bool, pending: list[str]) -> TurnRequest:
    """What a user does next: go on, answer what was asked, or say something."""
    if ended_badly:
        return TurnRequest(continue_=True)
    if pending:
        return answers(*((id, {"value": "a"}) for id in pending))
    return message("Next.")
