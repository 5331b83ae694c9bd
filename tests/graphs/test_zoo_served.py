"""The zoo on the server: what a graph says, asks and leaves in a plain loop, a client gets."""

import random
import re
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage

from tests.graphs.zoo import ZOO, Animal, supervisor
from tests.graphs.zoo.plain_loop import shown
from tests.graphs.zoo.served import Home, served, values
from tests.support.samples import sample
from tests.support.served_run import VARIANTS, ServedRun
from turnstream.graphs.result_view import DeclaredResults
from turnstream.server.formats import WIRE_FORMATS
from turnstream.server.turns.chunks import Part, PartStart, Substep, TextDelta, ToolCallPart

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
REPLAYED = ZOO[:: sample(1, 4)]
CUTS = sample(1000, 10)


@pytest.fixture(params=ZOO, ids=lambda animal: animal.name)
def animal(request: pytest.FixtureRequest) -> Animal:
    found: Animal = request.param
    return found


@pytest.fixture
async def home(tmp_path: Path, animal: Animal) -> AsyncIterator[Home]:
    async with served(tmp_path / "t.db", animal) as home:
        yield home
        assert not home.model.refused


async def test_a_client_gets_what_a_plain_loop_hears(home: Home, animal: Animal) -> None:
    """`test_zoo_in_process` holds the animal against the loop."""
    runs = await home.turn()
    asked = [question.asked or [None] for question in animal.questions]
    assert [values(run) for run in runs] == [*asked, []]
    assert [run.reason for run in runs] == ["tool-calls"] * len(asked) + ["stop"]
    assert [chunk.value for run in runs for chunk in run.named("Custom")] == list(animal.custom)
    assert words_of_loop(animal) <= words_of_stream(runs)
    assert tuple(shown(message) for message in await home.inside.messages()) == animal.thread


async def test_its_stream_is_its_thread(home: Home, animal: Animal) -> None:
    for _ in range(2):
        runs = await home.turn()
        for run in runs:
            run.check_chunks()
            for variant in VARIANTS:
                await run.check_format(variant, in_order=not animal.parallel)
        assert len(runs) == len(animal.questions) + 1


async def test_a_client_that_may_see_them_sees_what_the_tools_said(
    tmp_path: Path, animal: Animal
) -> None:
    shows = DeclaredResults({}, "show")
    async with served(tmp_path / "t.db", animal, results=shows) as home:
        runs = await home.turn()
        thread = await home.inside.messages()
        seen = [
            chunk.result
            for run in runs
            for chunk in (*run.named("Result"), *run.named("ToolSettled"))
        ]
        for message in thread:
            if isinstance(message, ToolMessage) and message.status == "success":
                assert shows(message, message.name or "") in seen
                assert {"hidden": True} not in seen


@pytest.mark.long
@pytest.mark.parametrize("animal", REPLAYED, ids=lambda animal: animal.name, indirect=True)
async def test_every_cut_replays_the_same_bytes(home: Home, animal: Animal) -> None:
    runs, chance = await home.turn(), random.Random(animal.name)
    assert len(runs) == len(animal.questions) + 1
    for run in runs:
        events = range(len(run.chunks) + 1)
        cuts = chance.sample(events, min(CUTS, len(events)))
        for variant in VARIANTS:
            await run.check_cuts(variant, cuts)


def words_of_loop(animal: Animal) -> set[str]:
    """The texts and the names of calls that the model says, kept or not."""
    said = [line.removeprefix("ai: ") for line in animal.thread if line.startswith("ai: ")]
    found = set[str]()
    for line in (*said, *animal.beside):
        text, called = re.fullmatch(r"(.*?) ?(?:\[([\w, ]+)\])?", line).groups()  # type: ignore[union-attr]
        found |= {text, *(called or "").split(", ")}
    return found - {""}


def words_of_stream(runs: Iterable[ServedRun]) -> set[str]:
    """The same of chunks, with what was withdrawn again."""
    found = set[str]()
    for run in runs:
        parts, texts = dict[Any, Part](), dict[Any, str]()
        for chunk in run.chunks:
            call = chunk.tool_call_id if isinstance(chunk, Substep) else None
            told = chunk.chunk if isinstance(chunk, Substep) else chunk
            if isinstance(told, PartStart):
                parts[call, told.path], texts[call, told.path] = told.part, ""
            elif isinstance(told, TextDelta):
                texts[call, told.path] += told.text
        for path, part in parts.items():
            found.add(part.tool_name if isinstance(part, ToolCallPart) else texts[path])
    return found


async def test_the_steps_of_a_supervisors_workers_name_them_live_and_in_the_thread(
    tmp_path: Path,
) -> None:
    async with served(tmp_path / "t.db", supervisor.ANIMALS[0]) as home:
        (run,) = await home.turn()
        withdrawn = {chunk.step_id for chunk in run.named("StepWithdrawn")}
        ends = [end for end in run.named("StepFinish") if end.step_id not in withdrawn]
        research, maths = ["research"] * 2, ["maths"] * 2
        names = ["supervisor", *research, "supervisor", *maths, "supervisor"]
        assert [end.agent for end in ends] == names
        native, langgraph = (
            WIRE_FORMATS[name].snapshot(run.kept) for name in ("assistant-transport", "langgraph")
        )
        assert [step["agent"] for step in native[-1]["steps"]] == names
        assert [one["name"] for one in langgraph if one["type"] == "ai"] == names
