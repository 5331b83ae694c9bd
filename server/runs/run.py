"""A run: one execution of the graph, owned by the server and not by any connection."""

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Literal
from uuid import uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage

from turnstream.graphs import stored
from turnstream.graphs.dispositions import of_message
from turnstream.graphs.result_view import view_of_turn
from turnstream.graphs.stored import Ended
from turnstream.server.runs.causes import TOLD, in_words, place_in_words
from turnstream.server.runs.checkpoints import Checkpoints
from turnstream.server.runs.exits import contained_exits
from turnstream.server.runs.failures import Failure, failure
from turnstream.server.runs.finalize import Unfinished, finalize
from turnstream.server.runs.headless_calls import to_clients
from turnstream.server.runs.inspection import CALLS
from turnstream.server.runs.kept_words import KeptWords
from turnstream.server.runs.log_writer import LogWriter, Watch
from turnstream.server.runs.saver import Writes
from turnstream.server.runs.signals import StopSignal, cancelled, ended_when_unread
from turnstream.server.runs.start import RunStart
from turnstream.server.runs.subagents import CallsAtWork
from turnstream.server.runs.telling import Item, Telling
from turnstream.server.runs.thread_changes import added_messages
from turnstream.server.runs.token_count import TokenCount
from turnstream.server.runs.told_state import ToldState
from turnstream.server.runs.translate import Translator
from turnstream.server.runs.waiting_approvals import waiting_approvals
from turnstream.server.storage.interfaces import (
    LeaseLost,
    StorageError,
    StorageUnavailable,
    ThreadStore,
    WaitingApproval,
)
from turnstream.server.storage.run_logs import RunLog
from turnstream.server.turns.chunks import (
    Chunk,
    Disposition,
    Done,
    FinishReason,
    InterruptsDiscarded,
    MessageFinish,
    PartStart,
    TextPart,
    Usage,
)
from turnstream.server.turns.requests import InvalidRequest
from turnstream.server.turns.size import text_bytes
from turnstream.tools.threads import beside_loop

logger = logging.getLogger(__name__)

RunState = Literal["live", "finished", "waiting", "stopped", "failed"]


class RequestNotSaved(Exception):
    """A run is over before its request was saved."""

    def __init__(self, cause: Exception) -> None:
        super().__init__("the request was not saved")
        self.cause = cause


