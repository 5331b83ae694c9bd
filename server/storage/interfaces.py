"""The part of storage that the rest of the server knows: the store of threads and claims.

It has one implementation per engine; `tests/support/contracts` holds any of them to the same
behaviour. Importing this module imports no engine.
"""

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from turnstream.server.storage.also import Also
from turnstream.server.storage.assistants import AssistantStore
from turnstream.server.storage.kept_substeps import KeptSubsteps
from turnstream.server.storage.queued_requests import QueueStore
from turnstream.server.storage.removed_messages import RemovedMessages
from turnstream.server.storage.search import Search
from turnstream.server.storage.thread_metadata import Metadata, ThreadMetadata
from turnstream.server.storage.titles import FirstWords
from turnstream.server.storage.unavailable import STORAGE_FAULTS as STORAGE_FAULTS
from turnstream.server.storage.unavailable import LeaseLost as LeaseLost
from turnstream.server.storage.unavailable import StorageError as StorageError
from turnstream.server.storage.unavailable import StorageFault as StorageFault
from turnstream.server.storage.unavailable import StorageUnavailable as StorageUnavailable
from turnstream.server.turns.chunks import Disposition
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import IdempotencyKey, RunRecord

MAX_PINNED = 50
"""The threads of an owner that may be pinned; they come before all others."""

ThreadRunState = Literal["live", "finished", "waiting", "stopped", "failed", "interrupted"]
"""`waiting`: the run has ended, and somebody is to answer the graph or a tool call."""


Begun = Callable[[str | None], object]
"""Called when the beginning of a run is on disk, with the title that it gave its thread."""


def ignored(_title: str | None) -> None:
    """Nobody waits for the beginning of the run."""


@dataclass(frozen=True, slots=True)
class ThreadEntry:
    """A thread in the list. Times are UTC, ISO 8601; run id and state are of its last run."""

    id: str
    title: str
    created_at: str
    updated_at: str
    run_id: str
    run_state: ThreadRunState
    graph: str | None = None
    """The graph of its last run, or the one that it was made for. None: none was kept."""
    pinned: bool = False
    archived: bool = False
    allowed_tools: tuple[str, ...] | None = None
    """The tools to which its runs are narrowed. None: all, or the entry is in a `Page`."""


class TooManyPinned(Exception):
    """An owner has MAX_PINNED pinned threads."""


@dataclass(frozen=True, slots=True)
class Page:
    entries: Sequence[ThreadEntry]
    cursor: str | None
    """The cursor of the next page; None on the last."""
    found: Mapping[str, Any] = field(default_factory=dict)
    """The places that a search has found (`Search.places`), by the id of the thread."""


@dataclass(frozen=True, slots=True)
class Created:
    entry: ThreadEntry
    is_new: bool
    """False: the thread was there already."""


@dataclass(frozen=True, slots=True)
class LostRun:
    """A run that was live, or a deletion that was under way, when its process died."""

    key: ThreadKey
    run_id: str
    graph: str | None = None
    purpose: Literal["run", "deletion"] = "run"
    base: str | None = None
    """See `ThreadStore.run_base`."""


@dataclass(frozen=True, slots=True)
class Asker:
    """The person whose run made a call, beside the owner's id."""

    roles: tuple[str, ...] = ()
    display_name: str = ""


@dataclass(frozen=True, slots=True)
class WaitingApproval:
    """A call that waits for an approval; times are Unix times."""

    key: ThreadKey
    tool_call_id: str
    approval_id: str
    """Names the question within its thread."""
    tool_name: str
    args: Mapping[str, Any]
    """JSON."""
    asked_at: float
    asker: Asker = Asker()
    expires_at: float | None = None
    may_have_run: bool = False
    is_open: bool = True
    """False: it was decided, or nobody needs to decide any more."""
    is_alone: bool = True
    """False: the thread waits for another answer too, of a question or an interrupt."""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    """Unique among all threads."""


@dataclass(frozen=True, slots=True)
class ApprovalPage:
    approvals: Sequence[WaitingApproval]
    has_more: bool


@dataclass(frozen=True, slots=True)
class Granted:
    """The claim is the caller's."""

    thread: ThreadEntry | None = None
    """As the list has it; None: it is new, or claimed for its deletion."""


@dataclass(frozen=True, slots=True)
class Held:
    """Another run has the thread, or its deletion: then `run_id` is None."""

    run_id: str | None


@dataclass(frozen=True, slots=True)
class Repeated:
    """The idempotency key names an earlier request."""

    thread_id: str
    run_id: str
    same_body: bool


@dataclass(frozen=True, slots=True)
class Hidden:
    """The thread is deleted, and not forgotten yet: nobody has claimed it."""


