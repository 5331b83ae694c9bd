"""The words of a subagent stay under its tool call, however its run ends."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, PIIMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt

from tests.graphs.zoo import ZOO
from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import Gate, Replies, ReplyingModel
from tests.graphs.zoo.served import Home, served
from tests.graphs.zoo.subagents import (
    ANIMALS,
    HeldTool,
    edit,
    look_up,
    research,
    researcher,
    subgraph_as_tool,
)
from tests.support import chunk_grammar
from tests.support.backend import backend, chunks_of, key_of, message
from tests.support.served_run import AG_UI, STATE, VARIANTS, ServedRun, ended, serve_run
from tests.support.waiting import eventually
from turnstream.server.formats import WIRE_FORMATS
from turnstream.server.runs import kept_words
from turnstream.server.runs.kept_words import KeptWords
from turnstream.server.runs.log_writer import LogWriter
from turnstream.server.runs.substeps import ends_of_substeps
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.turns.chunks import Chunk, Result, StepStart, StepWithdrawn, Substep
from turnstream.server.turns.messages import AssistantTurn, Step, Text, ToolCall, Turn
from turnstream.server.turns.requests import Resume, TurnRequest

EDITOR = ANIMALS[0]
CONTINUE = TurnRequest(continue_=True)
IN_A_SUBAGENT = 12
"""A delta of a subagent: it waits there while it speaks."""
IN_ITS_SECOND_STEP = 11
"""The same of one subagent alone, behind its first step."""


@pytest.fixture(params=ANIMALS, ids=lambda animal: animal.name)
def animal(request: pytest.FixtureRequest) -> Animal:
    found: Animal = request.param
    return found


async def stands_in_a_subagent(home: Home) -> TurnRequest:
    home.model.gate = Gate(IN_A_SUBAGENT)
    return home.request


async def test_no_word_of_a_subagent_is_one_of_the_answer(tmp_path: Path, animal: Animal) -> None:
    async with served(tmp_path / "t.db", animal) as home:
        chunks = [chunk for run in await home.turn() for chunk in run.chunks]
        messages = await home.inside.messages()
        steps = [chunk.step_id for chunk in chunks if isinstance(chunk, StepStart)]
        assert steps == [message.id for message in messages if message.type == "ai"]
        assert not [chunk for chunk in chunks if isinstance(chunk, StepWithdrawn)]


async def test_a_stop_in_a_subagent_leaves_none_of_its_words_in_the_thread(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", EDITOR) as home:
        run = await home.inside.start(await stands_in_a_subagent(home))
        await home.model.gate.reached.wait()
        await home.inside.stop()
        home.model.gate.open()
        stopped = await ended(home.inside, run)
        stopped.check_chunks()
        asked, first, second = (await home.inside.messages())[1:]
        assert [asked.type, first.type, second.type] == ["ai", "tool", "tool"]
        *_, last = await home.turn()
        assert last.reason == "stop"


async def test_a_crash_in_a_subagent_leaves_none_of_its_words_in_the_thread(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with served(path, EDITOR) as before:
        await before.inside.start(await stands_in_a_subagent(before))
        await before.model.gate.reached.wait()
        async with served(path, EDITOR, crashed=True) as after:
            assert [message.type for message in await after.inside.messages()] == ["human", "ai"]
            continued = await after.inside.start(CONTINUE)
            await chunks_of(continued)
            assert [m.type for m in await after.inside.messages()][2:] == ["tool", "tool", "ai"]
        await before.inside.stop()


class SameIds(ReplyingModel):
    """Numbers the calls of each message from the same id on, as some servers do."""

    def _deltas(self, prompt: list[BaseMessage], bound: dict[str, Any]) -> list[AIMessageChunk]:
        deltas = super()._deltas(prompt, bound)
        for delta in deltas:
            for chunk in delta.tool_call_chunks:
                chunk["id"] = chunk["id"] and f"call_{chunk['index']}"
        return deltas


def calls_of(turns: Sequence[Turn]) -> list[ToolCall]:
    parts = [p for turn in turns if isinstance(turn, AssistantTurn) for p in turn.parts]
    return [part for part in parts if isinstance(part, ToolCall)]


def words(call: ToolCall) -> list[str]:
    """What was said under a call, and what was called and answered, at any depth."""
    found: list[str] = []
    for step in call.substeps:
        for part in step.parts:
            if isinstance(part, ToolCall):
                found += [f"[{part.tool_name}]", *words(part), str(part.end)]
            elif isinstance(part, Text):
                found.append(part.text)
    return found


async def test_two_subagents_at_once_stay_under_their_calls(tmp_path: Path) -> None:
    for animal in ANIMALS[:2]:
        async with served(tmp_path / f"{animal.name}.db", animal) as home:
            (run,) = await home.turn()
            moss, fern = calls_of(run.kept)
            for call, topic in ((moss, "moss"), (fern, "fern")):
                assert words(call) == [
                    "Looking.",
                    "[look_up]",
                    "result",
                    f"I found facts of {topic}.",
                ]
                assert {step.agent for step in call.substeps} == {"researcher"}
                assert all(step.namespace[0].startswith("tools:") for step in call.substeps)


async def test_a_subgraph_that_calls_its_tools_by_hand_has_their_results(tmp_path: Path) -> None:
    (animal,) = (animal for animal in ANIMALS if animal.graph is subgraph_as_tool)
    async with served(tmp_path / "t.db", animal) as home:
        (run,) = await home.turn()
        for call, topic in zip(calls_of(run.kept), ("moss", "fern"), strict=True):
            facts = f"I found facts of {topic}."
            assert words(call) == ["Looking.", "[look_up]", "result", facts]


async def test_a_subagent_of_a_subagent_stands_under_its_call(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", ANIMALS[2]) as home:
        (run,) = await home.turn()
        (asked,) = calls_of(run.kept)
        assert words(asked) == [
            "[research]",
            *("Looking.", "[look_up]", "result", "I found facts of moss."),
            "result",
            "Written: I found facts of moss.",
        ]
        assert [step.agent for step in asked.substeps] == ["chief", "chief"]


async def test_subagents_may_give_their_calls_the_same_ids(tmp_path: Path) -> None:
    for animal in (*ANIMALS[:2], ANIMALS[2], ANIMALS[3]):
        async with (
            served(tmp_path / f"{animal.name}.db", animal) as apart,
            served(
                tmp_path / f"{animal.name}2.db", animal, SameIds(replies=animal.replies)
            ) as same,
        ):
            *_, expected = await apart.turn()
            for run in (runs := await same.turn()):
                run.check_chunks()
            calls = calls_of(runs[-1].kept)
            assert [words(call) for call in calls] == [*map(words, calls_of(expected.kept))]


def redacting(model: BaseChatModel) -> Any:
    middleware: Any = PIIMiddleware("email", strategy="redact", apply_to_output=True)
    agent = create_agent(model, tools=[look_up], middleware=[middleware], name="researcher")
    return create_agent(model, tools=[research(agent)], name="editor")


def tell_an_address(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    said = edit(prompt, tools)
    return said.replace("facts of", "ann@moss.example,") if isinstance(said, str) else said


async def test_what_a_subagent_redacts_is_redacted_under_its_call(tmp_path: Path) -> None:
    animal = replace(EDITOR, graph=redacting, replies=tell_an_address, prompt="moss")
    async with served(tmp_path / "t.db", animal) as home:
        (run,) = await home.turn()
        run.check_chunks()
        (call,) = calls_of(run.kept)
        assert words(call)[-1] == "I found [REDACTED_EMAIL], moss."
        assert call.substeps_cut == 0
        rows = await home.inside.store.substeps(key_of(), [call.tool_call_id])
        assert "ann@" not in str(rows)
        await run.check_format(STATE)


async def test_an_answer_stands_though_its_last_substeps_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise StorageUnavailable("storage_full")

    async with served(tmp_path / "t.db", ANIMALS[3]) as home:
        monkeypatch.setattr(home.inside.store, "put_substeps", fail)
        run = await serve_run(home.inside, home.request)
        assert run.reason == "tool-calls"


async def test_substeps_are_on_disk_before_the_result_of_their_call_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[int] = []

    async def watched(writer: LogWriter, chunks: Sequence[Chunk]) -> None:
        if any(isinstance(chunk, Result) for chunk in chunks):
            (call,) = calls_of(await home.inside.turns())
            rows.append(len(await home.inside.store.substeps(key_of(), [call.tool_call_id])))
        await write(writer, chunks)

    write = LogWriter.write
    monkeypatch.setattr(LogWriter, "write", watched)
    monkeypatch.setattr(KeptWords, "note", lambda *_, **__: None)
    async with served(tmp_path / "t.db", replace(EDITOR, prompt="moss")) as home:
        await home.turn()
    assert rows == [2]


async def test_steps_before_and_after_a_question_stand_under_its_call(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", ANIMALS[3]) as home:
        asking, going_on = await home.turn()
        assert words(*calls_of(asking.kept)) == ["[ask_user]", "None"]
        assert words(*calls_of(going_on.kept)) == ["[ask_user]", "result", "It is green."]


async def test_the_step_in_which_a_subagent_stops_to_ask_names_its_question(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", ANIMALS[3]) as home:
        run = await serve_run(home.inside, home.request)
        (asked,) = run.named("Interrupt")
        (call,) = calls_of(run.kept)
        assert [step.interrupt_ids for step in call.substeps] == [(asked.id,)]
        run.check_chunks()


def asking_behind_its_words(model: BaseChatModel) -> Any:
    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.bind_tools([look_up]).ainvoke(state["messages"])]}

    def ask(state: MessagesState) -> dict[str, Any]:
        del state
        return {"messages": [AIMessage(f"It is {interrupt('Which?')}.")]}

    builder = StateGraph(MessagesState).add_node(think).add_node(ask)
    subgraph = builder.add_edge(START, "think").add_edge("think", "ask").compile()
    return create_agent(model, tools=[research(subgraph)], name="editor")


async def test_a_question_behind_the_words_of_a_subagent_is_its_own(tmp_path: Path) -> None:
    replies: Replies = lambda prompt, tools: "Hm." if "look_up" in tools else edit(prompt, tools)  # noqa: E731
    animal = replace(EDITOR, graph=asking_behind_its_words, replies=replies, prompt="moss")
    async with served(tmp_path / "t.db", animal) as home:
        run = await serve_run(home.inside, home.request)
        run.check_chunks()
        (asked,) = run.named("Interrupt")
        (call,) = calls_of(run.kept)
        assert [step.interrupt_ids for step in call.substeps] == [(asked.id,)]
        (waiting,) = WIRE_FORMATS[AG_UI].waiting(run.kept, [asked])["pendingInterrupts"]
        assert waiting["subagentRunId"] == call.tool_call_id
        for variant in VARIANTS:
            await run.check_format(variant)


class AsksFirst(AgentMiddleware[Any, Any]):
    """Asks ahead of its agent's first word, once and again."""

    def before_agent(self, state: Any, runtime: Any) -> None:
        del state, runtime
        interrupt("Which?")
        interrupt("Which one?")


