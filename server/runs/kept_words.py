"""Words of a live run that its thread does not have yet: kept, in case the process dies.

A run that is over within KEEP_SECONDS keeps nothing, and so does one that says nothing new. A
substep that has ended is kept at once: its subagent goes on behind it after a crash.
"""

import asyncio
import json
import logging
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Any, Self

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)

from turnstream.graphs import stored
from turnstream.graphs.history import close_pending
from turnstream.graphs.parts import partial_message
from turnstream.server.runs.checkpoints import Checkpoints
from turnstream.server.runs.substeps import Substeps
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.runs.translate import Translator
from turnstream.server.storage.interfaces import LeaseLost, StorageError, ThreadStore
from turnstream.server.turns.header import ThreadKey

logger = logging.getLogger(__name__)

KEEP_SECONDS = 2.0
"""Seconds of words that are lost at most."""

_CLOSED = "The run ended before this call finished."


def unsaved_messages(run_id: str, translator: Translator) -> list[AIMessage]:
    """Return the messages that streamed and are not in the thread."""
    return [
        step.message or partial_message(run_id, step.step_id, step.parts.parts, step.server_keys)
        for step in translator.unsaved
    ]


def unsaved_answers(translator: Translator) -> list[ToolMessage]:
    """Return the answers to the calls of these messages."""
    return [answer for step in translator.unsaved for answer in step.answers]


def in_order(spoken: Sequence[AIMessage], answers: Sequence[ToolMessage]) -> list[AnyMessage]:
    """A call's answer comes before the next message: not every graph's state sees to that."""
    calls = [{call["id"] for call in message.tool_calls} for message in spoken]
    own = {id for ids in calls for id in ids}
    messages: list[AnyMessage] = [a for a in answers if a.tool_call_id not in own]
    for message, ids in zip(spoken, calls, strict=True):
        messages += [message, *(answer for answer in answers if answer.tool_call_id in ids)]
    return messages


class KeptWords:
    """The kept words of one run, which are forgotten when the block ends."""

    def __init__(
        self, store: ThreadStore, key: ThreadKey, run_id: str, translator: Translator
    ) -> None:
        self._store, self._key, self._run_id = store, key, run_id
        self._translator = translator
        self._timer: asyncio.TimerHandle | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._kept: str | None = None

    async def __aenter__(self) -> Self:
        return self

    def note(self) -> None:
        """The run has said something: it is kept soon, and substeps that have ended at once."""
        substeps = self._translator.substeps
        if substeps and substeps.record.take_ended() and self._is_idle:
            self._start(self._keep_substeps(substeps))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(KEEP_SECONDS, self._begin)

    def _begin(self) -> None:
        self._timer = None
        if self._is_idle:
            self._start(self._keep())
        else:
            self.note()  # the database is slow

    @property
    def _is_idle(self) -> bool:
        return self._keeping is None or self._keeping.done()

    def _start(self, keeping: Coroutine[Any, Any, None]) -> None:
        self._keeping = asyncio.create_task(keeping, name=f"run {self._run_id}, words")

    async def _keep_substeps(self, substeps: Substeps) -> None:
        try:
            await substeps.record.write(self._store, self._key, self._run_id)
        except StorageError as error:
            logger.warning("run %(run)s: its substeps are not kept: %(error)s", self._about(error))

    async def _keep(self) -> None:
        if self._translator.substeps:
            await self._keep_substeps(self._translator.substeps)
        spoken = unsaved_messages(self._run_id, self._translator)
        unsaved = [*spoken, *unsaved_answers(self._translator)]
        words = _as_kept(unsaved) if spoken else None
        if words is None or words == self._kept:
            return
        try:
            await self._store.put_words(self._key, self._run_id, words)
            self._kept = words
        except StorageError as error:
            logger.warning("run %(run)s: its words are not kept: %(error)s", self._about(error))

    async def __aexit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._keeping is None:
            return
        if _type is LeaseLost:
            self._keeping.cancel()  # The worker that takes the claim over needs them.
            return
        await asyncio.wait({self._keeping})
        if not self._keeping.cancelled() and (cause := self._keeping.exception()):
            logger.error("run %(run)s: its words were not kept", self._about(cause), exc_info=cause)
        try:
            await self._store.forget_words(self._key)
        except StorageError as error:
            # They are of this run alone, and what they say is in the thread.
            logger.warning("run %(run)s: its words stay: %(error)s", self._about(error))

    def _about(self, error: BaseException) -> dict[str, object]:
        return {"run": self._run_id, "error": error}


def _as_kept(messages: Sequence[BaseMessage]) -> str:
    """Write messages as JSON. A tool's artifact may have anything: what is not JSON is null."""
    written = [message_to_dict(message) for message in messages]
    return json.dumps(written, default=lambda _: None, skipkeys=True)


async def restored(
    words: str, state: ThreadState, key: ThreadKey, checkpoints: Checkpoints
) -> ThreadState:
    """The thread of a run that a crash cut off, with the answer as far as it was kept; the thread
    comes to rest as after a stop."""
    if not any(isinstance(one, AIMessage) for one in _missing(state, words)):
        return state
    state = await checkpoints.abandon_pending(key)
    missing = _missing(state, words)
    spoken = [one for one in missing if isinstance(one, AIMessage)]
    if not spoken:
        return state
    spoken[-1] = stored.with_end(spoken[-1], ended={"reason": "shutdown"}, error=None)
    own = {call["id"] for message in spoken for call in message.tool_calls}
    answers = [m for m in missing if isinstance(m, ToolMessage) and m.tool_call_id in own]
    closers = close_pending([*spoken, *answers], "interrupted", _CLOSED)
    await checkpoints.add(key, in_order(spoken, [*answers, *closers]))
    return await checkpoints.load(key)


def _missing(state: ThreadState, words: str) -> Sequence[BaseMessage]:
    known = {message.id for message in state.shown}
    return [one for one in messages_from_dict(json.loads(words)) if one.id not in known]
