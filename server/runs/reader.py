"""What a reader sees of a run: its log, the store and the checkpoint that it began with.

It makes no difference to a reader in which process the run lives.
"""

from dataclasses import dataclass

from server.runs.checkpoints import ThreadState
from server.runs.served_graphs import ServedGraphs
from server.runs.transcript import Transcript
from server.storage.interfaces import ThreadStore
from server.storage.run_logs import RunLog, RunLogs
from server.turns.accumulate import accumulate, is_in_order
from server.turns.chunks import Chunk
from server.turns.header import RunHeader, ThreadKey
from server.turns.messages import AssistantTurn, Step, Turn
from server.turns.pages import WHOLE, TurnPage


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
    has_earlier: bool = False
    """Whether the thread has turns before the page."""


class RunReader:
    def __init__(self, graphs: ServedGraphs, store: ThreadStore, logs: RunLogs) -> None:
        self._graphs = graphs
        self._store = store
        self._logs = logs

    async def live(self, key: ThreadKey) -> LoggedRun | None:
        """The thread's live run; of one whose request is being checked it awaits the outcome."""
        run_id = await self._store.holder(key)
        return await self.find(key, run_id) if run_id else None

    async def find(self, key: ThreadKey, run_id: str) -> LoggedRun | None:
        """A run of the thread whose log is held."""
        log = await self._logs.get(run_id)
        header = await log.header() if log else None
        if log is None or header is None or header.key != key:
            return None
        return LoggedRun(header, log)

    async def state(self, key: ThreadKey, graph: str | None = None) -> ThreadState:
        """The thread, which belongs to this graph, as it is saved."""
        return await self._graphs.checkpoints(graph).load(key)

    async def turns(self, key: ThreadKey, graph: str | None = None) -> tuple[Turn, ...]:
        """The same, as every wire format shows it."""
        return self.shown(await self.state(key, graph))

    def shown(self, state: ThreadState) -> tuple[Turn, ...]:
        return self.page(state, WHOLE)[0]

    def page(self, state: ThreadState, page: TurnPage) -> tuple[tuple[Turn, ...], bool]:
        """A page of the thread, and whether it has turns before that. Raises InvalidRequest."""
        running = state.unfinished and not state.interrupts
        transcript = _transcript(state, running=running)
        places = page.of(transcript.ids)
        return transcript.turns(places), places.start > 0

    async def turns_before(self, header: RunHeader) -> tuple[Turn, ...]:
        """The thread as it stood when the run began, with what the request added."""
        state = await self._state_before(header)
        return _transcript(state, running=True, live_run_id=header.run_id).turns()

    async def progress(self, run: LoggedRun, page: TurnPage = WHOLE) -> Progress:
        """Raises InvalidRequest if the thread has no such page."""
        header, before = run.header, await self._state_before(run.header)
        transcript = _transcript(before, running=True, live_run_id=header.run_id)
        ids, earlier = [*transcript.ids], tuple[Step, ...]()
        last = transcript.turns(range(len(ids) - 1, len(ids))) if ids else ()
        for turn in last:
            if isinstance(turn, AssistantTurn) and turn.id == header.message_id:
                earlier = turn.steps
                ids.pop()
        chunks = await self._chunks(run)
        if not is_in_order(chunks):
            chunks = []  # paths alone do not say where its parts are: it is to be read whole
        places = page.of([*ids, header.message_id])
        turns = transcript.turns(range(places.start, min(places.stop, len(ids))))
        if len(ids) in places:
            turns += (accumulate(chunks, header.message_id, earlier),)
        first_part = sum(len(step.parts) for step in earlier)
        return Progress(before, turns, first_part, len(chunks), places.start > 0)

    async def _state_before(self, header: RunHeader) -> ThreadState:
        if header.checkpoint_id is None:
            return ThreadState()
        return await self._graphs.checkpoints(header.graph).load(header.key, header.checkpoint_id)

    async def _chunks(self, run: LoggedRun) -> list[Chunk]:
        """What the log holds by now."""
        last, chunks = (await run.log.status()).last, list[Chunk]()
        if last > 0:
            async for batch in run.log.read(0):
                chunks += [chunk for _, chunk in batch]
                if len(chunks) >= last:
                    break
        return chunks


def _transcript(state: ThreadState, *, running: bool, live_run_id: str | None = None) -> Transcript:
    return Transcript(
        state.messages,
        state.dispositions,
        state.results,
        running=running,
        interrupts=state.interrupts,
        live_run_id=live_run_id,
    )