def asking_before_its_words(model: BaseChatModel) -> Any:
    agent = create_agent(model, tools=[look_up], middleware=[AsksFirst()], name="researcher")
    return create_agent(model, tools=[research(agent)], name="editor")


async def test_a_question_ahead_of_the_first_word_of_a_subagent_is_its_own(tmp_path: Path) -> None:
    animal = replace(EDITOR, graph=asking_before_its_words, prompt="moss")
    async with served(tmp_path / "t.db", animal) as home:
        run, asked = await serve_run(home.inside, home.request), list[str]()
        for _ in range(2):
            (question,) = run.named("Interrupt")
            (call,) = calls_of(run.kept)
            assert [step.interrupt_ids for step in call.substeps][-1:] == [(question.id,)]
            asked.append(question.value)
            (waiting,) = WIRE_FORMATS[AG_UI].waiting(run.kept, [question])["pendingInterrupts"]
            assert waiting["subagentRunId"] == f"{call.tool_call_id}/researcher"
            await check(run)
            resumed = TurnRequest(resume=Resume({question.id: "The green one."}))
            run = await serve_run(home.inside, resumed)
        await check(run)
        assert asked == ["Which?", "Which one?"]
        (call,) = calls_of(run.kept)
        assert words(call) == ["Looking.", "[look_up]", "result", "I found facts of moss."]


