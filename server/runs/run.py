"""A run: one execution of the graph, owned by the server and not by any connection."""

import asyncio
import logging
import secrets
import string
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import Any, Literal
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from graphs.context import RUN_ID, TurnContext
from graphs.history import close_pending
from graphs.parts import partial_message
from graphs.routing import ENDED
from server.protocols.chunks import Chunk, Done, MessageFinish, Usage
from server.protocols.requests import ProtocolName
from server.runs.checkpoints import Checkpoints, ThreadState
from server.runs.failures import Failure, failure
from server.runs.finish import ERROR, mark_id
from server.runs.log import ChunkLog
from server.runs.plan import Plan
from server.runs.translate import Translator

logger = logging.getLogger(__name__)

RunState = Literal["live", "finished", "stopped", "failed"]
_ALPHABET = string.ascii_letters + string.digits
_CANCEL_AGAIN_SECONDS = 0.1
_CANCEL_TRIES = 20
_STOPPED = "The run was stopped before this call finished."
_FAILED = "The run failed before this call finished."


def new_run_id() -> str:
    """12 letters and digits: it stands in every event of the run."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(12))


class Run:
    """One run of a thread, from its claim to its terminal chunk."""

    def __init__(
        self, thread_id: str, protocol: ProtocolName, *, unread_seconds: float = 0
    ) -> None:
        self.id = new_run_id()
        self.thread_id = thread_id
        self.protocol = protocol
        self.state: RunState = "live"
        self.log = ChunkLog()
        self.plan: Plan | None = None
        self.context = TurnContext(run_id=self.id)
        self.idempotency_key: str | None = None
        self.unread_seconds = unread_seconds
        self._readers = 0
        self._unread_timer: asyncio.TimerHandle | None = None
        self.started = time.monotonic()
        self.decided = asyncio.Event()
        """Set when the run has begun, or its request was refused."""
        self.begun = asyncio.Event()
        """Set when what the request brought is on disk, or the run is over."""
        self.done = asyncio.Event()
        """Set when the thread is free and the log is closed."""
        self._ended: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    def end(self, reason: dict[str, Any]) -> None:
        """Ask the run to end, for `{"reason", ...}`; the first reason stands."""
        if self.state == "live" and not self._ended.done():
            self._ended.set_result(reason)

    @contextmanager
    def reader(self) -> Iterator[None]:
        """Somebody reads the run; without a reader it may be ended after a while."""
        self._readers += 1
        self._unread_timer.cancel() if self._unread_timer else None
        try:
            yield
        finally:
            self._readers -= 1
            self.watch_readers()

    def watch_readers(self) -> None:
        """End the run when nobody has read it for `unread_seconds`."""
        if self.unread_seconds and not self._readers and self.state == "live":
            limit = {"reason": "limit", "limit": "unread_seconds", "value": self.unread_seconds}
            loop = asyncio.get_running_loop()
            self._unread_timer = loop.call_later(self.unread_seconds, self.end, limit)

    async def work(
        self,
        checkpoints: Checkpoints,
        plan: Plan,
        awaits_client: Callable[[str], bool],
        *,
        context: TurnContext,
        max_seconds: float,
    ) -> list[Chunk]:
        """Run the graph to its end, whatever that is, and save what it leaves.

        Returns the terminal chunks, to be logged when the thread is free again.
        """
        translator = Translator(plan.message_id, plan.after, awaits_client)
        self.log.extend(plan.settled)
        self.watch_readers()
        pump = asyncio.create_task(
            self._run_graph(checkpoints, plan, translator, context), name=f"run {self.id}"
        )
        try:
            return await self._conclude(pump, checkpoints, translator, max_seconds)
        except Exception as cause:  # noqa: BLE001  a run always ends in order
            return translator.settle([], failed=self._fail(cause))

    async def _run_graph(
        self,
        checkpoints: Checkpoints,
        plan: Plan,
        translator: Translator,
        context: TurnContext,
    ) -> None:
        if not plan.calls_model:
            await checkpoints.add(self.thread_id, plan.new or ())
            return
        stream = checkpoints.stream(self.thread_id, plan.new, context, plan.cut)
        async with aclosing(stream) as items:  # type: ignore[type-var]
            async for item in items:
                if item["type"] == "tasks":
                    self.begun.set()
                if item["type"] == "updates":
                    # What was seen as finished must survive a stop and a crash.
                    await checkpoints.committed()
                self.log.extend(translator.feed(item))

    async def _conclude(
        self,
        pump: asyncio.Task[None],
        checkpoints: Checkpoints,
        translator: Translator,
        max_seconds: float,
    ) -> list[Chunk]:
        """Wait for the graph, end it if it must end, and save what it left."""
        either = (pump, self._ended)
        await asyncio.wait(either, timeout=max_seconds, return_when=asyncio.FIRST_COMPLETED)
        if not pump.done():
            self.end({"reason": "limit", "limit": "max_run_seconds", "value": max_seconds})
            await self._cancelled(pump)
        cause = _cause(pump)
        if self._ended.done() and (cause or not pump.done()):
            self.state = "stopped"
            return await self._settle(checkpoints, translator, ended=self._ended.result())
        if cause:
            return await self._settle(checkpoints, translator, failed=self._fail(cause))
        self.state = "finished"
        if self.plan and not self.plan.calls_model:
            return [MessageFinish("tool-calls", Usage(0, 0)), Done()]
        return translator.finish()

    async def _cancelled(self, pump: asyncio.Task[None]) -> None:
        """Cancel again and again: asyncio.wait_for and careless code swallow a cancel."""
        for _ in range(_CANCEL_TRIES):
            if pump.done():
                return
            pump.cancel()
            await asyncio.wait({pump}, timeout=_CANCEL_AGAIN_SECONDS)
        if not pump.done():
            logger.error("run %s does not heed its cancellation; it is abandoned", self.id)

    def _fail(self, cause: BaseException) -> Failure:
        self.state = "failed"
        error_id = uuid4().hex[:12]
        logger.error("run %s failed, error %s", self.id, error_id, exc_info=cause)
        return failure(cause, error_id)

    async def _settle(
        self,
        checkpoints: Checkpoints,
        translator: Translator,
        *,
        ended: dict[str, Any] | None = None,
        failed: Failure | None = None,
    ) -> list[Chunk]:
        """Save what a run left behind that did not come to its end: the words so far, marked, and
        an answer to every call that is open."""
        state = await self._with_request(checkpoints)
        seen = self._catch_up(state.messages, translator)
        mark = {ERROR: failed.mark} if failed else {ENDED: ended}
        marked = self._marked(state.messages, translator, mark)
        others = [message for message in state.messages if message.id != marked.id]
        closers = close_pending(
            [*others, marked],
            "cancelled" if ended else "run_failed",
            _STOPPED if ended else _FAILED,
        )
        await checkpoints.add(self.thread_id, _in_order(marked, closers))
        answers = [m for m in state.messages if isinstance(m, ToolMessage)]
        return seen + translator.settle([*answers, *closers], ended=ended, failed=failed)

    async def _with_request(self, checkpoints: Checkpoints) -> ThreadState:
        """The thread at rest, with what the request brought. That may not be stored yet if the run
        was ended at once; storing it twice changes nothing, since messages have ids."""
        plan = self.plan
        if plan and plan.new and not self.begun.is_set():
            await checkpoints.rest(self.thread_id)
            await checkpoints.add(self.thread_id, plan.new, plan.cut)
        return await checkpoints.rest(self.thread_id)

    def _catch_up(self, messages: Sequence[AnyMessage], translator: Translator) -> list[Chunk]:
        """A message that was saved whole just before the end, and not yet told."""
        cut = translator.streaming
        saved = [m for m in messages if cut and m.id == cut.step_id]
        return translator.feed({"type": "updates", "data": {"": {"messages": saved}}})

    def _marked(
        self, messages: Sequence[AnyMessage], translator: Translator, mark: dict[str, Any]
    ) -> AIMessage:
        """The run's last message with the mark of its end: what streamed so far, the one that is
        stored, or an empty one if the model has not said a word."""
        cut = translator.streaming
        if cut:
            return partial_message(cut.step_id, cut.parts.parts, {RUN_ID: self.id, **mark})
        earlier = {message.id for message in self.plan.after} if self.plan else set()
        for message in reversed(messages):
            if isinstance(message, AIMessage):
                if message.id in earlier:
                    break
                metadata = {**message.response_metadata, **mark}
                return message.model_copy(update={"response_metadata": metadata})
            if not isinstance(message, ToolMessage):
                break
        return AIMessage("", id=mark_id(self.id), response_metadata={RUN_ID: self.id, **mark})


def _in_order(marked: AIMessage, closers: Sequence[ToolMessage]) -> list[AnyMessage]:
    """A call's answer comes before the next message: not every graph's state sees to that."""
    own = {call["id"] for call in marked.tool_calls}
    before = [closer for closer in closers if closer.tool_call_id not in own]
    return [*before, marked, *(closer for closer in closers if closer.tool_call_id in own)]


def _cause(pump: asyncio.Task[None]) -> BaseException | None:
    """Why the graph broke off; None if it ran to its end, or still runs."""
    if pump.cancelled():
        return asyncio.CancelledError()
    return pump.exception() if pump.done() else None
