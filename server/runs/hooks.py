"""The hooks of extensions on the life of a run: called here and nowhere else."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage

from turnstream.server.callers.principal import Principal
from turnstream.server.callers.reach import EVERYTHING, MetadataFilter, Resource
from turnstream.server.callers.rights import Forbidden, LimitExceeded, Rights
from turnstream.server.extensions.base import (
    AFTER_SECONDS,
    GUARD_SECONDS,
    MAX_QUEUED,
    WATCH_SECONDS,
    Extension,
    Refusal,
    RunSpec,
    Watch,
    WatchedRun,
)
from turnstream.server.extensions.recording import (
    AuditRecorder,
    in_order,
    in_time,
    joined,
    overriding,
    the_one,
)
from turnstream.server.runs.message_texts import changes
from turnstream.server.runs.run import Run
from turnstream.server.runs.run_audit import RunAudit
from turnstream.server.runs.start import RunStart
from turnstream.server.runs.transcript import user_content
from turnstream.server.runs.versions import VersionsOf, no_versions
from turnstream.server.storage.also import Also
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.turns.chunks import Chunk, Done
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.message_texts import TextChanges
from turnstream.server.turns.requests import InvalidRequest, UserMessage

CLOSE_SECONDS = 5.0
"""Limit on the wait for watchers when the server ends."""

logger = logging.getLogger(__name__)


class GuardFailed(Exception):
    """An extension that a request or a run waits for has failed, so it is refused."""


class RunHooks:
    """The hooks of the extensions that are on, in their declared order. Raises ExtensionError if
    several keep versions, give rights or have rules."""

    def __init__(self, extensions: Sequence[Extension] = ()) -> None:
        ordered = in_order(extensions)
        self._guards = overriding(ordered, Extension.before_run)
        self._beginning = overriding(ordered, Extension.run_begins)
        self._watching = overriding(ordered, Extension.watch)
        self._after = overriding(ordered, Extension.after_run)
        self._deleting = overriding(ordered, Extension.thread_deleted)
        self._titling = overriding(ordered, Extension.thread_titled)
        self._forgetting = overriding(ordered, Extension.principal_deleted)
        self.recognising = overriding(ordered, Extension.recognise)
        """The extensions that recognise callers, in the order in which they are asked."""
        self._permitting = the_one(ordered, Extension.rights, "give callers their rights")
        self._ruling = the_one(
            [each for each in ordered if each.has_rules_on],
            Extension.filter,
            "have rules on what callers reach",
        )
        keeping = the_one(ordered, Extension.versions, "keep the versions of messages")
        self.versions: VersionsOf = keeping.versions if keeping else no_versions
        self.restorable_seconds = max((each.restorable_seconds for each in ordered), default=0.0)
        self.recorder = AuditRecorder(ordered)
        self.audit = RunAudit(self.recorder)
        self._feeds = set[_Feed]()
        self.dropped_chunks = 0

    def rights(self, principal: Principal) -> Rights:
        """Return the rights of a caller. Raises Forbidden, LimitExceeded, GuardFailed."""
        if self._permitting is None:
            return Rights(principal)
        try:
            return self._permitting.rights(principal)
        except (Forbidden, LimitExceeded):
            raise
        except Exception:
            named = {"extension": self._permitting.name}
            logger.exception("extension %(extension)s gives nobody rights: it failed", named)
            raise GuardFailed from None

    def has_rules(self, resource: Resource) -> bool:
        """True if an extension has rules on what callers reach of a resource."""
        return self._ruling is not None and resource in self._ruling.has_rules_on

    async def filter(
        self, principal: Principal, resource: Resource, action: str, value: dict[str, Any]
    ) -> MetadataFilter:
        """Return the filter on what a caller reaches; see `Extension.filter`. Raises Refusal,
        GuardFailed."""
        if self._ruling is None or resource not in self._ruling.has_rules_on:
            return EVERYTHING
        try:
            filtering = self._ruling.filter(principal, resource, action, value)
            return await in_time(GUARD_SECONDS, filtering)
        except Refusal:
            raise
        except Exception:
            named = {"extension": self._ruling.name, "what": f"{resource}.{action}"}
            logger.exception("extension %(extension)s refuses %(what)s by failing", named)
            raise GuardFailed from None

    async def admit(self, start: RunStart) -> RunStart:
        """Ask the guards. Returns the start as they have narrowed it. Raises InvalidRequest with
        the code of a refusal, GuardFailed."""
        for extension in self._guards:
            try:
                names = await in_time(GUARD_SECONDS, extension.before_run(_spec(start)))
                if names is not None:
                    start = _narrowed(start, sorted(names))
            except Refusal as refusal:
                code, sentence = refusal.code, refusal.sentence
                raise InvalidRequest(code, sentence, refusal.status) from None
            except Exception:
                named = {"extension": extension.name, "run": start.run_id}
                logger.exception("extension %(extension)s refuses run %(run)s by failing", named)
                raise GuardFailed from None
        return start

    async def run_begins(self, start: RunStart) -> Also:
        """Return the writes that join the transaction of a run's beginning. Raises GuardFailed,
        StorageUnavailable."""
        also = list[Callable[..., object]]()
        for extension in self._beginning:
            try:
                writing = extension.run_begins(_spec(start))
                also += joined(extension, await in_time(GUARD_SECONDS, writing))
            except StorageUnavailable:
                raise
            except Exception:
                named = {"extension": extension.name, "run": start.run_id}
                logger.exception("extension %(extension)s refuses run %(run)s by failing", named)
                raise GuardFailed from None
        return also

    def begin(self, run: Run) -> "HookedRun":
        """Begin to watch a run, in the context that the run has to itself."""
        return HookedRun(self, run, self._watching, self._after)

    def thread_deleted(self, key: ThreadKey) -> Also:
        """Return the writes that join the transaction of a deletion."""
        also: list[Callable[..., object]] = []
        for extension in self._deleting:
            try:
                also += joined(extension, extension.thread_deleted(key))
            except Exception:
                named = {"extension": extension.name, "thread": key.thread_id}
                text = "extension %(extension)s: its writes for the deletion of %(thread)s failed"
                logger.exception(text, named)
        return also

    def principal_deleted(self, principal: str) -> Also:
        """Return the writes that delete what extensions have of a caller. Raises what they do."""
        also: list[Callable[..., object]] = []
        for extension in self._forgetting:
            writes = extension.principal_deleted(principal)
            also += joined(extension, writes, are_required=True)
        return also

    def thread_titled(self, key: ThreadKey, title: str) -> Also:
        """Return the writes that join the transaction that gives a thread a title."""
        also: list[Callable[..., object]] = []
        for extension in self._titling:
            try:
                also += joined(extension, extension.thread_titled(key, title))
            except Exception:
                named = {"extension": extension.name, "thread": key.thread_id}
                text = "extension %(extension)s: its writes for the title of %(thread)s failed"
                logger.exception(text, named)
        return also

    async def close(self) -> None:
        """Wait until the watchers have processed their queues, at most CLOSE_SECONDS."""
        tasks = [feed.task for feed in self._feeds if feed.task]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def opened(self, feed: "_Feed") -> None:
        self._feeds.add(feed)

    def drained(self, feed: "_Feed") -> None:
        self._feeds.discard(feed)


class HookedRun:
    """One run, as the hooks see it."""

    def __init__(
        self,
        hooks: RunHooks,
        run: Run,
        watching: Sequence[Extension],
        after: Sequence[Extension],
    ) -> None:
        self._hooks = hooks
        self._run = run
        self._after = after
        self._view = _View(run) if watching or after else None
        self._logged: list[Chunk] = []
        """Kept only for `after_run`."""
        self._feeds = [feed for extension in watching if (feed := self._feed(extension))]
        if self._feeds or after:
            run.log.feed = self._put

    async def after_run(self, last: Sequence[Chunk]) -> Also:
        """Return the writes that join the transaction of the run's end; `last` are its last chunks,
        which are not in its log yet."""
        if not self._after or not self._view:
            return ()
        await self._run.log.flush()
        chunks, also = [*self._logged, *last], list[Callable[..., object]]()
        clock = asyncio.get_running_loop().time
        due = clock() + AFTER_SECONDS
        for extension in self._after:
            named = {"extension": extension.name, "run": self._run.start.run_id}
            try:
                writing = extension.after_run(self._view, chunks)
                also += joined(extension, await in_time(due - clock(), writing))
            except Exception:
                text = "extension %(extension)s writes nothing about run %(run)s: it failed"
                logger.exception(text, named)
        return also

    def end(self, chunks: Sequence[Chunk]) -> None:
        """End the watching with chunks that stand for an end that was not logged."""
        for feed in self._feeds:
            feed.put(chunks)

    def _put(self, chunks: Sequence[Chunk]) -> None:
        if self._after:
            self._logged += chunks
        for feed in self._feeds:
            feed.put(chunks)

    def _feed(self, extension: Extension) -> "_Feed | None":
        run_id = self._run.start.run_id
        try:
            assert self._view
            watch = extension.watch(self._view)
        except Exception:
            named = {"extension": extension.name, "run": run_id}
            logger.exception("extension %(extension)s does not watch run %(run)s: it failed", named)
            return None
        return _Feed(self._hooks, extension.name, run_id, watch) if watch else None


class _Feed:
    """The chunks on their way to one watcher of one run."""

    def __init__(self, hooks: RunHooks, extension: str, run_id: str, watch: Watch) -> None:
        self._hooks = hooks
        self._named = {"extension": extension, "run": run_id}
        self._watch = watch
        self._queue: deque[Sequence[Chunk]] = deque()
        self._dropped = 0
        self._is_over = False
        self.task: asyncio.Task[None] | None = None

    def put(self, chunks: Sequence[Chunk]) -> None:
        """Queue chunks; those behind the run's end are ignored."""
        if self._is_over or not chunks:
            return
        self._is_over = isinstance(chunks[-1], Done)
        if len(self._queue) >= MAX_QUEUED and not self._is_over:
            self._dropped += len(chunks)
            self._hooks.dropped_chunks += len(chunks)
            return
        self._queue.append(chunks)
        if self.task is None:
            self._hooks.opened(self)
            self.task = asyncio.create_task(self._drain(), name="a watcher")

    async def _drain(self) -> None:
        try:
            while self._queue:
                await in_time(WATCH_SECONDS, self._watch(self._queue.popleft()))
        except Exception:
            self._is_over = True
            self._queue.clear()
            text = "extension %(extension)s watches run %(run)s no more: its watcher failed"
            logger.exception(text, self._named)
        finally:
            self.task = None
            self._hooks.drained(self)
        if self._is_over and self._dropped:
            missed = {**self._named, "dropped": self._dropped}
            text = "extension %(extension)s missed %(dropped)d chunks of run %(run)s"
            logger.warning(text, missed)


