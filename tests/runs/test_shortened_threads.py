"""A graph that shortens its thread, to give its model less, takes nothing from what people see."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentState, SummarizationMiddleware, before_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from tests.graphs.zoo import ZOO, Animal
from tests.graphs.zoo.model import question
from tests.graphs.zoo.served import Home, served
from tests.support.backend import key_of, message
from tests.support.documented import check_event
from tests.support.langgraph_reader import named_frames
from tests.support.served_run import LANGGRAPH, STATE, ServedRun, serve_run
from turnstream.graphs.classify import Classifier
from turnstream.server.runs.lost_chunks import last_chunks
from turnstream.server.turns.chunks import HistoryShortened, MessagesRemoved
from turnstream.server.turns.messages import AssistantTurn, Text, Turn, UserTurn
from turnstream.server.turns.requests import Branch, TextContent, TurnRequest
from turnstream.tools.catalogue import Catalogue

COUNT = 5
FOREIGN = Classifier(Catalogue((), ()), unknown="server")
MID_TURN = next(animal for animal in ZOO if animal.name == "agent that summarizes")


def reply(prompt: Sequence[BaseMessage], _: Sequence[str]) -> str:
    return f"Answer to {question(prompt)}"


def summarizing(model: BaseChatModel) -> Any:
    summaries = SummarizationMiddleware(model=model, trigger=("messages", 4), keep=("messages", 2))
    return create_agent(model, middleware=[summaries])


@before_model
def forgets_first(state: AgentState[Any], _: Runtime) -> dict[str, Any] | None:
    first, *rest = state["messages"]
    return {"messages": [RemoveMessage(first.id or "")]} if rest else None


def trimming(model: BaseChatModel) -> Any:
    return create_agent(model, middleware=[forgets_first])


@before_model
def keeps_first_and_last(state: AgentState[Any], _: Runtime) -> dict[str, Any] | None:
    first, *rest = state["messages"]
    kept = [first, *rest[-3 - len(rest) % 2 :]]
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]} if len(rest) > 2 else None


def keeping_both_ends(model: BaseChatModel) -> Any:
    """As LangChain's documentation trims messages."""
    return create_agent(model, middleware=[keeps_first_and_last])


@before_model
def forgets_second(state: AgentState[Any], _: Runtime) -> dict[str, Any] | None:
    """Forgets what follows the first question, until three messages are left."""
    rest = state["messages"][1:]
    return {"messages": [RemoveMessage(one.id or "") for one in rest[:-3]]}


def forgetting_the_second(model: BaseChatModel) -> Any:
    return create_agent(model, middleware=[forgets_second])


@before_model
def forgets_the_last_answer(state: AgentState[Any], _: Runtime) -> dict[str, Any] | None:
    messages = state["messages"]
    return {"messages": [RemoveMessage(messages[-2].id or "")]} if len(messages) > 1 else None


def forgetting_answers(model: BaseChatModel) -> Any:
    return create_agent(model, middleware=[forgets_the_last_answer])


@before_model
def takes_back(state: AgentState[Any], _: Runtime) -> dict[str, Any] | None:
    """Redacts the first message, and takes back the answer to it."""
    first, *rest = state["messages"]
    if len(rest) < 2:
        return None
    redacted = HumanMessage("[REDACTED]", id=first.id)
    return {"messages": [redacted, RemoveMessage(rest[0].id or "")]}


def redacting(model: BaseChatModel) -> Any:
    return create_agent(model, middleware=[takes_back, forgets_first])


def animal(graph: Any) -> Animal:
    return Animal("shortening", graph, reply, "", thread=())


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    async with served(tmp_path / "t.db", animal(summarizing)) as home:
        yield home


async def ask(home: Home, count: int = COUNT) -> None:
    for number in range(1, count + 1):
        run = await serve_run(home.inside, message(f"Question {number}"))
        await check(run)


async def check(run: ServedRun) -> None:
    """Clients of each format that has the marks have them as the thread does."""
    run.check_chunks()
    for variant in (STATE, LANGGRAPH):
        await run.check_format(variant)
    for frame in named_frames(await run.bytes_after(LANGGRAPH, 0)):
        check_event(frame.event, frame.data)


def words(turns: Sequence[Turn]) -> list[str]:
    return ["".join(_texts(turn)) for turn in turns]


def _texts(turn: Turn) -> list[str]:
    if isinstance(turn, UserTurn):
        return [item.text for item in turn.content if isinstance(item, TextContent)]
    return [part.text for part in turn.parts if isinstance(part, Text)]


def asked_and_answered(*numbers: int) -> list[str]:
    pairs = ((f"Question {n}", f"Answer to Question {n}") for n in numbers)
    return [one for pair in pairs for one in pair]


async def test_after_five_questions_a_reload_shows_five_questions_and_marks_those_that_are_gone(
    home: Home,
) -> None:
    await ask(home)
    turns = await home.inside.turns()
    assert words(turns) == asked_and_answered(1, 2, 3, 4, 5)
    assert len(await home.inside.messages()) < 2 * COUNT
    gone = [turn.removed for turn in turns]
    assert gone == sorted(gone, reverse=True)
    assert {*gone} == {True, False}


async def test_summaries_of_summaries_keep_every_question_in_its_place(home: Home) -> None:
    await ask(home, 8)
    assert words(await home.inside.turns()) == asked_and_answered(*range(1, 9))


