"""The door: the kinds of contribution that an extension can make, and all that it is handed.

An extension is a subclass of `Extension` that overrides what it contributes. The kinds are a closed
set: settings, tables, routes, middleware, wire formats, commands, the search over the list of
threads, the versions of messages, callers, their rights and the rules on what they reach, engines
of databases, `open`, and hooks on the life of a run.
An extension never gets the server itself, and cannot change what a model said. docs/extensions.md
has a complete example.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, HumanMessage
from pydantic_settings import BaseSettings
from sqlalchemy import Connection, MetaData
from sqlalchemy.sql.dml import UpdateBase
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Route

from turnstream.server.callers.principal import Principal
from turnstream.server.callers.reach import MetadataFilter, Resource
from turnstream.server.callers.rights import Rights
from turnstream.server.storage.search import Search
from turnstream.server.storage.write_meter import WriteMeter
from turnstream.server.turns.audit_records import AuditRecord
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.message_texts import MessageText, TextChanges
from turnstream.server.turns.versions import Versions

if TYPE_CHECKING:
    from limits.aio.storage import Storage as Counters

EXTENSION_API = 1
"""The version of this door. An extension of another version keeps the server from starting."""

RECOGNISE_SECONDS = 30.0
GUARD_SECONDS = 5.0
AFTER_SECONDS = 2.0
"""Limit on the `after_run` hooks of one run, all together."""
WATCH_SECONDS = 10.0
MAX_QUEUED = 1_000
MAX_WRITES = 100

T = TypeVar("T")

Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]
Write = UpdateBase | tuple[UpdateBase, Parameters]
"""An INSERT, UPDATE or DELETE of one of the extension's own tables, alone or with its parameters. A
statement that is made once, in a module, costs less than one that is made for each run."""
Watch = Callable[[Sequence[Chunk]], Awaitable[None]]
"""Receives the chunks of one run after they were logged. The last call ends with `Done`, unless the
server ends first."""
Command = Callable[[Sequence[str]], int]
"""Takes the arguments behind the command's name; returns the exit status."""
AddCommands = Callable[[Any], None]
"""Adds subcommands to an argparse group, with `turnstream.server.extensions.commands.add_command`.
"""


class ExtensionError(Exception):
    """An extension keeps the server from starting; the message is for whoever starts it."""


class Refusal(Exception):
    """A guard refuses a run, or a route a request: the client gets a problem with the status, the
    code and the sentence.

    The sentence is shown to the caller: it holds no secret, and says what to do.
    """

    def __init__(self, code: str, sentence: str, status: int = 403) -> None:
        super().__init__(sentence)
        if not 400 <= status < 600:
            raise ValueError(f"{status} is not the status of a refusal")
        self.code = code
        self.sentence = sentence
        self.status = status


