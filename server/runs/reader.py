"""A run as a reader sees it: its log, the store and the checkpoint that it began with.

It makes no difference to a reader in which process the run lives.
"""

from collections.abc import AsyncGenerator, Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial

from turnstream.server.extensions.base import ThreadVersions
from turnstream.server.runs.asides import asides_of
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.runs.substep_record import told_substeps
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.runs.transcript import Transcript
from turnstream.server.runs.versions import (
    NO_OTHERS,
    NO_VERSIONS,
    ShownVersions,
    VersionsOf,
    no_versions,
    with_empty_answer,
    with_versions,
)
from turnstream.server.storage.interfaces import ThreadStore
from turnstream.server.storage.run_logs import RunLog, RunLogs
from turnstream.server.turns.accumulate import ToldSubsteps, accumulate, is_in_order
from turnstream.server.turns.chunks import Aside, Chunk
from turnstream.server.turns.graph_state import Values, state_after
from turnstream.server.turns.header import RunHeader, ThreadKey
from turnstream.server.turns.messages import AssistantTurn, Step, Turn
from turnstream.server.turns.pages import WHOLE, TurnPage
from turnstream.server.turns.told_thread import calls_of
from turnstream.tools.threads import beside_loop

CHARS_OF_MESSAGE = 500
"""Characters of kept substeps whose reading takes as long as that of a message."""


@dataclass(frozen=True, slots=True)
class LoggedRun:
    header: RunHeader
    log: RunLog


@dataclass(frozen=True, slots=True)
class Progress:
    """A live run as far as its log goes; only to its beginning if its parts are not in order."""

    before: ThreadState
    """The thread as the run began."""
    turns: tuple[Turn, ...]
    """The thread, or a page of it, as the run has told it so far."""
    first_part: int
    """The index, in its message, of the run's part 0."""
    last: int
    """The number of the newest chunk that `turns` has."""
    graph_state: Values | None = None
    """The graph's state that clients see, as told up to `last`; None: nothing of it, ever."""
    has_earlier: bool = False
    """True if the thread has turns before the page."""
    asides: tuple[Aside, ...] = ()
    """The messages of the thread that are in no turn."""