class Run:
    """One run of a thread, from its claim to its terminal chunk."""

    def __init__(
        self,
        start: RunStart,
        checkpoints: Checkpoints,
        store: ThreadStore,
        log: RunLog,
        stop: StopSignal,
        watch: Watch | None = None,
    ) -> None:
        """`watch` sees the chunks as they come."""
        self.start = start
        self.state: RunState = "live"
        self.started = time.monotonic()
        self.watch = watch
        self.first_word: float | None = None
        """When its text began, by the monotonic clock."""
        self.tokens = TokenCount() if start.rights.counts_tokens else None
        self.log = LogWriter(log, watch, has_substeps=bool(checkpoints.substeps_bytes))
        self.accepted: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        """Done when the request is on disk: None; or when it is not kept: why. LeaseLost: another
        worker may have kept it."""
        self._raw_log = log
        self._checkpoints = checkpoints
        self._store = store
        self._stop = stop
        self._request_saved = False
        self._opening: asyncio.Task[None] | None = None
        self.is_refused = False
        """True if nothing of the request is to be kept."""
        self.is_followed = True
        """False once the run has ended and no request is queued behind it."""
        self.new_title: str | None = None
        """The title that the run gave its thread. None: there was a thread before."""
        self._log_bytes = 0
        self._calls: CallsAtWork | None = None
        if checkpoints.attached.streams_subgraphs:
            self._calls = CallsAtWork(checkpoints.substeps_bytes)
        self.translator = Translator(
            start.plan.message_id,
            start.plan.after,
            start.classifier,
            view_of_turn(checkpoints.attached.results, start.plan.user_message),
            checkpoints.speakers,
            keeps_removed=checkpoints.keeps_removed,
            calls=self._calls,
        )
        self.translator.state_names = checkpoints.attached.client_state.names
        if start.options.tells_tasks:
            self.translator.told_values = checkpoints.attached.client_state
        self._removed = 0
        """The number of removed messages that are kept so far."""
        self._words = KeptWords(store, start.key, start.run_id, self.translator)
        self._state = ToldState(checkpoints.attached.client_state, start.plan.before.graph_state)

    async def work(self) -> list[Chunk]:
        """Run the graph to its end, whatever that is, and save what it leaves.

        Returns the terminal chunks, to be logged when the thread is free again. Raises LeaseLost:
        then nothing is saved or said any more; and RequestNotSaved.
        """
        try:
            async with self._words:
                with (
                    self._checkpoints.watch(self.start.key) as writes,
                    ended_when_unread(self._raw_log, self._stop, self.start.limits.unread_seconds),
                ):
                    return await self._to_its_end(writes)
        except (LeaseLost, RequestNotSaved):
            raise
        except Exception as cause:  # noqa: BLE001  a run always ends in order
            return self.translator.finalize([], failed=self._fail(cause))

    def begun(self, title: str | None) -> None:
        """The run's thread is new, and is in the list under this title."""
        self.new_title = title

    @property
    def request_saved(self) -> bool:
        """True once what the request brought is on disk."""
        return self._request_saved

    def set_outcome(self, outcome: Exception | None) -> None:
        """Set `accepted`; the first outcome stands."""
        if not self.accepted.done():
            self.accepted.set_result(outcome)

    async def waiting_approvals(self, expire_seconds: float) -> Sequence[WaitingApproval]:
        """The calls that wait for an approval, once the run has ended."""
        if not (self.translator.awaits_approval or self.start.plan.closes_approvals):
            return ()
        state = await self._checkpoints.load(self.start.key)
        return await beside_loop(
            len(state.messages), lambda: waiting_approvals(state, self.start.key, expire_seconds)
        )

    async def _to_its_end(self, writes: Writes) -> list[Chunk]:
        with contained_exits():
            pump = asyncio.create_task(self._run_graph(writes), name=f"run {self.start.run_id}")
        try:
            last = await self._conclude(pump, writes)
            await self._keep_removed()
            await self._keep_last_substeps()
        except LeaseLost:
            raise
        except Exception as cause:
            if self._request_saved:
                raise
            raise RequestNotSaved(cause) from cause
        finally:
            pump.cancel()
        await self._open_log(writes)  # In case the graph never did: the end has saved the request.
        return last

    async def _run_graph(self, writes: Writes) -> None:
        plan, key = self.start.plan, self.start.key
        if plan.update:
            await self._update(plan.update.as_node, keeps_due=plan.before.unfinished)
            await self._open_log(writes)
            return
        if not plan.runs_graph:
            await self._checkpoints.add(key, plan.new or ())
            await self._open_log(writes)
            return
        if plan.resume and plan.resume.resume is not None:
            await self._checkpoints.forget_bare_answer(key)
        if self._checkpoints.substeps_bytes and plan.after.pending and self.translator.substeps:
            pending = [id for id in plan.after.pending if id]
            kept = await self._store.substeps(key, pending)
            self.translator.substeps.take_back(kept, plan.waiting_on)
        point = plan.point
        if plan.new and not self._checkpoints.attached.takes_messages:
            await self._checkpoints.add(key, plan.new, point)
            point = None
        stream = self._checkpoints.stream(
            key,
            plan.new,
            self.start.context,
            point,
            self.start.values,
            plan.resume,
            self.start.options,
            rights=self.start.rights,
            callbacks=self._callbacks(),
        )
        with writes.streaming():
            async with (
                aclosing(stream) as items,  # type: ignore[type-var]
                Telling(partial(self._tell, writes)) as telling,
            ):
                async for item in items:
                    await telling.add(item)

    async def _update(self, as_node: str | None, *, keeps_due: bool) -> None:
        """Write what the request brings into the thread. Raises InvalidRequest if the graph does
        not take it: a reducer or an edge of its author raises."""
        start = self.start
        new, point = start.plan.new or (), start.plan.point
        try:
            # A stop does not cut it: half of it would be the thread's.
            await _uncut(
                self._checkpoints.write(
                    start.key,
                    new,
                    start.values.input,
                    as_node=as_node,
                    keeps_due=keeps_due,
                    point=point,
                )
            )
        except (StorageUnavailable, LeaseLost):
            raise
        except Exception as cause:
            logger.warning("an update of the state was refused", exc_info=cause)
            raise InvalidRequest(
                "value_not_allowed", "The graph does not take this update of its state."
            ) from cause

    def _callbacks(self) -> list[BaseCallbackHandler]:
        handlers = (self._calls, self.tokens)
        callbacks: list[BaseCallbackHandler] = [one for one in handlers if one]
        if self.start.tells_causes:
            callbacks.append(CALLS.watcher(self.start.key, self.start.run_id))
        return callbacks

    async def _tell(self, writes: Writes, item: Item) -> None:
        if item["type"] == "values":
            self._state.note(item)
        # An update comes first where a breakpoint is ahead of the first node.
        if not self._request_saved and item["type"] not in ("tasks", "updates"):
            return
        if item["type"] == "updates" or not self._request_saved:
            # A request that is accepted and a step that is told must survive a stop and a crash.
            await writes.committed()
        if item["type"] == "updates":
            await self._keep_dispositions(item["data"])
        if not self._request_saved:
            await self._open_log(writes)
        emitted = self._state.emitted(item)
        chunks = self.translator.feed(item) if emitted is None else [*emitted]
        await self._keep_substeps(of_answered=True)
        if item["type"] == "values":
            await self._keep_removed()
            chunks += self._state.tell()
        if chunks:
            if self.first_word is None and any(map(_is_text, chunks)):
                self.first_word = time.monotonic()
            await self.log.write(chunks)
            self._words.note()
            await self._keep_to_size(chunks)

    async def _keep_to_size(self, chunks: Sequence[Chunk]) -> None:
        """End the run if it is too long. Its words are in the log by now, and in the thread too;
        nothing follows them."""
        self._log_bytes += sum(map(text_bytes, chunks))
        limit = self.start.limits.max_bytes
        if self._log_bytes > limit:
            self._stop.send({"reason": "limit", "limit": "max_run_bytes", "value": limit})
            await asyncio.get_running_loop().create_future()  # until the run is cancelled

    async def _open_log(self, writes: Writes) -> None:
        """Admit readers, once: what the request brought is on disk. Opening goes on even if the
        caller is cancelled."""
        self._request_saved = True
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(writes))
            self._opening.add_done_callback(_retrieve)
        await asyncio.shield(self._opening)

    async def _open(self, writes: Writes) -> None:
        plan = self.start.plan
        if plan.dropped and plan.point and plan.dropped != plan.point.checkpoint_id:
            await self._checkpoints.drop_branch(self.start.key, plan.dropped)
        await self._raw_log.open(self.start.header(writes.newest or plan.before.checkpoint_id))
        discarded = [InterruptsDiscarded(plan.discarded)] if plan.discarded else []
        told: list[Chunk] = [*self._state.tell(), *discarded, *plan.approvals, *plan.settled]
        await self.log.write(told)
        self.set_outcome(None)

    async def _keep_removed(self) -> None:
        """Keep what the graph has removed and people still see, before its removal is told."""
        removed = self.translator.shortened[self._removed :]
        if removed:
            start = self.start
            await self._checkpoints.keep_removed(start.key, start.run_id, removed)
            self._removed += len(removed)

    async def _keep_substeps(self, *, of_answered: bool = False) -> None:
        """Keep what subagents have done. `of_answered`: under calls whose results are to be
        told."""
        substeps, start = self.translator.substeps, self.start
        if substeps and (substeps.record.has_answered or not of_answered):
            await substeps.record.write(
                self._store, start.key, start.run_id, of_answered=of_answered
            )

    async def _keep_last_substeps(self) -> None:
        """Keep the rest of them: the answer is saved by now, and stands without them too."""
        try:
            await self._keep_substeps()
        except LeaseLost:
            raise
        except StorageError as error:
            about = {"run": self.start.run_id, "error": error}
            logger.warning("run %(run)s: its substeps are not kept: %(error)s", about)

    async def _keep_dispositions(self, updates: dict[str, Any]) -> None:
        """Keep the dispositions of the calls of a graph that is not ours: its messages do not carry
        them."""
        calls: dict[str, Disposition] = {}
        for message in added_messages(updates):
            if isinstance(message, AIMessage) and stored.dispositions(message) is None:
                calls |= of_message(message, {}, self.start.classifier.fallback)
        others = {id: disposition for id, disposition in calls.items() if disposition != "server"}
        if others:
            await self._store.keep_dispositions(self.start.key, others)

    async def _conclude(self, pump: asyncio.Task[None], writes: Writes) -> list[Chunk]:
        """Wait for the graph, end it if it must end, and save what it left."""
        seconds, either = self.start.limits.max_seconds, (pump, self._stop.sent)
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not pump.done():
            self._stop.send({"reason": "limit", "limit": "max_run_seconds", "value": seconds})
            await cancelled(pump, self.start.run_id)
        await writes.settled()
        reason, cause = self._stop.reason, _cause(pump) or writes.failure
        if isinstance(cause, LeaseLost):
            raise cause
        if isinstance(cause, StorageUnavailable | InvalidRequest) and not self._request_saved:
            raise cause
        if reason and (cause or not pump.done()):
            self.state = "stopped"
            return await self._finalize(reason)
        if cause:
            return await self._finalize(self._fail(cause))
        last = await self._finish()
        plan = self.start.plan
        waits = self.translator.is_waiting or not plan.runs_graph
        if plan.update:
            state = await self._checkpoints.load(self.start.key, waits=True)
            waits = bool(state.interrupts or state.pending("client", "approval"))
        self.state = "waiting" if waits else "finished"
        return last

    async def _finish(self) -> list[Chunk]:
        if not self.start.plan.runs_graph:
            reason: FinishReason = "stop" if self.start.plan.update else "tool-calls"
            told: list[Chunk] = []
            if self.start.values.input and self._checkpoints.attached.client_state.names:
                saved = await self._checkpoints.load(self.start.key)
                told += self._state.tell(saved.graph_state)
            return [*told, MessageFinish(reason, Usage(0, 0)), Done()]
        if not self.translator.is_interrupted:
            return self.translator.finish()
        state = await self._checkpoints.load(self.start.key, waits=True)
        if to_run := to_clients(state.interrupts):
            await self._store.keep_dispositions(self.start.key, to_run)
        chunks = self.translator.reconcile(state.messages, at_rest=True)
        chunks += self._state.tell(state.graph_state)
        return chunks + self.translator.finish(state.interrupts)

    async def _finalize(self, cause: Ended | Failure) -> list[Chunk]:
        unfinished = Unfinished(
            self.start.run_id,
            self.start.key,
            self.start.plan,
            self._request_saved,
            self.translator,
            self._state,
            self._checkpoints,
        )
        return await finalize(unfinished, cause)

    def _fail(self, cause: BaseException) -> Failure:
        self.state = "failed"
        error_id = uuid4().hex[:12]
        named = {
            "run": self.start.run_id,
            "thread": self.start.key.thread_id,
            "error_id": error_id,
        }
        graph = self._checkpoints.attached
        failed = failure(cause, error_id, graph)
        named["cause"] = place_in_words(cause, graph.folders)
        if self.start.tells_causes:
            named["cause"] = in_words(cause, graph.folders)
            failed = replace(failed, told=f"{failed.message} {named['cause']}")
            TOLD.keep(error_id, failed.shown)
        text = "run %(run)s of thread %(thread)s failed, error %(error_id)s: %(cause)s"
        logger.error(text, named, exc_info=cause)
        return failed


def _is_text(chunk: Chunk) -> bool:
    return isinstance(chunk, PartStart) and isinstance(chunk.part, TextPart)


def _retrieve(task: asyncio.Task[None]) -> None:
    """Mark the task's failure as seen, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


def _cause(pump: asyncio.Task[None]) -> BaseException | None:
    """Why the graph broke off; None if it ran to its end, or still runs."""
    if pump.cancelled():
        return asyncio.CancelledError()
    return pump.exception() if pump.done() else None


async def _uncut(work: Coroutine[Any, Any, None]) -> None:
    """Await work to its end, also when this is cancelled meanwhile: it counts as done then."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    task.result()