async def test_a_question_of_a_subagent_has_one_step_while_that_of_another_is_answered(
    tmp_path: Path,
) -> None:
    animal = replace(EDITOR, graph=asking_before_its_words)
    async with served(tmp_path / "t.db", animal) as home:
        run = await serve_run(home.inside, home.request)
        first, second = run.named("Interrupt")
        run = await serve_run(home.inside, TurnRequest(resume=Resume({first.id: "Green."})))
        assert second.id in [one.id for one in run.named("Interrupt")]
        asked = [step.interrupt_ids for call in calls_of(run.kept) for step in call.substeps]
        assert asked.count((second.id,)) == 1
        await check(run)


async def check(run: ServedRun) -> None:
    """Its stream is its thread in every format."""
    run.check_chunks()
    for variant in VARIANTS:
        await run.check_format(variant)


async def test_a_question_of_a_subagent_that_nobody_answers_ends_with_its_call(
    tmp_path: Path,
) -> None:
    async with served(tmp_path / "t.db", ANIMALS[3]) as home:
        await serve_run(home.inside, home.request)
        run = await serve_run(home.inside, home.request)
        run.check_chunks()
        assert words(calls_of(run.kept)[0]) == ["[ask_user]", "cancelled"]
        for variant in VARIANTS:
            await run.check_format(variant, in_order=False)


