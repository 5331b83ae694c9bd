"""Short titles of threads, which a model makes when the first turn is over and has been told.

No run and no reader waits for a title: a few are made at a time, beside the runs. What is not made
when the server ends is dropped: the thread keeps its first words. A thread that was renamed
meanwhile keeps its name.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from contextvars import Context
from typing import cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    HumanMessage,
    SystemMessage,
)

from turnstream.server.extensions.base import Opened, RunSpec, Watch, WatchedRun
from turnstream.server.runs.message_texts import texts
from turnstream.server.runs.token_count import TokenCount
from turnstream.server.runs.transcript import user_content
from turnstream.server.storage.titles import is_first_title, one_line, short_title
from turnstream.server.turns.chunks import Chunk, Done
from turnstream.server.turns.requests import UserMessage

PROMPT = (
    "Give the conversation a title of two to six words, in the language of the user. Answer with "
    "the title alone: no quotation marks, no full stop at its end."
)
AT_ONCE = 4
MAX_WAITING = 100
"""Titles that are made or wait; threads beyond them keep their first words."""
SECONDS = 30.0
GIVEN_CHARS = 2_000
"""Characters of the question, and of the answer, that the model gets."""
READ_CHARS = 400
FIRST_MESSAGES = 50
"""A thread that had more as its run began is not in its first turn; nobody counts its questions."""

logger = logging.getLogger(__name__)


class Titles:
    """Makes titles while it is entered; those that are not made by its end are dropped."""

    def __init__(self, model: BaseChatModel, opened: Opened) -> None:
        self._model = model
        self._threads = opened.threads
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._tasks = set[asyncio.Task[None]]()

    async def __aenter__(self) -> "Titles":
        return self

    async def __aexit__(self, *_error: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def watch(self, run: WatchedRun) -> Watch:
        async def end(chunks: Sequence[Chunk]) -> None:
            if isinstance(chunks[-1], Done) and run.state in ("finished", "waiting"):
                self._begin(run)

        return end

    def _begin(self, run: WatchedRun) -> None:
        # Not what was streamed: the graph may have redacted it since.
        asked = first_question(run)
        if asked is None or len(self._tasks) >= MAX_WAITING:
            return
        making = self._give(run.spec, asked, _said(run.messages))
        # A context of its own: it is no part of the run, which is over.
        task = asyncio.create_task(making, name="a title", context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _give(self, spec: RunSpec, asked: str, said: str) -> None:
        try:
            async with self._slots, asyncio.timeout(SECONDS):
                before = await self._threads.title(spec.key)
                if before is None or not is_first_title(before, asked):
                    return
                title = await self._made(spec, asked, said)
                if title:
                    await self._threads.give_title(spec.key, title, before)
        except Exception as error:  # noqa: BLE001  whatever a provider raises: the thread has a title
            cause = {"thread": spec.key.thread_id, "error": type(error).__name__}
            logger.warning("thread %(thread)s keeps its first words as a title: %(error)s", cause)

    async def _made(self, spec: RunSpec, asked: str, said: str) -> str:
        await spec.budget.check_tokens()
        tokens = TokenCount()
        try:
            answer = await _answer(self._model, asked, said, tokens)
        finally:
            await spec.budget.charge_tokens(await tokens.total())
        return cleaned(str(answer.text))


def first_question(run: WatchedRun) -> str | None:
    """Return the text of the thread's only user message. None: there are others, or it has no
    text."""
    if run.spec.messages_before > FIRST_MESSAGES:
        return None
    asked = [message for message in run.messages if isinstance(message, HumanMessage)]
    return UserMessage(user_content(asked[0])).text.strip() or None if len(asked) == 1 else None


def _said(thread: Sequence[AnyMessage]) -> str:
    """Return the text of the model's messages, without reasoning and tool calls."""
    spoken = [message for message in thread if isinstance(message, AIMessage)]
    return "\n\n".join(text.text for text in texts(spoken))


async def _answer(
    model: BaseChatModel, asked: str, said: str, tokens: TokenCount
) -> AIMessageChunk:
    told = f"User: {asked[:GIVEN_CHARS]}\n\nAssistant: {said[:GIVEN_CHARS]}"
    stream = model.astream([SystemMessage(PROMPT), HumanMessage(told)], {"callbacks": [tokens]})
    answer = AIMessageChunk(content="")
    async with aclosing(cast("AsyncGenerator[AIMessageChunk]", stream)) as chunks:
        async for chunk in chunks:
            answer = answer + chunk
            if len(answer.text) > READ_CHARS:
                break
    return answer


def cleaned(text: str) -> str:
    """Return the first line of a model's words as a title, without marks around it and characters
    that nobody sees. Empty: there is none."""
    lines = (one_line(line).strip(" \"'“”„«»*#`_") for line in text.splitlines())
    line = next(filter(None, lines), "").removeprefix("Title:").strip().removesuffix(".")
    return short_title(line) if line else ""