@dataclass(frozen=True, slots=True)
class IdleThread:
    key: ThreadKey
    updated_at: str
    """As in its entry."""


ClaimResult = Granted | Held | Repeated | Hidden


Section = Literal["checkpoints", "values", "writes"]
"""The parts in which checkpoints are stored."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The room that a part of a thread takes."""

    count: int = 0
    bytes: int = 0


class ThreadStore(
    RemovedMessages,
    KeptSubsteps,
    ThreadMetadata,
    AssistantStore,
    QueueStore,
    Protocol,
):
    """The list of threads, the claims on them, and what else is not a checkpoint.

    Every method is one transaction, and raises StorageUnavailable if that cannot be done. Reading
    does not wait for writing. `also` are writes of others that join the transaction. A thread that
    is deleted may be hidden until it is forgotten: for every other method it is deleted, but that
    its id is taken.
    """

    async def perform(self, also: Also) -> None:
        """Perform writes of others in a transaction of their own."""

    async def claim(
        self, key: ThreadKey, run_id: str, idempotency: IdempotencyKey | None = None
    ) -> ClaimResult:
        """Take the thread for a run, and keep the idempotency key with it: all or nothing. The key
        names the run for a day, or until the request is refused or the thread deleted."""

    async def claim_for_deletion(self, key: ThreadKey, deletion_id: str) -> ClaimResult:
        """Take the thread so that no run can begin; a later deletion takes it over."""

    async def claim_idle(
        self, key: ThreadKey, deletion_id: str, since: float, now: float
    ) -> ClaimResult:
        """Take the thread for its deletion if it is still `idle` and not claimed;
        else Held."""

    async def release(self, key: ThreadKey, run_id: str, also: Also = ()) -> None:
        """Give the claim back: the deletion is done, or the run cannot be ended in order. A claim
        that is another's stays; a run that has begun is interrupted, and only then is there
        something to record."""

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
        """Give the claim back and free its idempotency key: the request is not kept. A queued one
        waits again. If the run has
        begun, undo `begin_run`, with its arguments and the `thread` of `Granted`, and perform
        `also`. A claim that is another's stays, with its key."""

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
        """Move the thread to the top of the list as live, on this graph. `base` is its newest
        checkpoint, empty if it has none: a newer one has what the run's request brought. None: it
        does not tell. A thread gets the title with its first run: on one line, cut to 60
        characters, with a number behind it if another thread of the owner has it.
        `closes_approvals`: none of its calls waits for an approval any more. `words`: the thread
        begins with others; a title that it got of those before follows them. `metadata` is merged
        into that of the thread. `begun` is called, on any thread, when all of this is on disk: with
        the title, and None for a later run. `joins_next`: a checkpoint under the claim follows at
        once, and this may be written with it, in one transaction."""

    async def end_run(
        self,
        key: ThreadKey,
        run_id: str,
        state: ThreadRunState,
        also: Also = (),
        waiting: Sequence[WaitingApproval] = (),
    ) -> bool:
        """Note how a run ended and release its claim, and which calls are `waiting` for an approval
        now: a question that was listed before keeps its id. The thread keeps its place in the
        list. A thread that another run has begun on since stays as it is. Return False if no
        request is queued behind the run: one that is queued later finds the thread free."""

    async def holds_alone(self, key: ThreadKey, run_id: str) -> bool:
        """Wait until no write under the claim of this run is in flight. False: this process does
        not have that claim."""

    async def run_base(self, key: ThreadKey, run_id: str) -> str | None:
        """The thread's newest checkpoint when its last run began; empty if it had none. None: it is
        not known, or another run is the last."""

    async def holder(self, key: ThreadKey) -> str | None:
        """The id of the run that has claimed the thread."""

    async def forget_requests(self, key: ThreadKey, run_id: str) -> None:
        """Free the idempotency key of a run, under its claim; if its request was queued, the
        request waits again. Raises LeaseLost."""

    async def recover(self) -> Sequence[LostRun]:
        """Drop all claims, and the idempotency keys of runs that had not begun; name the runs that
        were live: for a process that has the database to itself, before its first claim."""

    async def get(self, key: ThreadKey) -> ThreadEntry | None: ...

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
        """The threads, or those whose last run is in this state, by last activity, newest first;
        `cursor` is that of the page before. `archived` None: also those of the archive; False:
        without them, and pinned ones come first. `search`: only those that it finds.

        All pages show the list as it was at the first: none is skipped or repeated while threads
        move. Raises ValueError for an unknown cursor.
        """

    async def create(
        self, key: ThreadKey, graph: str | None = None, metadata: Metadata | None = None
    ) -> Created | None:
        """Add a thread without a run, whose `run_id` is empty, made for this graph, with metadata;
        one that is there stays as it is. None: the id is that of a hidden one."""

    async def checkpoint_sizes(self, key: ThreadKey) -> Mapping[Section, Rows]:
        """Count the rows and bytes of a thread's checkpoints; none: no run has begun it."""

    async def copy(self, source: ThreadKey, new: ThreadKey) -> ThreadEntry | None:
        """Copy a thread that is not live, with its checkpoints, under an id that nobody has. A live
        one is returned itself, and nothing is copied. None: there is no such thread."""

    async def rename(self, key: ThreadKey, title: str) -> ThreadEntry | None:
        """A renamed thread keeps its place and its times. None: there is no such thread."""

    async def give_title(self, key: ThreadKey, title: str, before: str) -> ThreadEntry | None:
        """Rename a thread that still has the title `before`, with a number behind it if another of
        the owner has it. None: it has another title by now, or is gone."""

    async def arrange(
        self, key: ThreadKey, pinned: bool | None = None, archived: bool | None = None
    ) -> ThreadEntry | None:
        """Pin or archive a thread, or undo that; what is None stays. A run that begins takes it out
        of the archive. None as the answer: there is no such thread. Raises TooManyPinned."""

    async def allow_tools(self, key: ThreadKey, names: Sequence[str] | None) -> ThreadEntry | None:
        """Narrow the thread's runs to these tools; None: not at all. The thread keeps its place and
        its times. None as the answer: there is no such thread."""

    async def delete(self, key: ThreadKey, also: Also = (), *, unless_queued: bool = False) -> bool:
        """Remove the thread from the list, and what is kept of its calls. Of a thread that is not
        in the list nothing is recorded. False: with `unless_queued` requests wait for it, and it
        stays."""

    async def put_words(self, key: ThreadKey, run_id: str, words: str) -> None:
        """Keep what the thread's live run has said, in the place of what was kept before."""

    async def words(self, key: ThreadKey, run_id: str) -> str | None:
        """Return the words that are kept of a run. None: there are none, or only those of another
        run."""

    async def forget_words(self, key: ThreadKey) -> None:
        """The thread has them by now, or never will."""

    async def keep_dispositions(
        self, key: ThreadKey, dispositions: Mapping[str, Disposition]
    ) -> None:
        """Store the dispositions, by call id, of calls whose message does not carry them."""

    async def dispositions(self, key: ThreadKey) -> Mapping[str, Disposition]:
        """Return the dispositions that were kept for the thread."""

    async def approvals(
        self, owner: str, tool_names: Collection[str], now: float, limit: int, skip: int = 0
    ) -> ApprovalPage:
        """Return calls that wait for an approval and have not expired at `now`, oldest first: the
        owner's, and all of these tools but those of threads made without authentication.

        A page has the calls of its askers in turn, `skip` of them left out: see
        `turnstream.server.storage.approvals.page`.
        """

    async def approval(self, id: str) -> WaitingApproval | None:
        """Also one that is not open any more, until its thread asks again."""

    async def hide(
        self, key: ThreadKey, deletion_id: str, until: float, also: Also = ()
    ) -> float | None:
        """Hide a thread that is claimed for its deletion until a Unix time, when it is to be
        forgotten, and release the claim. One that is hidden already stays so until its own time,
        and nothing is recorded. The time; None: there is no such thread, and the claim stays."""

    async def restore(self, key: ThreadKey, also: Also = ()) -> ThreadEntry | None:
        """Show a hidden thread again; one that is not hidden stays as it is, and nothing is
        recorded. None: there is none, or it is being forgotten."""

    async def hidden(
        self, limit: int, owner: str | None = None, after: tuple[ThreadKey, float] | None = None
    ) -> Sequence[tuple[ThreadKey, float]]:
        """The threads that are to be forgotten next, and when; of all owners, or of one. `after` is
        the last one of the page before."""

    async def claim_hidden(self, key: ThreadKey, deletion_id: str, now: float) -> ClaimResult:
        """Take a thread that is hidden, and due at `now`, to forget it; else Held."""

    async def idle(
        self, since: float, now: float, limit: int, after: IdleThread | None = None
    ) -> Sequence[IdleThread]:
        """Threads of all owners without activity since a Unix time, the longest idle first; `after`
        is the last one of the page before. Not those that have a live run, or a call whose approval
        is open and has not expired at `now`."""

    async def forget_old_requests(self) -> None:
        """Forget the idempotency keys of requests that are older than a day."""

    async def shrink(self) -> bool:
        """Give some unused space of the database back to the disk, in a short transaction. True:
        there is more to give back."""