async def test_a_model_in_a_tool_speaks_under_the_call(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", ANIMALS[-1]) as home:
        (run,) = await home.turn()
        assert [words(call) for call in calls_of(run.kept)] == [["house"]]


def with_a_helper(model: BaseChatModel) -> Any:
    @tool
    async def rhyme(word: str) -> str:
        """Find a rhyme."""
        return (await model.ainvoke(f"Rhyme {word}")).text

    @tool
    async def research(topic: str) -> str:
        """Research a topic."""
        return str(await rhyme.ainvoke({"word": topic}))

    return create_agent(model, tools=[research], name="editor")


async def test_what_a_tool_calls_by_its_arguments_alone_speaks_under_the_call_around_it(
    tmp_path: Path,
) -> None:
    replies: Replies = lambda prompt, tools: edit(prompt, tools) if tools else "house"  # noqa: E731
    animal = replace(EDITOR, graph=with_a_helper, replies=replies, prompt="moss")
    async with served(tmp_path / "t.db", animal) as home:
        (run,) = await home.turn()
        (call,) = calls_of(run.kept)
        assert words(call) == ["house"]
        assert [step.agent for step in call.substeps] == [None], "the editor does not say it"


async def test_a_call_whose_id_no_database_takes_is_made_without_substeps(tmp_path: Path) -> None:
    def think(state: MessagesState) -> dict[str, Any]:
        call = {"name": "research", "args": {"topic": "moss"}, "id": "c\ud800"}
        done = state["messages"][-1].type == "tool"
        return {"messages": [AIMessage("Done.") if done else AIMessage("", tool_calls=[call])]}

    def by_hand(model: BaseChatModel) -> Any:
        builder = StateGraph(MessagesState).add_node(think).add_edge(START, "think")
        builder.add_node("tools", ToolNode([research(researcher(model))]))
        builder.add_conditional_edges("think", tools_condition).add_edge("tools", "think")
        return builder.compile()

    async with served(tmp_path / "t.db", replace(EDITOR, graph=by_hand)) as home:
        run = await serve_run(home.inside, home.request)
        assert run.reason == "stop"
        assert [call.substeps for call in calls_of(run.kept)] == [()]


async def test_a_stop_keeps_what_the_subagent_has_said_under_its_call(tmp_path: Path) -> None:
    held = HeldTool()
    async with served(tmp_path / "t.db", replace(EDITOR, graph=held.graph)) as home:
        run = await home.inside.start(home.request)
        await held.is_asked(2)
        await home.inside.stop()
        stopped = await ended(home.inside, run)
        stopped.check_chunks()
        calls = calls_of(stopped.kept)
        assert [call.end for call in calls] == ["cancelled", "cancelled"]
        assert [words(call) for call in calls] == [["Looking.", "[look_up]", "cancelled"]] * 2
        told = [one.chunk for one in stopped.chunks if isinstance(one, Substep)]
        ends = [chunk.end for chunk in told if isinstance(chunk, Result)]
        assert ends == ["cancelled", "cancelled"]


async def both_have_spoken(home: Home) -> bool:
    """Check that words of both subagents are on disk."""
    ids = [call["id"] for call in (await home.inside.messages())[-1].tool_calls]  # type: ignore[attr-defined]
    rows = await home.inside.store.substeps(key_of(), ids)
    return len([row for row in rows if "Looking." in str(row.body)]) == len(ids) == 2


async def test_a_crash_leaves_what_was_kept_and_the_call_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    monkeypatch.setattr(kept_words, "KEEP_SECONDS", 0)
    held = HeldTool()
    async with served(path, replace(EDITOR, graph=held.graph)) as before:
        await before.inside.start(before.request)
        await held.is_asked(2)
        await eventually(partial(both_have_spoken, before))
        async with served(path, EDITOR, crashed=True) as after:
            left = calls_of(await after.inside.turns())
            assert [words(call)[:1] for call in left] == [["Looking."]] * 2
            continued = await ended(after.inside, await after.inside.start(CONTINUE))
            continued.check_chunks()
            assert [call.end for call in calls_of(continued.kept)] == ["result", "result"]
            found = [words(call)[-1] for call in calls_of(continued.kept)]
            assert found == ["I found facts of moss.", "I found facts of fern."]
        await before.inside.stop()


SHAPES = ("agents as tools", "subagents of deepagents at once", "subgraph as a tool", "supervisor")


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("name", SHAPES)
async def test_a_turn_that_a_crash_broke_off_among_their_words_is_its_stream_in_every_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """`test_its_stream_is_its_thread` shows it of a turn that no crash has broken off."""
    (animal,) = (animal for animal in ZOO if animal.name == name)
    monkeypatch.setattr(kept_words, "KEEP_SECONDS", 0)
    model, path = animal.model().held_at(IN_A_SUBAGENT), tmp_path / "t.db"
    async with served(path, animal, model) as before:
        await before.inside.start(before.request)
        await model.gate.reached.wait()
        async with served(path, animal, crashed=True) as after:
            continued = await ended(after.inside, await after.inside.start(CONTINUE))
            continued.check_chunks()
            for variant in VARIANTS:
                await continued.check_format(variant)
            assert continued.reason == "stop"
            assert not after.model.refused
            assert {*animal.under} <= {*map(said, substeps_of(continued.kept))}
        await before.inside.stop()


def substeps_of(turns: Sequence[Turn]) -> list[Step]:
    return [step for call in calls_of(turns) for step in call.substeps]


def said(step: Step) -> str:
    """Write a step as the zoo does."""
    words = "".join(part.text for part in step.parts if isinstance(part, Text))
    called = [part.tool_name for part in step.parts if isinstance(part, ToolCall)]
    return f"{words} [{', '.join(called)}]".strip() if called else words


async def test_a_step_that_has_ended_is_kept_before_two_seconds_are_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_words, "KEEP_SECONDS", 1_000)
    async with served(tmp_path / "t.db", replace(EDITOR, prompt="moss")) as home:
        home.model.gate = Gate(IN_ITS_SECOND_STEP)
        await home.inside.start(home.request)
        await home.model.gate.reached.wait()
        (call,) = calls_of(await home.inside.turns())

        async def is_kept() -> bool:
            rows = await home.inside.store.substeps(key_of(), [call.tool_call_id])
            return ["StepFinish" in str(row.body) for row in rows][:1] == [True]

        await eventually(is_kept)
        await home.inside.stop()


