"""A thousand turns of random tool calls, through tools that fail in every way."""

import asyncio
import json
import logging
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException

from tests.support.backend import Backend, answers, backend, message
from tests.support.provider_refusal import provider_refusal
from tests.support.run_chunks import COMPONENT, SELECTION, RunChunks
from tests.support.samples import sample
from tests.support.scripted_model import Piece, ScriptedModel, call, finish, text
from turnstream.graphs.limits import Limits
from turnstream.server.formats import WIRE_FORMATS
from turnstream.server.formats.format import StreamContext
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.messages import AssistantTurn, ToolCall
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import CLIENT_FIELDS, real_tool
from turnstream.tools.ui import render_ui_component, request_user_selection

TURNS, THREADS, AT_ONCE = sample(1000, 200, 100), 50, 6
SECRET = "hunter2-s3cret"
LIMITS = Limits(
    max_steps=4,
    max_identical_calls=3,
    tool_timeout_seconds=0.02,
    max_result_chars=500,
    max_result_bytes=2000,
)
WINDOW = {"start": "2024-01-01", "end": "2024-01-31"}
POINTS = {"x": [1, 2, 3], "series": [{"name": "n", "data": [1, None, 3]}]}
FIELDS = ["status", "available", "value", "x", "series", "columns", "rows"]


RETURNS: dict[str, Any] = {
    "fine": {"status": "ok", "value": 1},
    "points": {"status": "ok", **POINTS},
    "uneven": {"status": "ok", "x": [1], "series": POINTS["series"]},
    "miss": {"status": "no_data_in_window", "available": [WINDOW]},
    "nothing": {"status": "no_data"},
    "odd miss": {"status": "no_data_in_window", "available": [{"start": 1}, None]},
    "huge": {"value": "x" * 5000},
    "long": {"value": "y" * 700},
    "nan": {"value": float("nan")},
    "not json": {"value": {1, 2}},
    "no object": ["value"],
    "none": None,
    "deep": {"value": json.loads("[" * 900 + "]" * 900)},
    "half": {"value": "\ud800"},
    "big": {"value": 2**70},
    "an error": {"error": {"code": "mine", "message": "mine"}, "value": 1},
}
RAISES: dict[str, BaseException] = {
    "refuses": ToolException("Not today."),
    "refuses at length": ToolException("no " * 1000),
    "breaks": RuntimeError(SECRET),
    "stops": StopIteration(SECRET),
    "exits": SystemExit(SECRET),
    "its own timeout": TimeoutError(SECRET),
    "cancels itself": asyncio.CancelledError(SECRET),
}
WAYS = [*RETURNS, *RAISES, "hangs"]


async def misbehave(way: str) -> dict[str, Any]:
    """Misbehave.

    Args:
        way: How.
    """
    if way == "hangs":
        await asyncio.Event().wait()
    if way in RAISES:
        raise RAISES[way]
    returned = RETURNS.get(way, {"value": way})
    # The model may see it, the client may not.
    return {**returned, "internal": SECRET} if isinstance(returned, dict) else returned


def plain(way: str) -> dict[str, Any]:
    """Misbehave in a thread.

    Args:
        way: How.
    """
    if way in RAISES and way != "cancels itself":
        raise RAISES[way]
    returned = RETURNS.get(way, {"value": way})
    return {**returned, "internal": SECRET} if isinstance(returned, dict) else returned


def raw(way: str) -> tuple[Any, Any]:
    """A tool that was made without our help, and gives what it likes."""
    if way in RAISES and way != "cancels itself":
        raise RAISES[way]
    content = json.dumps(RETURNS["fine"]) if way == "fine" else f"not {way}"
    return content, RETURNS.get(way)


def catalogue() -> Catalogue:
    foreign: BaseTool = StructuredTool.from_function(
        raw, name="raw", response_format="content_and_artifact"
    )
    foreign.metadata = {CLIENT_FIELDS: FIELDS}
    return Catalogue(
        (
            real_tool(client_fields=FIELDS, availability_tool="survey")(misbehave),
            real_tool(client_fields=FIELDS)(plain),
            foreign,
            real_tool(client_fields=FIELDS)(survey),
        ),
        (render_ui_component, request_user_selection),
    )


async def survey() -> dict[str, Any]:
    """Say what there is."""
    return {"available": [WINDOW], "internal": SECRET}