class RunReader:
    """`versions` returns the versions of a thread's messages."""

    def __init__(
        self,
        graphs: ServedGraphs,
        store: ThreadStore,
        logs: RunLogs,
        versions: VersionsOf = no_versions,
    ) -> None:
        self._graphs = graphs
        self._store = store
        self._logs = logs
        self.versions = versions

    async def live(self, key: ThreadKey) -> LoggedRun | None:
        """The thread's live run; of one whose request is being checked it awaits the outcome."""
        run_id = await self._store.holder(key)
        return await self.find_live(key, run_id) if run_id else None

    async def find_live(self, key: ThreadKey, run_id: str) -> LoggedRun | None:
        """A run of the thread that goes on. A run whose end is told is over, though the list of
        threads could not note that yet."""
        run = await self.find(key, run_id)
        return None if run is None or run.log.is_over else run

    async def find(self, key: ThreadKey, run_id: str) -> LoggedRun | None:
        """A run of the thread whose log is held."""
        log = await self._logs.get(run_id)
        header = await log.header() if log else None
        if log is None or header is None or header.key != key:
            return None
        return LoggedRun(header, log)

    async def has_request(self, key: ThreadKey, run_id: str) -> bool | None:
        """Return True if the thread has what the request of its last run brought, False if not or
        if another run is the last, None if it is not known."""
        base, entry = await self._store.run_base(key, run_id), await self._store.get(key)
        if entry is None or entry.run_id != run_id:
            return False
        if base is None:
            return None
        return (await self.state(key, entry.graph)).checkpoint_id != (base or None)

    async def has_messages(self, key: ThreadKey, ids: Collection[str]) -> bool:
        """Return True if the thread has messages of these ids; False without ids."""
        entry = await self._store.get(key)
        if entry is None or not ids:
            return False
        state = await self.state(key, entry.graph)
        return {*ids} <= {message.id for message in state.shown}

    async def state(self, key: ThreadKey, graph: str | None = None) -> ThreadState:
        """The thread, which belongs to this graph, as it is saved."""
        return await self._graphs.checkpoints(graph).load(key)

    async def turns(self, key: ThreadKey, graph: str | None = None) -> tuple[Turn, ...]:
        """The same, as every wire format shows it."""
        state = await self.state(key, graph)
        turns = await beside_loop(len(state.messages), partial(self.shown, state))
        return await self.with_substeps(key, graph, turns)

    async def with_substeps(
        self,
        key: ThreadKey,
        graph: str | None,
        turns: tuple[Turn, ...],
        *,
        without_run: str | None = None,
    ) -> tuple[Turn, ...]:
        """The turns of a thread, whose calls have what subagents did under them; without what this
        live run has kept so far."""
        told = await self._told_substeps(key, graph, turns, without_run)
        return tuple(map(told.on, turns)) if told else turns

    async def _told_substeps(
        self, key: ThreadKey, graph: str | None, turns: Iterable[Turn], without_run: str | None
    ) -> ToldSubsteps | None:
        """Return what is kept under the calls of these turns; None: nothing."""
        checkpoints = self._graphs.checkpoints(graph)
        calls = calls_of(turns).keys() if checkpoints.substeps_bytes else ()
        rows = await self._store.substeps(key, calls) if calls else ()
        rows = [row for row in rows if row.run_id != without_run]
        if not rows:
            return None
        length = sum(len(row.body or "") for row in rows) // CHARS_OF_MESSAGE
        read = partial(told_substeps, rows, checkpoints.attached.results, without_run)
        return await beside_loop(length, read)

    async def left_branches(
        self, key: ThreadKey, graph: str | None = None
    ) -> AsyncGenerator[tuple[str, tuple[Turn, ...], tuple[Aside, ...]]]:
        """The branches that the thread has left, the latest first: the last checkpoint of each, its
        turns, without substeps, and its messages that are in no turn. Each is loaded when it is
        asked for."""
        for head in await self._graphs.checkpoints(graph).left_heads(key):
            state = await self.at_head(key, graph, head)

            def shown(state: ThreadState = state) -> tuple[tuple[Turn, ...], tuple[Aside, ...]]:
                return self.shown(state), asides_of(state.shown, state.results)

            yield head, *await beside_loop(len(state.messages), shown)

    def shown(self, state: ThreadState) -> tuple[Turn, ...]:
        return self.page(state, WHOLE)[0]

    def page(
        self, state: ThreadState, page: TurnPage, versions: ShownVersions = NO_OTHERS
    ) -> tuple[tuple[Turn, ...], bool]:
        """A page of the thread, whose messages have these versions, and whether it has turns
        before that. Raises InvalidRequest."""
        running = state.unfinished and not state.interrupts
        transcript = _transcript(state, running=running)
        places = page.of(transcript.ids)
        turns = transcript.turns(places)
        if places.stop >= len(transcript.ids):
            turns = with_empty_answer(turns, versions)
        return with_versions(turns, versions), places.start > 0

    async def at_head(self, key: ThreadKey, graph: str | None, head: str) -> ThreadState:
        """A branch that the thread has left, by its last checkpoint."""
        state = await self._graphs.checkpoints(graph).load(key, head)
        return replace(state, unfinished=False)

    async def turns_before(self, header: RunHeader) -> tuple[Turn, ...]:
        """The thread as it stood when the run began, with what the request added."""
        return (await self.before(header))[0]

    async def before(
        self, header: RunHeader
    ) -> tuple[tuple[Turn, ...], Values | None, tuple[Aside, ...]]:
        """The same, what clients saw then of the graph's state, and the messages that are in no
        turn."""
        state, kept = await self.state_before(header), await self.versions(header.key)

        def turns() -> tuple[tuple[Turn, ...], tuple[Aside, ...]]:
            transcript = _transcript(state, running=True, live_run_id=header.run_id)
            shown = with_versions(transcript.turns(), kept.shown(state.shown, state.shown))
            return shown, asides_of(state.shown, state.results)

        before, asides = await beside_loop(len(state.messages), turns)
        run_id = header.run_id
        before = await self.with_substeps(header.key, header.graph, before, without_run=run_id)
        return before, state.graph_state, asides

    async def progress(
        self, run: LoggedRun, page: TurnPage = WHOLE, versions: ThreadVersions = NO_VERSIONS
    ) -> Progress:
        """`versions` are those of the thread's messages. Raises InvalidRequest if the thread has no
        such page."""
        header, before = run.header, await self.state_before(run.header)
        length = len(before.messages)
        transcript = await beside_loop(
            length, partial(_transcript, before, running=True, live_run_id=header.run_id)
        )
        ids, earlier = [*transcript.ids], tuple[Step, ...]()
        last = transcript.turns(range(len(ids) - 1, len(ids))) if ids else ()
        begun = [turn for turn in last if turn.id == header.message_id]
        if begun:
            ids.pop()
        chunks = await self._chunks(run)
        asides = await beside_loop(length, lambda: asides_of(before.shown, before.results))
        if not is_in_order(chunks):
            chunks = []  # paths alone do not say where its parts are: it is to be read whole
        places = page.of([*ids, header.message_id])
        shown = range(places.start, min(places.stop, len(ids)))
        turns = await beside_loop(length, partial(transcript.turns, shown))
        kept_below = await self._told_substeps(
            header.key, header.graph, [*begun, *turns], header.run_id
        )
        if kept_below:
            turns, begun = tuple(map(kept_below.on, turns)), [*map(kept_below.on, begun)]
        for turn in begun:
            if isinstance(turn, AssistantTurn):
                earlier = turn.steps
        if len(ids) in places:
            turns += (accumulate(chunks, header.message_id, earlier),)
        kept = partial(versions.shown, before.shown, before.shown)
        turns = with_versions(turns, await beside_loop(length, kept))
        first_part = sum(len(step.parts) for step in earlier)
        values = None if before.graph_state is None else state_after(chunks, before.graph_state)
        has_earlier = places.start > 0
        asides += tuple(chunk for chunk in chunks if isinstance(chunk, Aside))
        return Progress(before, turns, first_part, len(chunks), values, has_earlier, asides)

    async def state_before(self, header: RunHeader) -> ThreadState:
        """The thread as it was saved when the run began, with what the request added."""
        if header.checkpoint_id is None:
            return ThreadState()
        return await self._graphs.checkpoints(header.graph).load(header.key, header.checkpoint_id)

    async def _chunks(self, run: LoggedRun) -> list[Chunk]:
        """Return the chunks that the log holds by now."""
        last, chunks = (await run.log.status()).last, list[Chunk]()
        if last > 0:
            async for batch in run.log.read(0):
                chunks += [chunk for _, chunk in batch]
                if len(chunks) >= last:
                    break
        return chunks


def _transcript(state: ThreadState, *, running: bool, live_run_id: str | None = None) -> Transcript:
    return Transcript(
        state.shown,
        state.dispositions,
        state.results,
        running=running,
        interrupts=state.interrupts,
        live_run_id=live_run_id,
        removed=frozenset(message.id or "" for message in state.removed),
    )
