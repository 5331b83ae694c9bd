"""Requests that wait for their turn on a thread: kept in the store, and begun one after the other.

Who adds a request, ends a run or frees a thread looks for the next one (`RunQueue.begin_next`); a
sweep finds what a worker that is gone has left, and what could not begin a moment ago.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from uuid import uuid4
from weakref import WeakValueDictionary

from turnstream.server.callers.principal import LOCAL, Principal
from turnstream.server.callers.rights import Forbidden, LimitExceeded
from turnstream.server.runs.capacity import TooManyRuns
from turnstream.server.runs.claims import new_run_id
from turnstream.server.runs.deadline import in_time
from turnstream.server.runs.hooks import GuardFailed
from turnstream.server.runs.interrupts import is_by_id
from turnstream.server.runs.lives import StreamLost
from turnstream.server.runs.reader import LoggedRun, RunReader
from turnstream.server.runs.retries import Retries
from turnstream.server.runs.run_audit import RunAudit
from turnstream.server.runs.shutdown import ShuttingDown
from turnstream.server.runs.thread_version import ThreadChanged, UnknownThread
from turnstream.server.storage.interfaces import LeaseLost, StorageUnavailable, ThreadStore
from turnstream.server.storage.queued_requests import QueuedRequest, QueueFull
from turnstream.server.turns.header import LOCAL_OWNER, ThreadKey
from turnstream.server.turns.problem_codes import pick
from turnstream.server.turns.requests import Branch, IdempotencyKey, InvalidRequest, TurnRequest

SWEEP_SECONDS = 5.0
SWEEP_LIMIT = 100
BEGUN_AT_ONCE = 8
MAX_LATER_SECONDS = 60.0
"""At most, until a thread is tried again whose owner has used up a limit: it may be raised."""
POLL_SECONDS = 1.0
"""Between looks at a request that another worker may begin."""
HOLD_SECONDS = 20.0
"""Longer than a request waits for a thread (`deadline.END_SECONDS`)."""
MAX_POSTERS = 1_000

_LATER = (TooManyRuns, LimitExceeded, GuardFailed, StorageUnavailable)
"""The next sweep tries again."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueuedRun:
    """A run that begins when those ahead of it are over."""

    key: ThreadKey
    run_id: str
    wire_format: str
    message_id: str | None
    """The user message that it brings. None: it brings none."""
    place: int
    """1: the next one."""

    @classmethod
    def of(cls, queued: QueuedRequest, place: int) -> "QueuedRun":
        message = queued.request.message
        id = message.id if message else None
        return cls(queued.key, queued.run_id, queued.wire_format, id, place)


class Withdrawn(InvalidRequest):
    """The request was withdrawn before its run began."""

    def __init__(self) -> None:
        super().__init__("request_withdrawn", "The request was withdrawn before its turn.", 409)


def may_wait(request: TurnRequest) -> bool:
    """Return True if a request means the same when the runs ahead of it are over. An answer that
    names no question, and the end of a turn, would reach a question that nobody has seen; what goes
    back to an earlier place would drop what the runs ahead have said."""
    is_bare = request.resume is not None and not is_by_id(request.resume.value)
    ends = request.update is not None and request.update.ends
    goes_back = request.branch is not None and not brings_message(request)
    return not (is_bare or ends or goes_back or request.head or request.version)


def brings_message(request: TurnRequest) -> bool:
    """Check for a branch at the message that comes along: it is one only if the thread holds the
    message."""
    message, branch = request.message, request.branch
    if message is None or message.id is None or branch is None:
        return False
    return branch == Branch("regenerate", message.id)


def _as_queued(request: TurnRequest) -> TurnRequest:
    """The request as it is carried out at its turn.

    It was checked when it was queued: the runs ahead of it are no surprise. A branch is one at a
    message that is new, and a posted state is older than what the runs ahead leave. Its thread is
    there. For questions it waits by itself.
    """
    message = request.message
    if message and message.id is None:
        message = replace(message, id=f"msg_{uuid4().hex[:16]}")
    if request.on_interrupt == "queue":
        request = replace(request, on_interrupt="discard")
    return replace(
        request,
        message=message,
        branch=None,
        based_on=None,
        posted_state=None,
        thread_metadata=None,
        on_busy="queue",
        after_seconds=None,
    )