async def test_a_turn_that_is_shortened_while_it_goes_on_keeps_its_question_and_its_calls(
    tmp_path: Path,
) -> None:
    async with served(tmp_path / "t.db", MID_TURN) as home:
        run = await serve_run(home.inside, home.request)
        await check(run)
        user, said = await home.inside.turns()
        assert isinstance(said, AssistantTurn)
        assert words([user, said]) == ["Read.", "I have read both."]
        assert [step.removed for step in said.steps] == [True, False, False]


async def test_a_removed_question_is_edited_and_its_answer_made_anew(home: Home) -> None:
    await ask(home)
    first, answer, *_ = await home.inside.turns()
    run = await serve_run(home.inside, TurnRequest(branch=Branch("regenerate", answer.id)))
    run.check_chunks()
    assert words(await home.inside.turns()) == asked_and_answered(1)
    await ask(home)
    edit = message("Question 9", branch=Branch("edit", first.id))
    (await serve_run(home.inside, edit)).check_chunks()
    assert words(await home.inside.turns()) == asked_and_answered(9)


async def test_a_version_that_was_left_shows_the_messages_that_were_removed_from_it(
    home: Home,
) -> None:
    await ask(home)
    turns = await home.inside.turns()
    await serve_run(home.inside, TurnRequest(branch=Branch("regenerate", turns[7].id)))
    assert words(await home.inside.turns()) == asked_and_answered(1, 2, 3, 4)
    left = [words(turns) async for _, turns, _ in home.inside.reader.left_branches(key_of())]
    assert asked_and_answered(1, 2, 3, 4, 5) in left


async def test_an_id_that_a_removed_message_has_is_refused(home: Home) -> None:
    await ask(home)
    first, *_ = await home.inside.turns()
    request = message("Once more")
    assert request.message is not None
    taken = TurnRequest(message=type(request.message)(request.message.content, id=first.id))
    with pytest.raises(Exception, match="already has a message"):
        await home.inside.start(taken)


async def test_what_was_removed_before_a_crash_is_shown_after_it(tmp_path: Path) -> None:
    path, shortening = tmp_path / "t.db", animal(summarizing)
    async with served(path, shortening) as home:
        await ask(home, 3)
        async with served(path, shortening, crashed=True) as again:
            assert words(await again.inside.turns()) == asked_and_answered(1, 2, 3)


@pytest.mark.parametrize(
    "played",
    [animal(summarizing), MID_TURN, animal(forgetting_the_second)],
    ids=["before", "in mid-turn", "behind the first question"],
)
async def test_a_worker_that_ends_a_lost_log_tells_the_rest_of_what_is_shown(
    played: Animal, tmp_path: Path
) -> None:
    async with served(tmp_path / "t.db", played) as home:
        for _ in range(4):
            run = await serve_run(home.inside, message("Read."))
        state = await home.inside.state()
        assert run.named("HistoryShortened")
        for cut in range(0, len(run.chunks) - 1, 3):
            told = run.chunks[:cut]
            rest = await last_chunks(
                run.run.header, told, state, "finished", home.inside.checkpoints, FOREIGN
            )
            replace(run, chunks=[*told, *rest]).check_chunks()


async def test_a_message_that_is_removed_alone_is_shown_if_it_was_the_first(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", animal(trimming)) as home:
        await ask(home)
        assert words(await home.inside.turns()) == asked_and_answered(1, 2, 3, 4, 5)


@pytest.mark.parametrize("trimmed", [keeping_both_ends, forgetting_the_second])
async def test_a_graph_that_keeps_the_first_question_and_the_last_messages_takes_nothing_away(
    trimmed: Any, tmp_path: Path
) -> None:
    async with served(tmp_path / "t.db", animal(trimmed)) as home:
        await ask(home, 8)
        turns = await home.inside.turns()
        assert words(turns) == asked_and_answered(*range(1, 9))
        gone = [turn.removed for turn in turns]
        assert gone[0] is False
        assert gone[1:] == sorted(gone[1:], reverse=True)
        assert sum(gone) > COUNT
        again = await serve_run(home.inside, TurnRequest(branch=Branch("regenerate", turns[7].id)))
        await check(again)
        assert words(await home.inside.turns()) == asked_and_answered(1, 2, 3, 4)


async def test_answers_that_a_graph_takes_back_are_gone(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", animal(forgetting_answers)) as home:
        await ask(home, 3)
        questions = ["Question 1", "Question 2", "Question 3"]
        assert words(await home.inside.turns()) == [*questions, "Answer to Question 3"]


async def test_what_the_graph_redacts_and_takes_back_is_gone(tmp_path: Path) -> None:
    async with served(tmp_path / "t.db", animal(redacting)) as home:
        await serve_run(home.inside, message("Question 1"))
        run = await serve_run(home.inside, message("Question 2"))
        told = [one for one in run.chunks if isinstance(one, HistoryShortened | MessagesRemoved)]
        assert [type(one) for one in told] == [MessagesRemoved, HistoryShortened]
        turns = await home.inside.turns()
        assert words(turns) == ["[REDACTED]", "Question 2", "Answer to Question 2"]


async def test_a_deleted_thread_leaves_none_of_its_removed_messages(home: Home) -> None:
    await ask(home)
    assert await home.inside.store.removed(key_of())
    await home.inside.runs.delete(key_of())
    assert not await home.inside.store.removed(key_of())
