"""The parts of the server that extensions may use, and their tables."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from sqlalchemy import Connection

from turnstream.graphs.graph_tools import tools_of
from turnstream.server.extensions.base import Extension, Opened, Served
from turnstream.server.runs.deletions import Deletions
from turnstream.server.runs.hooks import RunHooks
from turnstream.server.runs.message_texts import texts, texts_under
from turnstream.server.runs.runs import Runs
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.runs.substep_record import told_substeps
from turnstream.server.storage import thread_list
from turnstream.server.storage.interfaces import ThreadStore
from turnstream.server.storage.opened import Storage
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.message_texts import MessageText
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.threads import beside_loop


@dataclass(frozen=True, slots=True)
class Threads:
    """Implements `turnstream.server.extensions.base.Threads`."""

    store: ThreadStore
    graphs: ServedGraphs
    deletions: Deletions

    async def title(self, key: ThreadKey) -> str | None:
        entry = await self.store.get(key)
        return entry.title if entry else None

    async def give_title(self, key: ThreadKey, title: str, before: str) -> bool:
        return await self.store.give_title(key, title, before) is not None

    async def texts(self, key: ThreadKey, *, with_substeps: bool = False) -> Sequence[MessageText]:
        entry = await self.store.get(key)
        if entry is None:
            return ()
        checkpoints = self.graphs.checkpoints(entry.graph)
        messages = (await checkpoints.load(key)).shown
        keeps = with_substeps and checkpoints.substeps_bytes
        spoken = [message for message in messages if keeps and isinstance(message, AIMessage)]
        calls = {call["id"] or "" for message in spoken for call in message.tool_calls}
        rows = await self.store.substeps(key, calls) if calls else ()

        def found() -> Sequence[MessageText]:
            told = told_substeps(rows, checkpoints.attached.results)
            return texts(messages, under=texts_under(told, calls))

        return await beside_loop(len(messages) + len(rows), found)

    async def restore(self, key: ThreadKey) -> bool:
        return await self.deletions.restore(key) is not None

    def hold(self, connection: Connection, key: ThreadKey) -> bool:
        return thread_list.hold(connection, key)


@dataclass(frozen=True, slots=True)
class Status:
    """Implements `turnstream.server.extensions.base.Status`."""

    runs: Runs
    hooks: RunHooks
    events: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(self, extension: str, event: str) -> None:
        self.events[extension, event] += 1

    @property
    def live_runs(self) -> int:
        return self.runs.live

    @property
    def oldest_claim_seconds(self) -> float:
        return self.runs.oldest_claim_seconds

    @property
    def dropped_chunks(self) -> int:
        return self.hooks.dropped_chunks

    @property
    def leases_lost(self) -> int:
        return self.runs.leases_lost

    @property
    def takeovers(self) -> int:
        return self.runs.others.takeovers if self.runs.others else 0


NOTHING_SERVED = Served()


def served(graphs: ServedGraphs, catalogue: Catalogue, models: Collection[str]) -> Served:
    """Return the names of what the server serves."""
    attached = {name: each.attached for name, each in graphs.by_name.items()}
    tools = {name: tools_of(each.graph) for name, each in attached.items()}
    others = {name: tools[name] for name, each in attached.items() if not each.is_built_in}
    ours = {*catalogue.real_by_name, *catalogue.ui_by_name}
    return Served(ours.union(*tools.values()), models, others)


@asynccontextmanager
async def open_all(
    extensions: Sequence[Extension],
    storage: Storage,
    graphs: ServedGraphs,
    status: Status,
    open_model: Callable[[str], AbstractAsyncContextManager[BaseChatModel]],
    served: Served = NOTHING_SERVED,
) -> AsyncIterator[None]:
    """Open the extensions in their order, and close them in the opposite one. Raises what they
    raise."""
    meters = {"thread_list": storage.store.meter, "checkpoints": storage.checkpointer.meter}
    async with AsyncExitStack() as stack:
        for each in extensions:
            opened = Opened(
                served=served,
                database=storage.store,
                threads=Threads(storage.store, graphs, status.runs.deletions),
                status=status,
                meters=meters,
                count=partial(status.count, each.name),
                open_model=open_model,
                open_counters=storage.open_counters,
            )
            await stack.enter_async_context(each.open(opened))
        yield