class TokenBudget(Protocol):
    """The tokens that the caller of a run may still use."""

    async def check_tokens(self) -> None:
        """Raises an exception if the caller has used up their tokens."""

    async def charge_tokens(self, tokens: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Branch:
    """The messages of a thread up to a checkpoint."""

    messages: Sequence[AnyMessage]
    head: str | None
    """The checkpoint. None: there is none yet."""


@dataclass(frozen=True, slots=True)
class Branching:
    """A run that does not go on from the end of its thread."""

    left: Branch
    """The thread, as the run leaves it."""
    followed: Branch
    """The branch that the run goes on from: the thread, or one that it has left before."""
    replaced: HumanMessage | None
    """The message of `followed` in whose place the run asks. None: it goes on from the end."""
    message_id: str
    """The id of the message that the run asks: another one, or that of `replaced`."""
    is_edit: bool
    """True: it asks in other words."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A run that is about to begin; nothing of it is on disk yet."""

    key: ThreadKey
    run_id: str
    principal: str
    """The id of the caller."""
    roles: tuple[str, ...]
    graph: str
    model: str | None
    """None: the graph has a model of its own."""
    setup: str | None
    """A hash of the system prompt and the tools. None: the graph has its own."""
    wire_format: str
    text: str
    """The text of the user's new message; empty without one."""
    messages_before: int
    """Messages of the thread before the request."""
    follows: str | None
    """The thread's last run before this one. None: it had none."""
    branching: Branching | None
    """None: the run goes on from the end of its thread."""
    budget: TokenBudget


class WatchedRun(Protocol):
    """A run as it is now; read-only."""

    @property
    def spec(self) -> RunSpec: ...

    @property
    def state(self) -> str:
        """`live`; from its end on `finished`, `waiting`, `stopped` or `failed`; `refused`, if its
        request was not stored."""

    @property
    def started(self) -> float:
        """`time.monotonic()` at its start."""

    @property
    def first_word(self) -> float | None:
        """`time.monotonic()` at its first text. None: there is no text yet."""

    @property
    def new_title(self) -> str | None:
        """The title that the run gave its thread. None: there was a thread before."""

    @property
    def messages(self) -> Sequence[AnyMessage]:
        """The thread, as far as the run has told it."""

    def text_changes(self) -> TextChanges | None:
        """Return the changes that the run has made to its thread's texts, for `after_run`. It takes
        time in proportion to the thread. None: nobody has looked at the thread since the run began.
        Nothing of subagents is among them."""

    @property
    def has_substeps(self) -> bool:
        """True if subagents have spoken, or were waited for."""


class ThreadVersions(Protocol):
    """The versions of a thread's messages, for one request. Each method takes time in proportion to
    the messages that it gets, and is called on any thread."""

    def shown(
        self, messages: Sequence[AnyMessage], thread: Sequence[AnyMessage]
    ) -> Mapping[str, Versions]:
        """Return the versions of the messages that have several, by the ids that clients know.
        `messages` are those of `thread`, or of a branch that it has left."""

    def head(self, version: str, thread: Sequence[AnyMessage]) -> str | None:
        """Return the last checkpoint of the branch that has a version. None: `thread` has it.
        Raises `turnstream.server.turns.versions.unknown_version`."""


class Threads(Protocol):
    """The part of the list of threads that extensions may use. Each method is one transaction, and
    raises StorageUnavailable if it cannot be done."""

    async def title(self, key: ThreadKey) -> str | None:
        """None: there is no such thread."""

    async def give_title(self, key: ThreadKey, title: str, before: str) -> bool:
        """Give a thread a title, if its title is still the one of `before`."""

    async def texts(self, key: ThreadKey, *, with_substeps: bool = False) -> Sequence[MessageText]:
        """Return the texts of a thread as it is now; none, if there is no such thread. With
        substeps a message that calls subagents has also what they have said, behind its own words.
        Raises also what keeps its graph from reading it."""

    async def restore(self, key: ThreadKey) -> bool:
        """Bring back a thread that was deleted and can be brought back; one that is there stays as
        it is. False: there is none, or no more."""

    def hold(self, connection: Connection, key: ThreadKey) -> bool:
        """Check in a transaction of the extension that a thread exists, and keep it until the
        end of the transaction."""


class Database(Protocol):
    """The database of the server: one transaction each.

    `work` gets an SQLAlchemy connection and the arguments. It runs on a worker thread, and may be
    called again if its transaction was undone. Raises StorageUnavailable.
    """

    async def write(self, work: Callable[..., T], *arguments: Any) -> T: ...

    async def read(self, work: Callable[..., T], *arguments: Any) -> T: ...


class Status(Protocol):
    """The state of the server, for a monitor; may be read on any thread."""

    @property
    def live_runs(self) -> int: ...

    @property
    def oldest_claim_seconds(self) -> float: ...

    @property
    def dropped_chunks(self) -> int:
        """Chunks that watchers missed because their queue was full."""

    @property
    def leases_lost(self) -> int:
        """Runs of this worker whose leases lapsed."""

    @property
    def takeovers(self) -> int:
        """Claims of other workers that this one took over."""

    @property
    def events(self) -> Mapping[tuple[str, str], int]:
        """The events that extensions have counted, by the extension's name and the event's."""


@dataclass(frozen=True, slots=True)
class Served:
    """Names of what the server serves, as it starts."""

    tools: Collection[str] = ()
    """The tools of the catalogue and of all graphs."""
    models: Collection[str] = ()
    tools_of_graphs: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The tools of each graph that is not the built-in one, by the graph's name. Such a graph runs
    its tools by itself: a call can be denied, but neither waited for nor counted."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The parts of the server that an extension may use while the server serves."""

    served: Served
    database: Database
    threads: Threads
    status: Status
    meters: Mapping[str, WriteMeter]
    """The writes of the thread list and of the checkpoints, by the name of the store."""
    count: Callable[[str], None]
    """Count an event of the extension, for a monitor. The name is one of a few."""
    open_model: Callable[[str], AbstractAsyncContextManager[BaseChatModel]]
    """Open a model by the name that a setting would give it; it does not reason. Raises
    ModelSetupError."""
    open_counters: Callable[[], AbstractAsyncContextManager["Counters | None"]] = nullcontext
    """Open the storage in which all workers count what callers use up. None: they share none."""


class Extension:
    """An optional feature. Made once a server, with all of its settings.

    `recognise` is called for each request to a route that is not public, while TURNSTREAM_AUTH
    names one of the extension's `methods`. The extensions are asked in their order until one knows
    the caller; a caller whom none knows is refused with a 401. It raises Refusal to refuse a
    caller itself. It has `RECOGNISE_SECONDS`: if it is late, raises anything else or returns
    anything but a principal of a method other than `off`, the request is refused with
    `authentication_unavailable`.

    `rights` is called for each request and for each run. One extension may give callers their
    rights; without one they may do everything. It raises Forbidden for a caller who may do nothing.
    It waits for nothing. If it raises anything else, the request is refused with `guard_failed`.

    `filter` is called before a caller reaches one of their threads or assistants, or an item of
    LangGraph's store, for the resources in `has_rules_on`. One extension may have rules. It raises
    Refusal, or returns the filter that the metadata must match: a thread that does not is no
    thread for the caller. Action and value are those of LangGraph's `@auth.on`; `filter` may
    change the metadata of a value that creates or updates something, and the namespace of one of
    the store. It has `GUARD_SECONDS`, and fails as a guard does.

    `before_run` is called under the claim on the thread, before anything is stored. It raises
    Refusal, or returns the names of the tools to which it narrows the run (None: all that the
    caller may use). It has `GUARD_SECONDS`: a guard that is late, or raises anything else, refuses
    the run with `guard_failed`. The tools of a graph of one's own cannot be narrowed.

    `run_begins` is called when the guards have admitted a run. The writes that it returns, at most
    `MAX_WRITES`, are part of the transaction that stores the beginning. It has `GUARD_SECONDS`, and
    fails as a guard does. If the request cannot be saved after all, or the process dies before it
    is, the writes stay.

    `watch` is called as a run begins, in the context that the run has to itself, and returns the
    run's watcher or None. A watcher is fed from a queue of `MAX_QUEUED` batches; a batch that finds
    the queue full is dropped and counted. A watcher that raises, or needs more than
    `WATCH_SECONDS` for a batch, gets nothing more of its run. It can neither fail the run nor slow
    it down.

    `after_run` is called with all chunks of a run that is over, before the end is stored. The
    writes that it returns, at most `MAX_WRITES`, are part of the transaction that stores the end.
    If it raises, or the hooks together need more than `AFTER_SECONDS`, nothing is written for it.
    It is not called for a run whose process died: recovery stores that end, and `record` is told.

    `record` is called before a deed is stored: a run begins or ends, a thread is deleted or brought
    back, somebody logs in or out. The writes that it returns are part of the transaction that
    stores the deed. `note` is told of deeds that have no transaction, such as a call of a tool.
    Neither waits for anything.

    `thread_titled` returns writes for the transaction that gives a thread another title: a person
    or a model has renamed it, or it begins with other words by now. A new thread's first title is
    not told; its run's end finds it.

    `thread_deleted` returns writes for the transaction that deletes a thread. Rows of tables with
    the columns `owner` and `thread_id` need none: they go with their thread, even while the
    extension is off.

    `principal_deleted` returns writes for the transaction that deletes what is stored of a caller
    beside their threads. If it or one of them fails, the deletion does, and can be done again.
    """

    name: ClassVar[str]
    """Lower-case letters, digits and underscores. Its settings and tables begin with it."""
    api: ClassVar[int]
    """The version of the door that it was written for: EXTENSION_API."""
    order: ClassVar[int] = 100
    """Extensions of a lower order come first; those of the same order by name."""
    settings: ClassVar[type[BaseSettings] | None] = None
    """A section of the settings: each field is an option, and a variable of the environment."""
    tables: ClassVar[MetaData | None] = None
    version: ClassVar[int] = 1
    """The version of the tables; see `migrate`."""
    commands: ClassVar[Mapping[str, Command]] = {}
    """First arguments of `turnstream` that run a command of the extension."""
    administration: ClassVar[Mapping[str, AddCommands]] = {}
    """First arguments of `turnstream` whose subcommands work on the database, where the extension's
    tables are there, and may record deeds."""
    methods: ClassVar[Sequence[str]] = ()
    """The methods of TURNSTREAM_AUTH by which the extension recognises callers. It is on while the
    setting names one of them. `module:function` stands for every name with a colon."""
    has_rules_on: Collection[Resource] = ()
    """The resources for which `filter` is called. To be set while the extension is made."""
    records: bool = True
    """False: `record` and `note` are not called. To be set while the extension is made."""

    restorable_seconds: float = 0.0
    """Seconds for which a thread that somebody deletes is hidden before it is forgotten, so that
    the extension can have it brought back (`Threads.restore`). The most of all extensions count. To
    be set while the extension is made."""

    def __init__(self, settings: Any) -> None:
        """Raises ExtensionError if the settings cannot be served."""

    @staticmethod
    def is_on(settings: Any) -> bool:  # noqa: ARG004
        """Check whether the settings switch the extension on. It is not made otherwise."""
        return True

    @staticmethod
    def migrate(connection: Connection, version: int) -> None:
        """Bring the tables from an older version to the present one, in one transaction. Tables
        that are new are made already."""

    def routes(self) -> Sequence[Route]:
        """Return routes for callers who are recognised and permitted."""
        return ()

    def public_routes(self) -> Sequence[Route]:
        """Return routes for anybody. The server reads small bodies there, of at most 12,000 bytes,
        within a budget of their own."""
        return ()

    async def recognise(self, request: Request[Any]) -> Principal | None:
        """Return the caller of a request. None: the extension knows nobody by it."""
        raise NotImplementedError

    @classmethod
    def engine(cls, settings: Any) -> Any:  # noqa: ARG003
        """Return what opens the database that the settings name, also for a command: see
        `turnstream.server.storage.opened.StorageEngine`. None: the extension does not."""
        return None

    def security_schemes(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the credentials that `recognise` takes, as security schemes of OpenAPI."""
        return {}

    def rights(self, principal: Principal) -> Rights:
        """Return the rights of a caller. One extension may give them. Raises Forbidden."""
        raise NotImplementedError

    async def filter(
        self, principal: Principal, resource: Resource, action: str, value: dict[str, Any]
    ) -> MetadataFilter:
        """Return the filter on what a caller reaches. Raises Refusal."""
        raise NotImplementedError

    def middleware(self) -> Sequence[Middleware]:
        """Return ASGI middleware around all of the server's own."""
        return ()

    def formats(self) -> Sequence[Any]:
        """Return wire formats: see `turnstream.server.formats.format.Format`."""
        return ()

    def search(self, text: str) -> Search:
        """Parse what somebody looks for in the list of threads. One extension may be the search.
        Raises ValueError with the end of a sentence that begins with the text."""
        raise NotImplementedError

    @asynccontextmanager
    async def open(self, opened: Opened) -> AsyncIterator[None]:  # noqa: ARG002
        """Work beside the requests as long as the server serves."""
        yield

    async def versions(self, key: ThreadKey) -> ThreadVersions:
        """Return the versions of a thread's messages. One extension may keep them. Raises
        StorageUnavailable."""
        raise NotImplementedError

    async def before_run(self, spec: RunSpec) -> Collection[str] | None:
        """Admit a run, narrow it or refuse it."""

    async def run_begins(self, spec: RunSpec) -> Sequence[Write]:  # noqa: ARG002
        """Return writes for the transaction that stores the beginning of a run."""
        return ()

    def watch(self, run: WatchedRun) -> Watch | None:
        """Return the watcher of a run that begins."""

    async def after_run(
        self,
        run: WatchedRun,  # noqa: ARG002
        chunks: Sequence[Chunk],  # noqa: ARG002
    ) -> Sequence[Write]:
        """Return writes for the transaction that stores the end of a run."""
        return ()

    def record(self, records: Sequence[AuditRecord]) -> Sequence[Write]:  # noqa: ARG002
        """Return writes for the transaction of what the records tell."""
        return ()

    def note(self, records: Sequence[AuditRecord]) -> None:
        """Keep records of what has no transaction."""

    def thread_titled(self, key: ThreadKey, title: str) -> Sequence[Write]:  # noqa: ARG002
        """Return writes for the transaction that gives a thread another title."""
        return ()

    def thread_deleted(self, key: ThreadKey) -> Sequence[Write]:  # noqa: ARG002
        """Return writes for the transaction that deletes a thread."""
        return ()

    def principal_deleted(self, principal: str) -> Sequence[Write]:  # noqa: ARG002
        """Return writes for the transaction that deletes what is stored of a caller."""
        return ()

    def headers_after_deletion(self, request: Request[Any]) -> Mapping[str, str]:  # noqa: ARG002
        """Return headers for the answer to a request that has deleted its caller, such as a cookie
        that is taken back. Called once the writes of `principal_deleted` are stored: from then on
        `recognise` is to know the caller no more."""
        return {}

    async def exported(self, key: ThreadKey) -> Any:
        """Return the extension's part of a thread in GET /export, as JSON; None: it has none."""
