"""The store in an SQL database, whichever it is: each method is one transaction."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from turnstream.server.storage import (
    approvals,
    assistant_rows,
    checkpoint_sizes,
    claims,
    extension_tables,
    hidden_threads,
    idle_threads,
    metadata_rows,
    queued_rows,
    removed_rows,
    substep_rows,
    thread_copies,
    thread_list,
    thread_pages,
    unfinished,
)
from turnstream.server.storage.also import Also, perform
from turnstream.server.storage.assistants import Assistant, Content, Json
from turnstream.server.storage.claims import UNLEASED, Taking
from turnstream.server.storage.engine_statements import statements_of
from turnstream.server.storage.extension_tables import ExtensionTables
from turnstream.server.storage.interfaces import (
    ApprovalPage,
    Begun,
    ClaimResult,
    Created,
    Granted,
    IdleThread,
    LostRun,
    Page,
    Rows,
    Section,
    ThreadEntry,
    ThreadRunState,
    WaitingApproval,
    ignored,
)
from turnstream.server.storage.kept_substeps import KeptSubstep
from turnstream.server.storage.queued_requests import QueuedRequest, WithdrawnRun
from turnstream.server.storage.removed_messages import RemovedMessage
from turnstream.server.storage.search import Search
from turnstream.server.storage.thread_metadata import Metadata
from turnstream.server.storage.thread_pages import Listed
from turnstream.server.storage.titles import FirstWords
from turnstream.server.storage.write_meter import WriteMeter
from turnstream.server.turns.chunks import Disposition
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import IdempotencyKey, RunRecord, TurnRequest

T = TypeVar("T")

Titled = Callable[[ThreadKey, str], Also]
"""Returns writes that join the transaction that gives a thread this title."""


class SqlTransactions(Protocol):
    """One transaction each: functions of a connection and the arguments. Raise StorageUnavailable.

    A function may be called again if its transaction was undone.
    """

    async def write(self, work: Callable[..., T], *arguments: Any) -> T: ...

    async def read(self, work: Callable[..., T], *arguments: Any) -> T: ...


class SqlStore(ABC):
    """Implements most of `ThreadStore`, on what an engine has of
    transactions."""

    taking: Taking = UNLEASED

    def __init__(self) -> None:
        self.meter = WriteMeter()
        self._titled: Titled = _nothing

    def follow_titles(self, titled: Titled) -> None:
        """Have writes of others join each transaction that gives a thread another title."""
        self._titled = titled

    @abstractmethod
    async def write(self, work: Callable[..., T], *arguments: Any) -> T:
        """One transaction, for what else is stored in the same database."""

    @abstractmethod
    async def read(self, work: Callable[..., T], *arguments: Any) -> T: ...

    async def perform(self, also: Also) -> None:
        await self.write(perform, also)

    async def open_extensions(
        self, declared: Sequence[ExtensionTables], *, is_shared: bool
    ) -> None:
        """See `turnstream.server.storage.extension_tables.open_tables`."""
        await self.write(extension_tables.open_tables, declared, is_shared)

    @abstractmethod
    async def write_claimed(
        self, key: ThreadKey, run_id: str | None, work: Callable[..., T], *arguments: Any
    ) -> T:
        """One transaction under a claim on a thread: that of this run, or whichever there is here.

        Raises LeaseLost.
        """

    async def write_beginning(
        self,
        key: ThreadKey,
        run_id: str,
        work: Callable[[Connection], str | None],
        begun: Begun,
        *,
        joins_next: bool,  # noqa: ARG002
    ) -> None:
        """Do what `begin_run` does, in the owner's turn."""

        def in_turn(connection: Connection) -> str | None:
            statements_of(connection).await_turn(connection, key.owner)
            return work(connection)

        begun(await self.write_claimed(key, run_id, in_turn))

    @abstractmethod
    async def write_last(self, key: ThreadKey, run_id: str, work: Callable[..., T]) -> T:
        """The same, which gives the claim of this run back."""

    async def claim(
        self, key: ThreadKey, run_id: str, idempotency: IdempotencyKey | None = None
    ) -> ClaimResult:
        return await self.write(claims.claim, key, run_id, idempotency, self.taking)

    async def claim_for_deletion(self, key: ThreadKey, deletion_id: str) -> ClaimResult:
        return await self.write(claims.claim_for_deletion, key, deletion_id, self.taking)

    async def claim_idle(
        self, key: ThreadKey, deletion_id: str, since: float, now: float
    ) -> ClaimResult:
        return await self.write(idle_threads.claim, key, deletion_id, since, now, self.taking)

    async def write_release(
        self,
        key: ThreadKey,  # noqa: ARG002
        run_id: str,  # noqa: ARG002
        work: Callable[[Connection], None],
    ) -> None:
        """One transaction that releases a claim, if this process still has it."""
        await self.write(work)

    def release_claim(self, connection: Connection, key: ThreadKey, run_id: str) -> bool:
        """Release a claim of this process. False: there is none."""
        return claims.release(connection, key, run_id)

    async def release(self, key: ThreadKey, run_id: str, also: Also = ()) -> None:
        def release(connection: Connection) -> None:
            if not self.release_claim(connection, key, run_id):
                return
            if thread_list.interrupt_run(connection, key, run_id):
                queued_rows.keep(connection, key, run_id)
                perform(connection, also)
            else:
                queued_rows.put_back(connection, run_id)

        await self.write_release(key, run_id, release)

    async def refuse_run(
        self,
        key: ThreadKey,
        run_id: str,
        thread: ThreadEntry | None = None,
        also: Also = (),
        *,
        closes_approvals: bool = False,
        words: FirstWords | None = None,
    ) -> None:
        def refuse(connection: Connection) -> None:
            if not self.release_claim(connection, key, run_id):
                return
            _free_request(connection, run_id)
            if thread_list.undo_run(connection, key, run_id, thread):
                if words:
                    thread_list.follow_words(connection, key, words.undone())
                if closes_approvals:
                    approvals.reopen(connection, key)
                if thread is None:
                    metadata_rows.remove(connection, key)
                perform(connection, also)

        await self.write_release(key, run_id, refuse)

    async def begin_run(
        self,
        key: ThreadKey,
        run_id: str,
        title: str,
        graph: str | None = None,
        also: Also = (),
        *,
        base: str | None = None,
        closes_approvals: bool = False,
        words: FirstWords | None = None,
        record: RunRecord | None = None,
        metadata: Metadata | None = None,
        begun: Begun = ignored,
        joins_next: bool = False,
    ) -> None:
        def begin(connection: Connection) -> str | None:
            named = thread_list.begin_run(connection, key, run_id, title, graph, base)
            if words:
                thread_list.follow_words(connection, key, words)
            if closes_approvals:
                approvals.close(connection, key)
            if record:
                metadata_rows.put_record(connection, key, run_id, record)
            if metadata:
                metadata_rows.merge(connection, key, metadata)
            perform(connection, also)
            return named

        await self.write_beginning(key, run_id, begin, begun, joins_next=joins_next)

    async def end_run(
        self,
        key: ThreadKey,
        run_id: str,
        state: ThreadRunState,
        also: Also = (),
        waiting: Sequence[WaitingApproval] = (),
    ) -> bool:
        def end(connection: Connection) -> bool:
            if thread_list.end_run(connection, key, run_id, state):
                approvals.add(connection, key, waiting)
            # Behind the release: a request that is queued in between finds the claim gone.
            is_followed = queued_rows.keep(connection, key, run_id)
            perform(connection, also)
            return is_followed

        return await self.write_last(key, run_id, end)

    async def holds_alone(self, key: ThreadKey, run_id: str) -> bool:
        return await self.holder(key) == run_id

    async def run_base(self, key: ThreadKey, run_id: str) -> str | None:
        return await self.read(thread_list.run_base, key, run_id)

    async def holder(self, key: ThreadKey) -> str | None:
        return await self.read(claims.holder, key)

    async def forget_requests(self, key: ThreadKey, run_id: str) -> None:
        await self.write_claimed(key, run_id, _free_request, run_id)

    async def recover(self) -> Sequence[LostRun]:
        def recover(connection: Connection) -> Sequence[LostRun]:
            claims.release_all(connection)
            return thread_list.live_runs(connection)

        return await self.write(recover)

    async def forget_old_requests(self) -> None:
        await self.write(claims.forget_old_requests)

    async def get(self, key: ThreadKey) -> ThreadEntry | None:
        return await self.read(thread_list.get, key)

    async def page(
        self,
        owner: str,
        limit: int,
        cursor: str | None = None,
        state: ThreadRunState | None = None,
        *,
        archived: bool | None = None,
        search: Search | None = None,
    ) -> Page:
        listed = Listed(state, archived, search)
        return await self.read(thread_pages.page, owner, limit, cursor, listed)

    async def idle(
        self, since: float, now: float, limit: int, after: IdleThread | None = None
    ) -> Sequence[IdleThread]:
        return await self.read(idle_threads.page, since, now, limit, after)

    async def create(
        self, key: ThreadKey, graph: str | None = None, metadata: Metadata | None = None
    ) -> Created | None:
        def create(connection: Connection) -> Created | None:
            created = thread_list.create(connection, key, graph)
            if created and created.is_new and metadata:
                metadata_rows.merge(connection, key, metadata)
            return created

        return await self.write(create)

    async def checkpoint_sizes(self, key: ThreadKey) -> Mapping[Section, Rows]:
        return await self.read(checkpoint_sizes.of_thread, key)

    async def copy(self, source: ThreadKey, new: ThreadKey) -> ThreadEntry | None:
        return await self.write(thread_copies.copy, source, new)

    async def rename(self, key: ThreadKey, title: str) -> ThreadEntry | None:
        return await self._retitle(thread_list.rename, key, title)

    async def arrange(
        self, key: ThreadKey, pinned: bool | None = None, archived: bool | None = None
    ) -> ThreadEntry | None:
        return await self.write(thread_list.arrange, key, pinned, archived)

    async def give_title(self, key: ThreadKey, title: str, before: str) -> ThreadEntry | None:
        return await self._retitle(thread_list.give_title, key, title, before)

    async def _retitle(
        self, work: Callable[..., ThreadEntry | None], key: ThreadKey, *titles: str
    ) -> ThreadEntry | None:
        def retitle(connection: Connection) -> ThreadEntry | None:
            if entry := work(connection, key, *titles):
                perform(connection, self._titled(key, entry.title))
            return entry

        return await self.write(retitle)

    async def allow_tools(self, key: ThreadKey, names: Sequence[str] | None) -> ThreadEntry | None:
        return await self.write(thread_list.allow_tools, key, names)

    async def delete(self, key: ThreadKey, also: Also = (), *, unless_queued: bool = False) -> bool:
        def remove(connection: Connection) -> bool:
            if unless_queued:
                # A request that comes now is seen, or finds no thread.
                statements_of(connection).await_turn(connection, key.owner)
                if queued_rows.of_thread(connection, key):
                    return False
            if thread_list.remove(connection, key):
                perform(connection, also)
            claims.remove_thread(connection, key)
            approvals.remove_thread(connection, key)
            unfinished.remove(connection, key)
            removed_rows.remove(connection, key)
            substep_rows.remove(connection, key)
            metadata_rows.remove(connection, key)
            queued_rows.remove(connection, key)
            extension_tables.remove_thread(connection, key)
            return True

        return await self.write_claimed(key, None, remove)

    async def hide(
        self, key: ThreadKey, deletion_id: str, until: float, also: Also = ()
    ) -> float | None:
        def hide(connection: Connection) -> float | None:
            due, is_new = hidden_threads.hide(connection, key, until)
            if is_new:
                perform(connection, also)
            if due is not None:
                claims.release(connection, key, deletion_id)
            return due

        return await self.write_claimed(key, deletion_id, hide)

    async def restore(self, key: ThreadKey, also: Also = ()) -> ThreadEntry | None:
        def restore(connection: Connection) -> ThreadEntry | None:
            entry, was_hidden = hidden_threads.restore(connection, key)
            if was_hidden:
                perform(connection, also)
            return entry

        return await self.write(restore)

    async def hidden(
        self, limit: int, owner: str | None = None, after: tuple[ThreadKey, float] | None = None
    ) -> Sequence[tuple[ThreadKey, float]]:
        return await self.read(hidden_threads.page, limit, owner, after)

    async def claim_hidden(self, key: ThreadKey, deletion_id: str, now: float) -> ClaimResult:
        return await self.write(hidden_threads.claim, key, deletion_id, now, self.taking)

    async def keep_dispositions(
        self, key: ThreadKey, dispositions: Mapping[str, Disposition]
    ) -> None:
        await self.write_claimed(key, None, claims.keep_dispositions, key, dispositions)

    async def dispositions(self, key: ThreadKey) -> Mapping[str, Disposition]:
        return await self.read(claims.dispositions, key)

    async def approvals(
        self, owner: str, tool_names: Collection[str], now: float, limit: int, skip: int = 0
    ) -> ApprovalPage:
        return await self.read(approvals.page, owner, tool_names, now, limit, skip)

    async def approval(self, id: str) -> WaitingApproval | None:
        return await self.read(approvals.get, id)

    async def put_removed(
        self, key: ThreadKey, run_id: str, removed: Sequence[RemovedMessage]
    ) -> None:
        await self.write_claimed(key, run_id, removed_rows.put, key, removed)

    async def removed(self, key: ThreadKey) -> Sequence[RemovedMessage]:
        return await self.read(removed_rows.get, key)

    async def put_substeps(
        self,
        key: ThreadKey,
        run_id: str,
        changed: Sequence[KeptSubstep],
        begun: Collection[str] = (),
    ) -> None:
        await self.write_claimed(key, run_id, substep_rows.put, key, changed, begun)

    async def substeps(self, key: ThreadKey, call_ids: Collection[str]) -> Sequence[KeptSubstep]:
        return await self.read(substep_rows.get, key, call_ids)

    async def merge_metadata(self, key: ThreadKey, changes: Metadata) -> Metadata | None:
        def merge(connection: Connection) -> Metadata | None:
            if not thread_list.hold(connection, key):
                return None
            return metadata_rows.merge(connection, key, changes)

        return await self.write(merge)

    async def metadata(self, owner: str, thread_ids: Sequence[str]) -> Mapping[str, Metadata]:
        return await self.read(metadata_rows.get, owner, thread_ids)

    async def run_record(self, key: ThreadKey, run_id: str) -> RunRecord | None:
        return await self.read(metadata_rows.get_record, key, run_id)

    async def create_assistant(self, owner: str, id: str, content: Content) -> Assistant | None:
        return await self.write(assistant_rows.create, owner, id, content)

    async def update_assistant(self, owner: str, id: str, changes: Json) -> Assistant | None:
        return await self.write(assistant_rows.change, owner, id, changes)

    async def choose_version(self, owner: str, id: str, version: int) -> Assistant | None:
        return await self.write(assistant_rows.choose, owner, id, version)

    async def delete_assistant(self, owner: str, id: str) -> bool:
        return await self.write(assistant_rows.remove, owner, id)

    async def forget_assistants(self, owner: str) -> None:
        await self.write(assistant_rows.remove_all, owner)

    async def assistant(self, owner: str, id: str) -> Assistant | None:
        return await self.read(assistant_rows.get, owner, id)

    async def assistants(self, owner: str) -> Sequence[Assistant]:
        return await self.read(assistant_rows.list_latest, owner)

    async def assistant_versions(self, owner: str, id: str) -> Sequence[Assistant]:
        return await self.read(assistant_rows.list_versions, owner, id)

    async def enqueue(
        self, queued: QueuedRequest, most: int, idempotency: IdempotencyKey | None = None
    ) -> int | None:
        return await self.write(queued_rows.add, queued, most, idempotency)

    async def queue(self, key: ThreadKey) -> Sequence[QueuedRequest]:
        return await self.read(queued_rows.of_thread, key)

    async def queued(self, key: ThreadKey, run_id: str) -> QueuedRequest | None:
        return await self.read(queued_rows.get, key, run_id)

    async def queued_state(
        self, key: ThreadKey, run_id: str
    ) -> tuple[tuple[str, str] | None, bool] | None:
        return await self.read(queued_rows.state, key, run_id)

    async def queued_of(self, owner: str, limit: int) -> Sequence[tuple[ThreadKey, str]]:
        return await self.read(queued_rows.of_owner, owner, limit)

    async def queued_under(
        self, owner: str, idempotency: IdempotencyKey
    ) -> tuple[QueuedRequest, bool] | None:
        return await self.read(queued_rows.under, owner, idempotency)

    async def edit_queued(
        self,
        key: ThreadKey,
        run_id: str,
        request: TurnRequest,
        roles: Sequence[str],
        display_name: str,
        also: Also = (),
    ) -> QueuedRequest | None:
        def edit(connection: Connection) -> QueuedRequest | None:
            edited = queued_rows.edit(connection, key, run_id, request, roles, display_name)
            if edited:
                perform(connection, also)
            return edited

        return await self.write(edit)

    async def move_queued(self, key: ThreadKey, run_id: str, place: int) -> QueuedRequest | None:
        return await self.write(queued_rows.move, key, run_id, place)

    async def withdraw(
        self, key: ThreadKey, run_id: str, also: Also = (), *, is_listed: bool = False
    ) -> bool:
        def withdraw(connection: Connection) -> bool:
            is_withdrawn = queued_rows.withdraw(connection, key, run_id, is_listed=is_listed)
            if is_withdrawn:
                perform(connection, also)
            return is_withdrawn

        return await self.write(withdraw)

    async def withdrawn(self, key: ThreadKey) -> Sequence[WithdrawnRun]:
        return await self.read(queued_rows.withdrawn, key)

    async def forget_withdrawn(self, key: ThreadKey, run_id: str) -> bool:
        return await self.write(queued_rows.forget_withdrawn, key, run_id)

    async def next_queued(self, key: ThreadKey) -> str | None:
        return await self.read(queued_rows.next_of, key)

    async def claim_queued(
        self, key: ThreadKey, run_id: str
    ) -> tuple[Granted, QueuedRequest] | None:
        return await self.write(queued_rows.claim, key, run_id, self.taking)

    async def refuse_queued(self, key: ThreadKey, run_id: str, problem: tuple[str, str]) -> None:
        await self.write(queued_rows.refuse, key, run_id, problem)

    async def hold_queue(self, key: ThreadKey, until: float | None) -> None:
        await self.write(queued_rows.hold, key, until)

    async def forget_queued(self, key: ThreadKey, run_id: str) -> None:
        await self.write(queued_rows.forget, key, run_id)

    async def due_queues(self, limit: int) -> Sequence[ThreadKey]:
        return await self.read(queued_rows.due, limit)

    async def settle_queues(self) -> None:
        await self.write(queued_rows.settle)

    async def put_words(self, key: ThreadKey, run_id: str, words: str) -> None:
        await self.write_claimed(key, run_id, unfinished.put, key, run_id, words)

    async def words(self, key: ThreadKey, run_id: str) -> str | None:
        return await self.read(unfinished.get, key, run_id)

    async def forget_words(self, key: ThreadKey) -> None:
        await self.write_claimed(key, None, unfinished.remove, key)


def _free_request(connection: Connection, run_id: str) -> None:
    """Free the idempotency key of a request that is not kept, or have the request wait again if it
    was queued."""
    if not queued_rows.put_back(connection, run_id):
        claims.forget_requests(connection, run_id)


def _nothing(_key: ThreadKey, _title: str) -> Also:
    return ()