async def test_what_the_log_of_a_lost_run_tells_is_kept(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", ANIMALS[3]) as home:
        _, run = await home.turn()
        store, calls = home.inside.store, calls_of(run.kept)
        kept = await store.substeps(key_of(), [call.tool_call_id for call in calls])
        gone = [replace(row, body=None) for row in kept if row.run_id == run.run.header.run_id]
        assert 0 < len(gone) < len(kept)
        await store.put_substeps(key_of(), run.run.header.run_id, gone)
        await home.inside.checkpoints.keep_told_substeps(
            run.run.header, run.chunks, [call.tool_call_id for call in calls]
        )
        assert await store.substeps(key_of(), [call.tool_call_id for call in calls]) == kept


async def test_a_log_that_breaks_off_in_a_subagent_is_ended(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", EDITOR) as home:
        (run,) = await home.turn()
        for length in range(len(run.chunks)):
            told = [chunk for chunk in run.chunks[:length] if isinstance(chunk, Substep)]
            reader = chunk_grammar.reader_of([*told, *ends_of_substeps(told)])
            assert not any(under.steps or under.parts for under in reader.under.values())


async def test_the_oldest_substeps_are_cut_for_whoever_reads_the_stream_or_the_thread(
    tmp_path: Path,
) -> None:
    async with served(tmp_path / "t.db", EDITOR, substeps_bytes=250) as home:
        (run,) = await home.turn()
        run.check_chunks()
        for call, topic in zip(calls_of(run.kept), ("moss", "fern"), strict=True):
            assert words(call) == [f"I found facts of {topic}."]
            assert call.substeps_cut == 1


async def test_where_substeps_are_hidden_they_are_neither_told_nor_kept(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", EDITOR, substeps_bytes=0) as home:
        (run,) = await home.turn()
        calls = calls_of(run.kept)
        assert not any(isinstance(chunk, Substep) for chunk in run.chunks)
        assert not await home.inside.store.substeps(key_of(), [c.tool_call_id for c in calls])


async def test_calls_of_a_subagent_are_recorded_though_clients_do_not_see_them(
    tmp_path: Path,
) -> None:
    model = EDITOR.model()
    build: Any = lambda model, *_, **__: EDITOR.graph(model)  # noqa: E731
    async with backend(tmp_path / "t.db", model, build=build, audits=True) as inside:
        chunks = await inside.turn(message(EDITOR.prompt))
        assert not any(isinstance(chunk, Substep) for chunk in chunks)
        records = [one for one in await inside.recorded() if one.event == "tool_call"]
        names = sorted(str(one.name) for one in records)
        assert names == ["look_up", "look_up", "research", "research"]


async def test_a_deleted_thread_leaves_no_substeps(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", EDITOR) as home:
        (run,) = await home.turn()
        ids = [call.tool_call_id for call in calls_of(run.kept)]
        assert await home.inside.store.substeps(key_of(), ids)
        await home.inside.runs.delete(key_of())
        assert not await home.inside.store.substeps(key_of(), ids)
