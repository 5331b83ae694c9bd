"""Graphs whose state has no messages: their threads outlive a crash."""

import asyncio
from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import START, StateGraph

from tests.support.backend import after_crash, backend, chunks_of
from tests.support.scripted_model import ScriptedModel
from turnstream.server.turns.chunks import Error
from turnstream.server.turns.requests import GraphValues, TurnRequest

NAMES: Any = {"client_values": ("topic",), "client_state": ("topic", "text")}


class Report(TypedDict, total=False):
    topic: str
    text: str


class Reports:
    """Builds the graph; its first node waits until `through` is set."""

    def __init__(self) -> None:
        self.reached, self.through = asyncio.Event(), asyncio.Event()

    def __call__(self, *_given: Any, **_named: Any) -> Any:
        graph = StateGraph(Report).add_node("write", self._write).add_edge(START, "write")
        return graph.compile()

    async def _write(self, state: Report) -> Report:
        self.reached.set()
        await self.through.wait()
        return {"text": f"Of {state['topic']}"}


def about(topic: str) -> TurnRequest:
    return TurnRequest(values=GraphValues(input={"topic": topic}))


async def test_a_run_that_a_crash_cut_off_goes_on_and_the_next_one_begins(tmp_path: Path) -> None:
    path, reports, again = tmp_path / "t.db", Reports(), Reports()
    again.through.set()
    model = ScriptedModel.of()
    async with backend(path, model, build=reports, **NAMES) as inside:
        await inside.start(about("tides"))
        await reports.reached.wait()
        async with after_crash(path, model, build=again, **NAMES) as after:
            entry = await after.entry()
            assert entry is not None
            assert entry.run_state != "live"
            for request in (TurnRequest(continue_=True), about("moons")):
                chunks = await chunks_of(await after.start(request))
                assert not any(isinstance(one, Error) for one in chunks)
            state = await after.state()
            assert state.graph_state == {"topic": "moons", "text": "Of moons"}
            assert state.messages == []
        reports.through.set()