class Dice:
    """The random choices of a model, and what was chosen how often."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.chosen: Counter[str] = Counter()

    def pick(self, options: list[str]) -> str:
        choice = self.random.choice(options)
        self.chosen[choice] += 1
        return choice

    def step(self) -> list[Piece]:
        """A model call: words, or up to four calls."""
        if self.random.random() < 0.4:
            return [text("Enough of that."), finish()]
        pieces: list[Piece] = []
        for index in range(self.random.randint(1, 4)):
            name, args = self.call()
            given = self.random.choice([None, "call_0", f"c{self.random.random()}"])
            cut = self.random.randrange(len(args) + 1)
            pieces += [
                call(args[:cut], name=name, id=given, index=index),
                call(args[cut:], index=index),
            ]
        return [*pieces, finish(self.random.choice(["tool_calls", "stop", "length"]))]

    def call(self) -> tuple[str, str]:
        kind = self.pick(["real"] * 12 + ["chart", "chart", "alert", "question", "odd"])
        if kind == "real":
            tool = self.pick(["misbehave", "plain", "raw"])
            return tool, json.dumps({"way": self.pick(WAYS if tool == "misbehave" else WAYS[:-1])})
        if kind == "chart":
            source = self.pick(["call_0", "misbehave", "plain", "nobody"])
            args = {"component": "line_chart", "props": {}, "data_from": source}
            return COMPONENT, json.dumps(args)
        if kind == "alert":
            return COMPONENT, '{"component":"alert","props":{"message":"Hi"}}'
        if kind == "question":
            return (
                SELECTION,
                '{"kind":"single","prompt":"Which?","options":[{"value":"a"},{"value":"b"}]}',
            )
        return self.random.choice(
            [
                ("misbehave", '{"way": "fi'),
                ("misbehave", '{"ways": 1}'),
                ("no such tool", "{}"),
                (COMPONENT, '{"component":"line_chart","props":{}}'),
                (SELECTION, '{"kind":"single","prompt":"?"}'),
                ("plain", '{"way": NaN}'),
            ]
        )


async def turn(home: Backend, dice: Dice, thread: str) -> list[Chunk]:
    """A message, or the answer to what is asked, if it is not typed past."""
    last = [one for one in (await home.turns(thread))[-1:] if isinstance(one, AssistantTurn)]
    calls = [part for one in last for part in one.parts if isinstance(part, ToolCall)]
    pending = [one for one in calls if one.end is None]
    if pending and dice.random.random() < 0.6:
        dice.chosen["answered"] += 1
        items = [(one.tool_call_id, choice(one, dice)) for one in pending]
        return await home.turn(answers(*items), thread)
    return await home.turn(message(thread), thread)


def choice(question: ToolCall, dice: Dice) -> Any:
    options = [option["value"] for option in (question.args or {})["options"]]
    return dice.random.choice([{"value": dice.random.choice(options)}, {"cancelled": True}])


@pytest.fixture(scope="module")
def _quiet() -> Iterator[None]:
    """Some hundreds of failures are meant to be logged, with what caused them."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("_quiet")
@pytest.mark.timeout(240)
@pytest.mark.long
async def test_turns_through_failing_tools_all_end_in_order(tmp_path: Path) -> None:
    """No run without its terminal chunk, no history that a provider refuses, no leak."""
    dice = {f"thread-{number}": Dice(seed=number) for number in range(THREADS)}
    ends: Counter[str] = Counter()
    some = asyncio.Semaphore(AT_ONCE)

    def step(prompt: list[BaseMessage]) -> list[Piece]:
        assert provider_refusal(prompt) is None, prompt
        said = next(m.text for m in prompt if isinstance(m, HumanMessage))
        return dice[said].step()

    async def talk(home: Backend, thread: str) -> None:
        async with some:
            for _ in range(TURNS // THREADS):
                told = RunChunks(await turn(home, dice[thread], thread))  # keeps the grammar
                ends[told.reason] += 1
                assert told.reason != "error", [c for c in told.chunks if hasattr(c, "code")]
                assert SECRET not in on_the_wire(told.chunks)
            assert SECRET not in str(await home.turns(thread))
            await all_answered(home, thread)

    model = ScriptedModel.of(*[step] * TURNS * LIMITS.max_steps)
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(), limits=LIMITS) as home:
        await asyncio.gather(*(talk(home, thread) for thread in dice))
    assert set(ends) >= {"stop", "tool-calls", "other"}, ends
    assert ends.total() == TURNS
    chosen = sum((one.chosen for one in dice.values()), Counter[str]())
    assert all(chosen[way] > sample(5, 1, 0) for way in WAYS), chosen
    assert chosen["answered"] > sample(20, 4, 1)


def on_the_wire(chunks: Sequence[Chunk]) -> str:
    """The chunks, and what both formats make of them."""
    context = StreamContext("thread", "message")
    encoders = [wire_format.encoder(context, None) for wire_format in WIRE_FORMATS.values()]
    encoded = [said for one in encoders for chunk in chunks for said in one.encode(chunk)]
    return str(chunks) + "".join(encoded)


async def all_answered(home: Backend, thread: str) -> None:
    """Every call of the thread has at most one answer; only the last turn's may wait."""
    messages = await home.messages(thread)
    answered = Counter(m.tool_call_id for m in messages if isinstance(m, ToolMessage))
    assert set(answered.values()) <= {1}
