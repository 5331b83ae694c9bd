"""The threads that a caller reaches: rules of an extension, beside the ownership of threads.

Without such an extension nothing is asked and nothing is looked up: callers reach all that is
theirs.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from turnstream.server.callers.principal import Principal
from turnstream.server.callers.reach import EVERYTHING, MetadataFilter
from turnstream.server.runs.hooks import GuardFailed, RunHooks
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.runs.thread_version import UnknownThread
from turnstream.server.storage.interfaces import Page, ThreadEntry, ThreadRunState, ThreadStore
from turnstream.server.storage.search import Search
from turnstream.server.storage.thread_metadata import Metadata, MetadataTooLarge, metadata_text
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import RunRecord, TurnRequest

logger = logging.getLogger(__name__)

MAX_LOOKS = 10
"""Reads of the list for one page of it: a page may have fewer threads than it has room for."""
_STRATEGIES = {"reject": "reject", "stop": "interrupt", "rollback": "rollback", "queue": "enqueue"}
"""LangGraph's words for `OnBusy`."""

ThreadAction = Literal["create", "read", "update", "delete"]


class ThreadReach:
    """Asks the rules before a caller reaches a thread. Each method raises Refusal, GuardFailed,
    StorageUnavailable."""

    def __init__(self, store: ThreadStore, graphs: ServedGraphs, hooks: RunHooks) -> None:
        self._store = store
        self._graphs = graphs
        self._hooks = hooks

    @property
    def is_limited(self) -> bool:
        """True if there are rules."""
        return self._hooks.has_rules("threads")

    async def check(
        self, principal: Principal, key: ThreadKey, action: ThreadAction, /, **asked: Any
    ) -> Metadata:
        """Check that a caller may do something with a thread, and return its new metadata: that of
        `asked`, as the rules have changed it. Raises UnknownThread if the thread does not match."""
        given = dict(asked.pop("metadata", {}))
        if not self.is_limited:
            return given
        value = {"thread_id": key.thread_id, "metadata": given, **asked}
        filter = await self._hooks.filter(principal, "threads", action, value)
        await self._match(key, filter)
        return ruled_metadata(value)

    async def has(
        self, principal: Principal, key: ThreadKey, action: ThreadAction, /, **asked: Any
    ) -> bool:
        """Check whether a thread matches. Raises Refusal if the caller may not even ask."""
        try:
            await self.check(principal, key, action, **asked)
        except UnknownThread:
            return False
        return True

    async def create(
        self, principal: Principal, thread_id: str | None, metadata: Metadata, if_exists: str
    ) -> Metadata:
        """Return the metadata of a new thread, as the rules have changed it; one that is there, or
        was deleted and can be brought back, must match. Raises UnknownThread."""
        if not self.is_limited:
            return metadata
        value = {"thread_id": thread_id, "metadata": {**metadata}, "if_exists": if_exists}
        filter = await self._hooks.filter(principal, "threads", "create", value)
        key = ThreadKey(principal.owner, thread_id or "")
        if thread_id is not None and (await self._store.get(key) or await self._kept(key)):
            await self._match(key, filter)
        return ruled_metadata(value)

    async def start(
        self, principal: Principal, request: TurnRequest, key: ThreadKey | None = None
    ) -> TurnRequest:
        """Check that a caller may begin a run, on a thread of another owner if `key` is given, and
        return the request with the metadata that the rules give to the run and to a new thread.
        Raises UnknownThread."""
        if not self.is_limited:
            return request
        key = key or ThreadKey(principal.owner, request.thread_id or "")
        thread = await self._store.get(key) if key.thread_id else None
        given = {**request.record.metadata} if request.record else {}
        assistant = self._assistant(request, thread)
        value = {
            "thread_id": request.thread_id,
            "assistant_id": assistant,
            "run_id": None,
            "status": "pending",
            "metadata": {**given},
            "prevent_insert_if_inflight": request.on_busy == "reject",
            "multitask_strategy": _STRATEGIES[request.on_busy],
            "if_not_exists": "reject" if request.needs_thread else "create",
            "after_seconds": request.after_seconds or 0,
            "kwargs": {},
        }
        filter = await self._hooks.filter(principal, "threads", "create_run", value)
        metadata = ruled_metadata(value)
        if metadata != given:
            record = request.record or RunRecord(assistant)
            request = replace(request, record=replace(record, metadata=metadata))
        if thread is None and not request.needs_thread:
            if key.thread_id and await self._kept(key):  # Deleted, and can be brought back.
                await self._match(key, filter)
            made = await self.create(principal, request.thread_id, metadata, "raise")
            return replace(request, thread_metadata=made)
        await self._match(key, filter)
        return request

    async def start_on_known(self, principal: Principal, request: TurnRequest) -> TurnRequest:
        """Check a run that was to begin a thread which is there by now: another request has begun
        it while the rules were asked. Raises what `start` does."""
        if request.thread_metadata is None:
            return request
        return await self.start(principal, replace(request, thread_metadata=None))

    async def search(
        self, principal: Principal, metadata: Metadata | None = None
    ) -> MetadataFilter:
        """Return the filter of the threads that a caller sees in lists; `metadata` is what they
        look for."""
        if not self.is_limited:
            return EVERYTHING
        given = {**(metadata or {})}
        value = {"metadata": {**given}, "values": {}, "status": None, "limit": 10, "offset": 0}
        filter = await self._hooks.filter(principal, "threads", "search", value)
        return filter.also(ruled_changes(given, ruled_metadata(value)))

    async def page(
        self,
        owner: str,
        filter: MetadataFilter,
        limit: int,
        cursor: str | None = None,
        state: ThreadRunState | None = None,
        *,
        archived: bool | None = None,
        search: Search | None = None,
    ) -> Page:
        """A page of the list (`ThreadStore.page`) of the threads that match a filter. A page that
        is not the last may have fewer threads than `limit`."""
        entries, found = list[ThreadEntry](), dict[str, Any]()
        for _ in range(MAX_LOOKS):
            room = limit - len(entries)
            page = await self._store.page(
                owner, room, cursor, state, archived=archived, search=search
            )
            if filter.is_empty:
                return page
            kept = await self._store.metadata(owner, [entry.id for entry in page.entries])
            entries += [
                entry
                for entry in page.entries
                if filter.matches(self._shown(kept.get(entry.id, {}), entry))
            ]
            found, cursor = {**found, **page.found}, page.cursor
            if cursor is None or len(entries) == limit:
                break
        return Page(entries, cursor, found)

    async def matches(self, key: ThreadKey, filter: MetadataFilter) -> bool:
        if filter.is_empty:
            return True
        entry = await self._store.get(key)
        return filter.matches(self._shown(await self._kept(key), entry))

    async def _kept(self, key: ThreadKey) -> Metadata:
        kept = await self._store.metadata(key.owner, [key.thread_id])
        return kept.get(key.thread_id, {})

    async def _match(self, key: ThreadKey, filter: MetadataFilter) -> None:
        if not await self.matches(key, filter):
            raise UnknownThread(key)

    def _shown(self, kept: Metadata, entry: ThreadEntry | None) -> Metadata:
        """The metadata of a thread with its graph, as clients of LangGraph's SDK see it."""
        graph = self._graphs.name_of(entry) if entry else None
        return {**kept, "graph_id": graph, "assistant_id": graph} if graph else kept

    def _assistant(self, request: TurnRequest, thread: ThreadEntry | None) -> str:
        if request.record:
            return request.record.assistant_id
        graph = request.graph or (self._graphs.name_of(thread) if thread else None)
        return graph or self._graphs.default


def ruled_changes(given: Metadata, ruled: Metadata) -> Metadata:
    """Return what rules have added to the metadata that a caller looks for, or changed of it."""
    return {name: ruled[name] for name in ruled if given.get(name) != ruled[name]}


def ruled_metadata(value: Mapping[str, Any]) -> Metadata:
    """The metadata that rules have left in a value. Raises GuardFailed if it cannot be kept."""
    metadata = value.get("metadata") or {}
    try:
        if not isinstance(metadata, dict):
            raise TypeError(f"it is {type(metadata).__name__}, not a dict")
        metadata_text(metadata).encode()
    except (MetadataTooLarge, TypeError, ValueError) as error:
        reason = {"reason": str(error) or type(error).__name__}
        logger.error(
            "the rules of an extension give metadata that cannot be kept: %(reason)s", reason
        )
        raise GuardFailed from None
    return metadata
