"""What clients see of a graph's own state: the values that are named, whatever becomes of a run."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import adispatch_custom_event
from langgraph.graph import START, StateGraph

from tests.graphs.test_zoo_stopped import StreamGate
from tests.graphs.zoo import Animal
from tests.graphs.zoo.dojo import DONE, Work, reply, tells_its_steps
from tests.graphs.zoo.model import Gate
from tests.graphs.zoo.served import resumption, served
from tests.graphs.zoo.todos import ANIMALS, SECRET
from tests.support.backend import THREAD, Backend, chunks_until, message
from tests.support.served_run import STATE, VARIANTS, ServedRun, ended, serve_run
from tests.support.waiting import WAIT_SECONDS
from turnstream.graphs.client_state import ClientState
from turnstream.server.runs.told_state import ToldState
from turnstream.server.turns.chunks import Chunk, GraphState
from turnstream.server.turns.codec import to_json
from turnstream.server.turns.graph_state import Values, state_after
from turnstream.server.turns.requests import Branch, TurnRequest

OF_A_TOOL, WHILE_IT_ASKS = ANIMALS
NONE = Animal(**{**vars(OF_A_TOOL), "client_state": ()})
MILK, EGGS = {"text": "milk", "done": False}, {"text": "eggs", "done": False}
PLAN = {"title": "Milk and eggs", "steps": ["note", "say"]}


async def state_of(inside: Backend, thread: str = THREAD) -> Values | None:
    return (await inside.state(thread)).graph_state


def told(run: ServedRun) -> list[GraphState]:
    return [chunk for chunk in run.chunks if isinstance(chunk, GraphState)]


async def test_a_run_tells_the_whole_once_and_then_what_has_changed(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", OF_A_TOOL) as home:
        first = await serve_run(home.inside, home.request)
        assert told(first) == [
            GraphState({"todos": []}, is_whole=True),
            GraphState({"plan": PLAN}),
            GraphState({"todos": [MILK, EGGS]}),
        ]
        second = await serve_run(home.inside, message("Again"))
        assert told(second) == [
            GraphState({"todos": [MILK, EGGS], "plan": PLAN}, is_whole=True),
            GraphState({"plan": {**PLAN, "title": "Again"}}),
            GraphState({"todos": [MILK, EGGS, MILK, EGGS]}),
        ]
        second.check_chunks()


async def test_values_that_a_node_emits_are_told_while_it_works(tmp_path: Path) -> None:
    animal = Animal("tells", tells_its_steps, reply, "Plant", thread=(), client_state=("steps",))
    async with served(tmp_path / "t.db", animal) as home:
        run = await serve_run(home.inside, home.request)
        assert told(run) == [GraphState({}, is_whole=True), GraphState({"steps": DONE})]
        kinds = [type(chunk).__name__ for chunk in run.chunks]
        assert kinds.index("GraphState", 1) < kinds.index("Result")
        assert run.named("Custom") == []
        run.check_chunks()


def emits_and_fails(_model: Any) -> Any:
    async def work(_state: Work) -> dict[str, Any]:
        await adispatch_custom_event("manually_emit_state", {"steps": DONE, "messages": [SECRET]})
        raise ValueError(SECRET)

    graph: Any = StateGraph(Work)
    return graph.add_node("work", work).add_edge(START, "work").compile()


async def test_an_emitted_value_that_the_thread_does_not_get_is_taken_back(tmp_path: Path) -> None:
    animal = Animal("fails", emits_and_fails, reply, "Plant", thread=(), client_state=("steps",))
    async with served(tmp_path / "t.db", animal) as home:
        run = await serve_run(home.inside, home.request)
        empty = GraphState({}, is_whole=True)
        assert told(run) == [empty, GraphState({"steps": DONE}), empty]
        assert SECRET not in json.dumps([to_json(chunk) for chunk in run.chunks])


async def test_a_state_that_an_app_posts_is_input_unless_its_message_stops_a_live_run(
    tmp_path: Path,
) -> None:
    mine = {"text": "tea", "done": False}
    animal = Animal(**{**vars(OF_A_TOOL), "input": {"todos": []}})
    async with served(tmp_path / "t.db", animal) as home:
        home.model.gate = Gate(1)
        await home.inside.start(home.request)
        await home.model.gate.reached.wait()
        posted = message("Again", posted_state={"todos": [mine]})
        stopping = await serve_run(home.inside, replace(posted, on_busy="stop"))
        assert stopping.kept_state == {"todos": [MILK, EGGS], "plan": {**PLAN, "title": "Again"}}
        taken = await serve_run(home.inside, posted)
        assert (taken.kept_state or {})["todos"] == [MILK, EGGS, mine, MILK, EGGS]


async def test_a_graph_whose_state_clients_do_not_see_tells_nothing(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", NONE) as home:
        run = await serve_run(home.inside, home.request)
        assert told(run) == []
        assert await state_of(home.inside) is None


async def test_no_other_value_of_the_state_and_no_state_of_a_subgraph_is_told(
    tmp_path: Path,
) -> None:
    for animal in ANIMALS:
        async with served(tmp_path / f"{animal.name}.db", animal) as home:
            runs = await home.turn()
            snapshot = await home.inside.checkpoints._records.aget_state(
                {"configurable": {"thread_id": THREAD}}
            )
            assert SECRET in snapshot.values["secrets"]
            said = [json.dumps([to_json(chunk) for run in runs for chunk in run.chunks])]
            for variant in VARIANTS:
                said += [(await run.bytes_after(variant, 0)).decode() for run in runs]
            assert not any(SECRET in text or "secrets" in text for text in said)


@pytest.mark.parametrize(
    ("kind", "prompt", "title"), [("edit", "Only eggs", "Only eggs"), ("regenerate", None, "Again")]
)
async def test_a_branch_goes_back_to_the_state_that_was_there(
    tmp_path: Path, kind: Any, prompt: str | None, title: str
) -> None:
    async with served(tmp_path / "t.db", OF_A_TOOL) as home:
        await serve_run(home.inside, home.request)
        second = await serve_run(home.inside, message("Again"))
        await serve_run(home.inside, message("And again"))
        asked = second.run.header.user_message_id
        branch = Branch(kind, asked if kind == "edit" else f"{asked}.a")
        words = message(prompt).message if prompt else None
        run = await serve_run(home.inside, TurnRequest(message=words, branch=branch))
        run.check_chunks()
        assert told(run)[0] == GraphState({"todos": [MILK, EGGS], "plan": PLAN}, is_whole=True)
        assert await state_of(home.inside) == {
            "todos": [MILK, EGGS] * 2,
            "plan": {**PLAN, "title": title},
        }


@pytest.mark.parametrize("kind", ["edit", "regenerate"])
async def test_a_branch_with_nothing_before_it_begins_with_an_empty_state(
    tmp_path: Path, kind: Any
) -> None:
    async with served(tmp_path / "t.db", OF_A_TOOL) as home:
        first = await serve_run(home.inside, home.request)
        await serve_run(home.inside, message("Again"))
        for _ in range(2):
            asked = first.run.header.user_message_id
            branch = Branch(kind, asked if kind == "edit" else f"{asked}.a")
            words = home.request.message if kind == "edit" else None
            first = await serve_run(home.inside, TurnRequest(message=words, branch=branch))
            first.check_chunks()
            assert told(first)[0] == GraphState({"todos": []}, is_whole=True)
            assert await state_of(home.inside) == {"todos": [MILK, EGGS], "plan": PLAN}
            assert len(await home.inside.turns()) == 2


async def test_a_stopped_run_leaves_the_state_that_it_has_told(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", OF_A_TOOL) as home:
        whole = await serve_run(home.inside, home.request, "whole")
        last = home.model.gate.deltas
        home.model.gate = Gate(last)
        run = await home.inside.start(home.request)
        await chunks_until(run, lambda chunks: len(states(chunks)) == len(told(whole)))
        await home.model.gate.reached.wait()
        progress = await home.inside.reader.progress(run)
        assert progress.graph_state == {"todos": [MILK, EGGS], "plan": PLAN}
        await home.inside.stop()
        stopped = await ended(home.inside, run)
        stopped.check_chunks()
        assert stopped.kept_state == {"todos": [MILK, EGGS], "plan": PLAN}


async def test_a_run_that_is_stopped_at_any_item_of_its_graph_has_told_the_state_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(tmp_path / "t.db", OF_A_TOOL) as home:
        stream = StreamGate(home, monkeypatch)
        await serve_run(home.inside, home.request, "whole")
        for item in range(2, stream.items + 1):
            stream.items, stream.hold_at, stream.reached = 0, item, asyncio.Event()
            thread = f"stopped-at-{item}"
            starting = asyncio.create_task(home.inside.start(home.request, thread))
            async with asyncio.timeout(WAIT_SECONDS):
                await stream.reached.wait()
            await home.inside.stop(thread)
            stopped = await ended(home.inside, await starting, thread)
            stopped.check_chunks()
            await stopped.check_format(STATE)


async def test_a_crash_loses_nothing_of_the_state_and_the_run_that_continues_has_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.db"
    async with served(path, OF_A_TOOL) as home:
        await serve_run(home.inside, home.request, "whole")
        home.model.gate = Gate(home.model.gate.deltas)
        run = await home.inside.start(home.request)
        await home.model.gate.reached.wait()
        seen = state_after(await chunks_until(run, lambda chunks: len(states(chunks)) == 3), {})
        async with served(path, OF_A_TOOL, crashed=True) as again:
            assert await state_of(again.inside) == seen == {"todos": [MILK, EGGS], "plan": PLAN}
            continued = await serve_run(again.inside, TurnRequest(continue_=True))
            continued.check_chunks()
            assert told(continued) == [GraphState(seen, is_whole=True)]


async def test_at_a_question_the_state_has_what_other_nodes_have_done(tmp_path: Path) -> None:
    noted, answered = ({"text": text, "done": False} for text in ("ask", "bread"))
    async with served(tmp_path / "t.db", WHILE_IT_ASKS) as home:
        asking = await serve_run(home.inside, home.request)
        asking.check_chunks()
        assert await state_of(home.inside) == {"todos": [noted]}
        question = WHILE_IT_ASKS.questions[0]
        resumed = await serve_run(home.inside, resumption(asking, question))
        resumed.check_chunks()
        assert sorted(state_after(told(resumed), {})["todos"], key=str) == [noted, answered]


async def test_every_cut_of_a_stream_with_state_replays_the_same_bytes(tmp_path: Path) -> None:
    for animal in ANIMALS:
        async with served(tmp_path / f"{animal.name}.db", animal) as home:
            for run in await home.turn():
                for variant in VARIANTS:
                    await run.check_cuts(variant, range(len(run.chunks) + 1))


def test_what_the_whole_leaves_out_is_gone() -> None:
    told = [GraphState({"todos": [], "plan": 1}, is_whole=True), GraphState({"todos": [1]})]
    assert state_after(told, {"old": 1}) == {"todos": [1], "plan": 1}
    assert state_after([*told, GraphState({"plan": 2}, is_whole=True)], {}) == {"plan": 2}


def states(chunks: Any) -> list[Chunk]:
    return [chunk for chunk in chunks if isinstance(chunk, GraphState)]


def values(data: Mapping[str, Any], **about: Any) -> dict[str, Any]:
    return {"type": "values", "ns": (), "data": data, **about}


def test_what_is_no_json_or_too_large_is_hidden_and_the_log_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    view = ClientState(("todos", "plan", "when"), max_bytes=20)
    state = ToldState(view, {})
    secret = "a secret " * 3
    for _ in range(2):
        state.note(values({"todos": secret, "plan": object(), "when": float("nan")}))
    hidden = {"hidden": True}
    assert state.tell() == [
        GraphState({"todos": hidden, "plan": hidden, "when": None}, is_whole=True)
    ]
    assert [record.getMessage().split()[0] for record in caplog.records] == ["todos", "plan"]
    assert "a secret" not in caplog.text


def test_a_value_that_a_node_changed_in_its_place_is_told() -> None:
    todos: list[Any] = [1]
    state = ToldState(ClientState(("todos",)), {})
    state.note(values({"todos": todos}))
    assert state.tell() == [GraphState({"todos": [1]}, is_whole=True)]
    state.note(values({"todos": todos}))
    assert state.tell() == []
    todos[0] = True
    state.note(values({"todos": todos}))
    assert [json.dumps(chunk.values) for chunk in state.tell()] == ['{"todos": [true]}']


def test_a_value_that_is_gone_makes_the_whole_be_told() -> None:
    state = ToldState(ClientState(("todos", "plan")), {"todos": [], "plan": "x"})
    state.tell()
    state.note(values({"todos": []}))
    assert state.tell() == [GraphState({"todos": []}, is_whole=True)]


@pytest.mark.parametrize("about", [{"ns": ("sub:1",)}, {"interrupts": ("?",)}])
def test_values_of_a_subgraph_or_ahead_of_a_question_are_not_the_threads(about: Any) -> None:
    state = ToldState(ClientState(("todos",)), {"todos": []})
    state.note(values({"todos": [1]}, **about))
    assert state.tell() == [GraphState({"todos": []}, is_whole=True)]


def test_no_value_has_a_key_that_browsers_refuse() -> None:
    """A JSON Patch with such a key in a path is refused as a whole."""
    value = {"__proto__": {"a": 1}, "b": [{"constructor": {"prototype": 1}}], "constructor": "x"}
    assert ClientState(("a",)).shown({"a": value}) == {"a": {"b": [{}], "constructor": "x"}}


def test_of_a_list_that_grows_with_the_thread_the_newest_items_are_shown() -> None:
    view = ClientState(("ui",), 40, frozenset({"ui"}))
    items = [{"n": 1, "text": "x" * 20}, {"n": 2, "of": object()}, {"n": 3, "text": "é"}, {"n": 4}]
    assert view.shown({"ui": items}) == {"ui": [items[2], items[3]]}
    assert view.shown({"ui": []}) == {"ui": []}