def poster(queued: QueuedRequest) -> Principal:
    """The caller as they are stored: without tokens and headers, which never are."""
    if queued.key.owner == LOCAL_OWNER:
        return LOCAL
    return Principal(queued.key.owner, queued.roles, queued.display_name, method="queue")


class RunQueue:
    """`begin` makes the run of a queued request under its claim, and returns when the request is
    kept. `most` requests may wait for a thread; `is_shared`: other workers begin runs too."""

    def __init__(
        self,
        store: ThreadStore,
        reader: RunReader,
        retries: Retries,
        begin: Callable[[ThreadKey, str, Principal | None], Awaitable[bool]],
        audit: RunAudit,
        *,
        most: int,
        is_shared: bool,
    ) -> None:
        self._store = store
        self._reader = reader
        self._retries = retries
        self._begin = begin
        self._is_ending = False
        self._audit = audit
        self._most = most
        self._is_shared = is_shared
        self._held = Counter[ThreadKey]()
        self._beginning = WeakValueDictionary[ThreadKey, asyncio.Lock]()
        self._posters: dict[str, Principal] = {}
        """By run id: the callers whose requests this process has queued, with their tokens; the
        last MAX_POSTERS."""
        self._not_before: dict[ThreadKey, float] = {}
        """Threads whose owners have used up a limit, and when a sweep tries them again, on the
        monotonic clock."""
        self._changes = WeakValueDictionary[str, asyncio.Event]()
        """By run id: set when something has become of a request that somebody here waits for."""

    async def is_behind(self, key: ThreadKey, request: TurnRequest) -> bool:
        """Return True if the request waits for its turn though the thread may be free. While a
        question waits, so do those ahead of it: whoever writes then goes past the question."""
        is_next = not request.answers_questions and await self._store.next_queued(key)
        return bool(is_next)

    async def holds(self, key: ThreadKey, message_id: str | None) -> bool:
        """Return True if a message is in the thread, or waits for it. Raises StorageError."""
        waits = [one.request.message for one in await self._store.queue(key)]
        if any(message and message.id == message_id for message in waits):
            return True
        return await self._reader.has_messages(key, [message_id or ""])

    async def to_replace(self, key: ThreadKey) -> Sequence[str]:
        """Return the run ids of a thread's requests that are not due yet. Raises QueueFull if too
        many others wait for one more, StorageUnavailable."""
        waits = await self._store.queue(key)
        later = [one.run_id for one in waits if one.is_later and not one.has_begun]
        if len(waits) - len(later) >= self._most:
            raise QueueFull(self._most)
        return later

    async def add(
        self,
        principal: Principal,
        key: ThreadKey,
        request: TurnRequest,
        wire_format: str,
        idempotency: IdempotencyKey | None,
        replaced: Sequence[str] = (),
    ) -> QueuedRun | None:
        """Queue a request, and then withdraw those of the runs `replaced`. None: the thread is
        gone, or the idempotency key names a request by now. Raises QueueFull,
        StorageUnavailable."""
        now = time.time()
        queued = QueuedRequest(
            key=key,
            run_id=new_run_id(),
            wire_format=wire_format,
            request=_as_queued(request),
            queued_at=now,
            due_at=None if request.after_seconds is None else now + request.after_seconds,
            roles=principal.roles,
            display_name=principal.display_name,
        )
        self._keep_poster(queued.run_id, principal)
        place = None
        try:
            most = self._most + len(replaced)
            place = await self._store.enqueue(queued, most, idempotency)
        finally:
            if place is None:
                self._posters.pop(queued.run_id, None)
        if place is None:
            return None
        for run_id in replaced:
            await self.withdraw(key, run_id)
        self.wake(key)
        return QueuedRun.of(queued, place)

    async def repeated(self, owner: str, idempotency: IdempotencyKey | None) -> QueuedRun | None:
        """Return the queued run of an earlier request under the same key. Raises InvalidRequest for
        another body."""
        found = await self._store.queued_under(owner, idempotency) if idempotency else None
        if found is None:
            return None
        queued, same_body = found
        if not same_body:
            raise InvalidRequest(
                "idempotency_key_reused",
                "The Idempotency-Key was used for another body; take a new key.",
            )
        return await self.find(queued.key, queued.run_id)

    async def find(self, key: ThreadKey, run_id: str) -> QueuedRun | None:
        """None: the request was withdrawn, or its run has it."""
        place = 1
        for queued in await self._store.queue(key):
            if queued.run_id == run_id:
                return QueuedRun.of(queued, place)
            is_ahead = not (queued.has_begun or queued.is_later or queued.problem)
            place += is_ahead
        return None

    async def edit(
        self, principal: Principal, key: ThreadKey, run_id: str, request: TurnRequest
    ) -> QueuedRequest | None:
        """See `QueueStore.edit_queued`. The run has the rights of who edits its request."""
        by = principal.roles, principal.display_name, self._audit.edited(key, run_id)
        edited = await self._store.edit_queued(key, run_id, request, *by)
        if edited:
            self._keep_poster(run_id, principal)
            self.wake(key)
        return edited

    async def move(self, key: ThreadKey, run_id: str, place: int) -> QueuedRequest | None:
        """See `QueueStore.move_queued`."""
        moved = await self._store.move_queued(key, run_id, place)
        self.wake(key)
        return moved

    def _keep_poster(self, run_id: str, principal: Principal) -> None:
        self._posters[run_id] = principal
        if len(self._posters) > MAX_POSTERS:
            del self._posters[next(iter(self._posters))]

    async def withdraw(self, key: ThreadKey, run_id: str, *, is_listed: bool = False) -> bool:
        """See `QueueStore.withdraw`."""
        audited = self._audit.withdrawn(key, run_id)
        withdrawn = await self._store.withdraw(key, run_id, audited, is_listed=is_listed)
        if withdrawn:
            self._posters.pop(run_id, None)
            self._changed(run_id)
            self.wake(key)
        return withdrawn

    async def begun(self, queued: QueuedRun) -> LoggedRun:
        """Wait until the run has begun. Raises InvalidRequest with the reason why it cannot,
        Withdrawn, StreamLost, ShuttingDown."""
        change = self._changes.setdefault(queued.run_id, asyncio.Event())
        while True:
            if self._is_ending:
                raise ShuttingDown
            change.clear()
            with suppress(StorageUnavailable):  # Then at the next look.
                if run := await self._look_for(queued):
                    return run
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS if self._is_shared else SWEEP_SECONDS):
                    await change.wait()

    async def _look_for(self, queued: QueuedRun) -> LoggedRun | None:
        """None: the run has not begun. Raises InvalidRequest, Withdrawn, StreamLost."""
        key, run_id = queued.key, queued.run_id
        state = await self._store.queued_state(key, run_id)
        problem, has_begun = state or (None, True)
        if problem:
            raise InvalidRequest(*problem, 409)
        if has_begun and (run := await self._reader.find(key, run_id)):
            return run
        if state is None:
            entry, id = await self._store.get(key), queued.message_id
            is_last = entry is not None and entry.run_id == run_id
            has_run = is_last or (id and await self._reader.has_messages(key, [id]))
            raise StreamLost(key, run_id) if has_run else Withdrawn
        return None

    def _changed(self, run_id: str) -> None:
        if change := self._changes.get(run_id):
            change.set()

    def stop_waiting(self) -> None:
        """The server takes no new runs: readers that wait for one go to another worker."""
        self._is_ending = True
        for change in [*self._changes.values()]:
            change.set()

    @asynccontextmanager
    async def holding(self, key: ThreadKey) -> AsyncIterator[None]:
        """Begin no queued run of a thread meanwhile, and for up to HOLD_SECONDS at other workers:
        its run is stopped for another request, or it is deleted. Raises ThreadStillBusy,
        StorageUnavailable."""
        self._held[key] += 1
        try:
            async with in_time(), self._lock(key):
                pass  # One that is about to begin is let begin.
            if self._is_shared:
                await self._store.hold_queue(key, time.time() + HOLD_SECONDS)
            yield
        finally:
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]
                self._retries.begin(partial(self._let_go, key))

    async def _let_go(self, key: ThreadKey) -> None:
        if self._is_shared and key not in self._held:
            await self._store.hold_queue(key, None)
        self.wake(key)

    def wake(self, key: ThreadKey) -> None:
        """Begin the next run of a thread if it is free, and wait for nothing."""
        self._retries.begin(partial(self._try_next, key))

    async def _try_next(self, key: ThreadKey) -> None:
        try:
            await self.begin_next(key)
        except (LeaseLost, ShuttingDown):
            pass  # Another worker begins it.
        except _LATER as error:
            if isinstance(error, LimitExceeded):
                wait = min(error.retry_after, MAX_LATER_SECONDS)
                self._not_before[key] = time.monotonic() + wait
            named = {"thread": key.thread_id, "error": error}
            logger.info("a queued request of thread %(thread)s waits: %(error)s", named)

    async def begin_next(self, key: ThreadKey) -> None:
        """Begin the next run of a thread if it is free. A request that its thread cannot take is
        marked, and the one behind it is tried. Raises one of _LATER, LeaseLost, ShuttingDown."""
        async with self._lock(key):
            tried = None
            while key not in self._held:
                run_id = await self._store.next_queued(key)
                if run_id in (None, tried) or await self._has_begun(key, run_id):
                    return
                tried = run_id

    async def _has_begun(self, key: ThreadKey, run_id: str) -> bool:
        """Begin a run if it is its turn."""
        try:
            has_begun = await self._begin(key, run_id, self._poster(run_id))
        except (*_LATER, LeaseLost, ShuttingDown):
            raise
        except Exception as error:  # noqa: BLE001  whatever it is, the others go on
            await self._store.refuse_queued(key, run_id, _problem(error, run_id))
            has_begun = False
        self._changed(run_id)
        if has_begun:
            self._posters.pop(run_id, None)
            await self._retries.write(partial(self._store.forget_queued, key, run_id))
        return has_begun

    def _poster(self, run_id: str) -> Principal | None:
        """None: not known here, or their credentials have expired."""
        known = self._posters.get(run_id)
        if known and known.expires_at is not None and known.expires_at <= time.time():
            return None
        return known

    def _lock(self, key: ThreadKey) -> asyncio.Lock:
        return self._beginning.setdefault(key, asyncio.Lock())

    async def sweep(self) -> None:
        """Begin what could begin. Raises StorageUnavailable."""
        due = await self._store.due_queues(SWEEP_LIMIT)
        if due:
            await self._store.settle_queues()
        now = time.monotonic()
        self._not_before = {key: at for key, at in self._not_before.items() if at > now}
        keys = iter([key for key in due if key not in self._not_before])

        async def begin() -> None:
            for key in keys:
                await self._try_next(key)

        await asyncio.gather(*(begin() for _ in range(BEGUN_AT_ONCE)))


def _problem(error: Exception, run_id: str) -> tuple[str, str]:
    """Return the code and the sentence of why a request cannot begin."""
    match error:
        case InvalidRequest():
            return error.code, error.message
        case Forbidden():
            code = "forbidden"
        case UnknownThread():
            code = "thread_not_found"
        case ThreadChanged():
            code = "thread_changed"
        case _:
            code = "internal_error"
            logger.error("queued run %(run)s cannot begin", {"run": run_id}, exc_info=error)
    (problem,) = pick(code)
    return code, problem.sentences


@asynccontextmanager
async def open_queue(queue: RunQueue) -> AsyncIterator[None]:
    """Sweep beside the server, now and again and again."""

    async def sweeping() -> None:
        while True:
            try:
                await queue.sweep()
            except StorageUnavailable as error:
                logger.warning("queued requests wait: %(error)s", {"error": error})
            except Exception:
                logger.exception("queued requests wait")
            await asyncio.sleep(SWEEP_SECONDS)

    work = asyncio.create_task(sweeping(), name="queues")
    try:
        yield
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