class _View:
    """Implements `WatchedRun`."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.spec = _spec(run.start)

    @property
    def state(self) -> str:
        return "refused" if self._run.is_refused else self._run.state

    @property
    def started(self) -> float:
        return self._run.started

    @property
    def first_word(self) -> float | None:
        return self._run.first_word

    @property
    def new_title(self) -> str | None:
        return self._run.new_title

    @property
    def messages(self) -> Sequence[AnyMessage]:
        return self._run.translator.thread

    def text_changes(self) -> TextChanges | None:
        return changes(self._run.start, self._run.translator)

    @property
    def has_substeps(self) -> bool:
        substeps = self._run.translator.substeps
        return substeps is not None and not substeps.record.is_empty


def _spec(start: RunStart) -> RunSpec:
    plan, principal = start.plan, start.rights.principal
    asked = [message for message in plan.new or () if isinstance(message, HumanMessage)]
    return RunSpec(
        key=start.key,
        run_id=start.run_id,
        principal=principal.id,
        roles=principal.roles,
        graph=start.graph,
        model=start.model,
        setup=start.setup,
        wire_format=start.wire_format,
        text=UserMessage(user_content(asked[-1])).text if asked else "",
        messages_before=len(plan.before.messages),
        follows=start.follows,
        branching=plan.branching,
        budget=start.rights,
    )


def _narrowed(start: RunStart, names: Sequence[str]) -> RunStart:
    if start.context.catalogue is None:
        raise ValueError("a graph of one's own has its own tools: a guard cannot narrow them")
    rights = start.rights.narrowed(names)
    return replace(
        start,
        rights=rights,
        context=replace(start.context, rights=rights),
        classifier=replace(start.classifier, rights=rights),
    )


_: type[WatchedRun] = _View
