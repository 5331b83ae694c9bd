"""Short titles of threads, which a model makes when the first turn is over and has been told.

No run and no reader waits for a title: a few are made at a time, beside the runs. What is not made
when the server ends is dropped: the thread keeps its first words. A thread that was renamed
meanwhile keeps its name.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from contextvars import Context
from functools import partial
from typing import cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    HumanMessage,
    SystemMessage,
)

from turnstream.server.runs.plan import Plan
from turnstream.server.runs.run import Run
from turnstream.server.runs.searchable import texts
from turnstream.server.runs.token_count import TokenCount
from turnstream.server.runs.transcript import user_content
from turnstream.server.storage.interfaces import ThreadStore
from turnstream.server.storage.titles import is_first_title, one_line, short_title
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import UserMessage
from turnstream.server.users.rights import Rights

PROMPT = (
    "Give the conversation a title of two to six words, in the language of the user. Answer with "
    "the title alone: no quotation marks, no full stop at its end."
)
AT_ONCE = 4
MAX_WAITING = 100
"""Titles that are made or wait; threads beyond them keep their first words."""
SECONDS = 30.0
GIVEN_CHARS = 2_000
"""Of the question and of the answer, each."""
READ_CHARS = 400
FIRST_MESSAGES = 50
"""A thread that had more as its run began is not in its first turn; nobody counts its questions."""

logger = logging.getLogger(__name__)


class Titles:
    """Sees each run; makes nothing before `open`."""

    def __init__(self) -> None:
        self._make: Callable[[Run, str, str], None] | None = None

    def run_begins(self, run: Run) -> Callable[[Sequence[Chunk]], None]:
        return partial(self._run_ended, run)

    def _run_ended(self, run: Run, _chunks: Sequence[Chunk]) -> None:
        if self._make is None or run.state not in ("finished", "waiting"):
            return
        # Not what was streamed: the graph may have redacted it since.
        thread = run.translator.thread
        asked = first_question(run.start.plan, thread)
        if asked:
            self._make(run, asked, _said(thread))

    @asynccontextmanager
    async def open(self, model: BaseChatModel, store: ThreadStore) -> AsyncIterator[None]:
        """Make titles from now on; at the end those that are not made yet are dropped."""
        slots, tasks = asyncio.Semaphore(AT_ONCE), set[asyncio.Task[None]]()

        def make(run: Run, asked: str, said: str) -> None:
            if len(tasks) >= MAX_WAITING:
                return
            making = _give(model, store, slots, run.start.key, run.start.rights, asked, said)
            # A context of its own: it is no part of the run, which is over.
            task = asyncio.create_task(making, name="a title", context=Context())
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        self._make = make
        try:
            yield
        finally:
            self._make = None
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def first_question(plan: Plan, thread: Sequence[AnyMessage]) -> str | None:
    """The text of the thread's only user message. None: there are others, or it has no text."""
    if len(plan.before.messages) > FIRST_MESSAGES:
        return None
    asked = [message for message in thread if isinstance(message, HumanMessage)]
    return UserMessage(user_content(asked[0])).text.strip() or None if len(asked) == 1 else None


def _said(thread: Sequence[AnyMessage]) -> str:
    """The text of the model's messages, without reasoning and tool calls."""
    spoken = [message for message in thread if isinstance(message, AIMessage)]
    return "\n\n".join(text.text for text in texts(spoken))


async def _give(
    model: BaseChatModel,
    store: ThreadStore,
    slots: asyncio.Semaphore,
    key: ThreadKey,
    rights: Rights,
    asked: str,
    said: str,
) -> None:
    try:
        async with slots, asyncio.timeout(SECONDS):
            entry = await store.get(key)
            if entry is None or not is_first_title(entry.title, asked):
                return
            await rights.check_tokens()
            tokens = TokenCount()
            try:
                answer = await _answer(model, asked, said, tokens)
            finally:
                await rights.charge_tokens(await tokens.total())
            title = cleaned(str(answer.text))
            if title:
                await store.give_title(key, title, entry.title)
    except Exception as error:  # noqa: BLE001  whatever a provider raises: the thread has a title
        cause = {"thread": key.thread_id, "error": type(error).__name__}
        logger.warning("thread %(thread)s keeps its first words as a title: %(error)s", cause)


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
    """What a model says as a title: its first line, without marks around it and characters that are
    not seen. Empty: there is none."""
    lines = (one_line(line).strip(" \"'“”„«»*#`_") for line in text.splitlines())
    line = next(filter(None, lines), "").removeprefix("Title:").strip().removesuffix(".")
    return short_title(line) if line else ""
