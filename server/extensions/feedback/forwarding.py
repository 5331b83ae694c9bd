"""Feedback on its way to LangSmith or Langfuse.

No request waits for it: messages whose feedback has changed wait in a bounded queue, and one task
sends the feedback that the database has by then. What the service does not accept is tried again a
few times, then counted and logged. What has not been sent when the server ends is dropped.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol
from weakref import WeakKeyDictionary

import httpx

from turnstream.server.extensions.base import Opened, Watch, WatchedRun, Write
from turnstream.server.extensions.feedback import FeedbackExtension
from turnstream.server.extensions.feedback.given import GivenFeedback
from turnstream.server.extensions.feedback.links import linking, score_of
from turnstream.server.extensions.feedback.services import LangSmith, Service, service_of
from turnstream.server.extensions.feedback.traced import TraceId, langfuse_trace, langsmith_trace
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.header import ThreadKey

MAX_WAITING = 1_000
"""Messages whose feedback waits; that on further ones is not forwarded."""
RETRY_SECONDS = (1.0, 5.0, 20.0)
"""Pauses before further attempts."""
CLOSE_SECONDS = 5.0
"""Limit on the wait for the queue when the server ends."""

logger = logging.getLogger(__name__)


class ForwardingSettings(Protocol):
    @property
    def feedback_forward(self) -> str: ...

    @property
    def traces(self) -> bool: ...


class ForwardingFeedback(FeedbackExtension):
    """Feedback that is forwarded too."""

    def __init__(self, settings: ForwardingSettings) -> None:
        """Raises ExtensionError."""
        self._given = None
        self._service = service_of(settings.feedback_forward, traces=settings.traces)
        self._trace: Callable[[], TraceId] = (
            langsmith_trace if self._service.name == LangSmith.name else langfuse_trace
        )
        self._traces = WeakKeyDictionary[WatchedRun, TraceId]()

    @asynccontextmanager
    async def open(self, opened: Opened) -> AsyncIterator[None]:
        async with forwarding(self._service, opened) as queue:
            self._given = GivenFeedback(opened, queue.put)
            yield

    def watch(self, run: WatchedRun) -> Watch | None:
        self._traces[run] = self._trace()
        return None

    async def after_run(self, run: WatchedRun, chunks: Sequence[Chunk]) -> Sequence[Write]:
        trace = self._traces.pop(run, None)
        trace_id = trace() if trace else None
        return linking(run.spec.key, chunks, trace_id) if trace_id else ()


class Queue:
    """The messages whose feedback is to be sent, each once."""

    def __init__(self, service: Service, opened: Opened) -> None:
        self._service = service
        self._database = opened.database
        self._count = opened.count
        self._waiting: dict[tuple[ThreadKey, str], None] = {}
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()
        self._emptied.set()

    def put(self, key: ThreadKey, message_id: str) -> None:
        if len(self._waiting) >= MAX_WAITING:
            self._fail(key, message_id, "too much feedback waits")
            return
        self._waiting[key, message_id] = None
        self._filled.set()
        self._emptied.clear()

    async def send(self, client: httpx.AsyncClient) -> None:
        """Send what waits, and what comes, without end."""
        while True:
            await self._filled.wait()
            while self._waiting:
                first = next(iter(self._waiting))
                # Behind it the same message may wait again.
                del self._waiting[first]
                await self._send(client, *first)
            self._filled.clear()
            self._emptied.set()

    async def close(self) -> None:
        """Wait until nothing waits any more, at most CLOSE_SECONDS."""
        try:
            await asyncio.wait_for(self._emptied.wait(), CLOSE_SECONDS)
        except TimeoutError:
            # One is being sent.
            left = {"service": self._service.name, "count": len(self._waiting) + 1}
            logger.warning("feedback on %(count)d messages did not reach %(service)s", left)

    async def _send(self, client: httpx.AsyncClient, key: ThreadKey, message_id: str) -> None:
        fault = ""
        for pause in (0.0, *RETRY_SECONDS):
            await asyncio.sleep(pause)
            try:
                score = await self._database.read(score_of, key, message_id)
                if score is None:
                    self._count("not_traced")
                    return
                await self._service.send(client, score)
            except httpx.HTTPStatusError as error:
                fault = f"status {error.response.status_code}"
            except Exception as error:  # noqa: BLE001  whatever is wrong with the service or its answer
                fault = type(error).__name__
            else:
                self._count("forwarded")
                return
        self._fail(key, message_id, fault)

    def _fail(self, key: ThreadKey, message_id: str, fault: str) -> None:
        self._count("not_forwarded")
        named = {
            "message": message_id,
            "thread": key.thread_id,
            "service": self._service.name,
            "fault": fault,
        }
        text = "feedback on message %(message)s of thread %(thread)s did not reach %(service)s: "
        logger.warning(text + "%(fault)s", named)


@asynccontextmanager
async def forwarding(service: Service, opened: Opened) -> AsyncIterator[Queue]:
    """Send the feedback of the queue while the block runs."""
    queue = Queue(service, opened)
    async with service.client() as client:
        sending = asyncio.create_task(queue.send(client), name="forwarding feedback")
        try:
            yield queue
        finally:
            await queue.close()
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
