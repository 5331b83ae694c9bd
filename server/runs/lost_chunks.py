"""The end of a log whose run is lost: what is left to say, as the thread shows the run.

The log may be behind the thread, since what is committed is said afterwards; and ahead of it, since
words are said before their message is saved. So the steps are told again from the log, compared
with the thread as those of a live run are, and closed.
"""

from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import replace

from langchain_core.messages import AIMessage, ToolMessage

from turnstream.graphs import stored, stored_user
from turnstream.graphs.classify import Classifier
from turnstream.graphs.result_view import view_of_turn
from turnstream.server.runs.checkpoints import Checkpoints
from turnstream.server.runs.failures import SENTENCES, Failure
from turnstream.server.runs.shortening import shown_ids
from turnstream.server.runs.steps_from_log import read_log
from turnstream.server.runs.substeps import ends_of_substeps
from turnstream.server.runs.thread_changes import ThreadBefore
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.runs.translate import Translator
from turnstream.server.storage.interfaces import LeaseLost, ThreadRunState
from turnstream.server.storage.run_logs import RunLog
from turnstream.server.turns.chunks import (
    Chunk,
    Done,
    Error,
    GraphState,
    HistoryShortened,
    MessageFinish,
    MessagesRemoved,
    ToolSettled,
    Usage,
)
from turnstream.server.turns.graph_state import state_after
from turnstream.server.turns.header import RunHeader

INTERRUPTED = Failure("run_interrupted", SENTENCES["run_interrupted"], None)
LOST_END: tuple[Chunk, ...] = (
    Error(INTERRUPTED.code, INTERRUPTED.message, None),
    MessageFinish("error", Usage(0, 0)),
    Done(),
)
"""The end of a run of which nothing more is known."""


async def told_so_far(log: RunLog) -> list[Chunk]:
    """Return the chunks that a log holds by now."""
    last, chunks = (await log.status()).last, list[Chunk]()
    if last > 0:
        async with aclosing(log.read(0)) as batches:
            async for batch in batches:
                chunks += [chunk for _, chunk in batch]
                if len(chunks) >= last:
                    break
    return chunks


async def last_chunks(
    header: RunHeader,
    told: Sequence[Chunk],
    state: ThreadState,
    end: ThreadRunState,
    checkpoints: Checkpoints,
    classifier: Classifier,
) -> list[Chunk]:
    """Return the chunks that follow in a log which holds `told`, so that its readers have what the
    thread has; `state` is the thread with the run as the last, `end` how the run ended."""
    before = ThreadState()
    if header.checkpoint_id:
        before = await checkpoints.load(header.key, header.checkpoint_id)
    classifier = replace(classifier, graph_tools=checkpoints.attached.ui_dispositions)
    translator = _LostTranslator(header, before, told, state, checkpoints, classifier)
    chunks = ends_of_substeps(told)
    with suppress(LeaseLost):  # Then the run's end is in the store, and its substeps were before.
        pending = [id for id in ThreadBefore(before.shown).pending if id]
        await checkpoints.keep_told_substeps(header, [*told, *chunks], pending)
    chunks += translator.reconcile(state.shown)
    chunks += _shortened(told, before, state)
    chunks += _graph_state(told, before, state)
    return chunks + translator.end(end, state)


def _shortened(
    told: Sequence[Chunk], before: ThreadState, state: ThreadState
) -> list[HistoryShortened]:
    """Return the mark of messages that the graph has removed, if it is not told."""
    known = {id for chunk in told if isinstance(chunk, HistoryShortened) for id in chunk.ids}
    known |= {*shown_ids(before.removed)}
    ids = tuple(id for id in shown_ids(state.removed) if id not in known)
    return [HistoryShortened(ids)] if ids else []


def _graph_state(
    told: Sequence[Chunk], before: ThreadState, state: ThreadState
) -> list[GraphState]:
    if (
        state.graph_state is None
        or state_after(told, before.graph_state or {}) == state.graph_state
    ):
        return []
    return [GraphState(state.graph_state, is_whole=True)]


class _LostTranslator(Translator):
    """Goes on behind chunks that another translator of the run has told."""

    def __init__(
        self,
        header: RunHeader,
        before: ThreadState,
        told: Sequence[Chunk],
        state: ThreadState,
        checkpoints: Checkpoints,
        classifier: Classifier,
    ) -> None:
        history = ThreadBefore(before.shown)
        super().__init__(
            header.message_id,
            history,
            classifier,
            view_of_turn(
                checkpoints.attached.results,
                stored_user.named(state.shown, header.user_message_id),
            ),
            keeps_removed=False,
        )
        kept = {m.id: m for m in state.shown if isinstance(m, AIMessage)}
        read_log(self._steps, told, kept, classifier)
        for chunk in told:
            match chunk:
                case ToolSettled():
                    self._pending.pop(chunk.tool_call_id, None)
                    if chunk.duration_ms is not None:
                        self._steps.settled_ms[chunk.tool_call_id] = chunk.duration_ms
                case MessagesRemoved():
                    self._thread.note_removed(chunk.ids)

    def end(self, end: ThreadRunState, state: ThreadState) -> list[Chunk]:
        last = self._last
        ended = stored.ended(last) if last else None
        error = stored.error(last) if last else None
        answers = [m for m in state.messages if isinstance(m, ToolMessage)]
        if end == "failed" and error:
            failed = Failure(error["code"], error["message"], error["id"])
            return self.finalize(answers, failed=failed)
        if end in ("stopped", "interrupted") and ended:
            return self.finalize(answers, ended=ended)
        if end in ("finished", "waiting"):
            return self.finish(state.interrupts)
        # Calls without an answer stay open: who continues the thread has them run.
        return [
            *self._close_all(None, "error"),
            Error(INTERRUPTED.code, INTERRUPTED.message, None),
            self._steps.message_finish("error"),
            Done(),
        ]
