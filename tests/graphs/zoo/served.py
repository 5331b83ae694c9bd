"""The zoo on the server: each graph as it is, through all the questions that it asks."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.graphs.zoo.animal import Animal, Question
from tests.graphs.zoo.model import ReplyingModel
from tests.graphs.zoo.plain_loop import bare
from tests.support.backend import THREAD, Backend, after_crash, backend, message
from tests.support.served_run import ServedRun, serve_run
from turnstream.graphs.result_view import ResultView
from turnstream.server.turns.requests import GraphValues, Resume, TurnRequest


@dataclass(frozen=True)
class Home:
    """A server with one graph, and the model that the graph calls."""

    inside: Backend
    animal: Animal
    model: ReplyingModel

    @property
    def request(self) -> TurnRequest:
        return message(self.animal.prompt, values=GraphValues(input=self.animal.input))

    async def turn(self, thread: str = THREAD) -> list[ServedRun]:
        """A message, and the runs that it takes until no question is open."""
        return await self.resumed(await serve_run(self.inside, self.request, thread))

    async def resumed(self, run: ServedRun) -> list[ServedRun]:
        """The run, and those that answer the questions that it leads to."""
        runs = [run]
        for question in self.open_questions(run):
            request = resumption(runs[-1], question)
            runs.append(await serve_run(self.inside, request, run.thread_id))
        return runs

    def open_questions(self, run: ServedRun) -> Sequence[Question]:
        """The animal's questions from the one on that the run has ended with."""
        asked = sorted(values(run), key=str)
        questions = self.animal.questions
        known = [sorted(question.asked or [None], key=str) for question in questions]
        return questions[known.index(asked) :] if asked else ()


def values(run: ServedRun) -> list[Any]:
    """Of the interrupts that a run has ended with."""
    return [bare(interrupt.value) for interrupt in run.named("Interrupt")]


def resumption(run: ServedRun, question: Question) -> TurnRequest:
    """The answers to all interrupts that a run has ended with, by their ids."""
    ids = [interrupt.id for interrupt in run.named("Interrupt")]
    known, asked = values(run), question.asked or [None]
    answers = question.answer if isinstance(question.answer, list) else [question.answer]
    pairs = zip(asked, answers, strict=True)
    return TurnRequest(resume=Resume({ids[known.index(v)]: answer for v, answer in pairs}))


@asynccontextmanager
async def served(
    path: Path,
    animal: Animal,
    model: ReplyingModel | None = None,
    *,
    crashed: bool = False,
    results: ResultView | None = None,
    substeps_bytes: int = 1_000_000,
) -> AsyncIterator[Home]:
    """The server with an animal; `crashed`: on what the disk holds at this instant."""
    speaker = model or animal.model()
    opened = (after_crash if crashed else backend)(
        path,
        speaker,
        build=lambda model, *_, **__: animal.graph(model),
        context=animal.context,
        client_values=tuple(animal.input),
        client_state=animal.client_state,
        results=results,
        substeps_bytes=substeps_bytes,
    )
    async with opened as inside:
        try:
            yield Home(inside, animal, speaker)
        finally:
            speaker.gate.open()
