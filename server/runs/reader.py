"""What a reader sees of a run: its log, the store and the checkpoint that it began with.

It makes no difference to a reader in which process the run lives.
"""

from dataclasses import dataclass

from server.runs.checkpoints import ThreadState
from server.runs.served_graphs import ServedGraphs
from server.runs.transcript import transcript
from server.storage.interfaces import ThreadStore
from server.storage.run_logs import RunLog, RunLogs
from server.turns.accumulate import accumulate, is_in_order
from server.turns.chunks import Chunk
from server.turns.header import RunHeader, ThreadKey
from server.turns.messages import AssistantTurn, Step, Turn


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
    """The thread as the run has told it so far."""
    first_part: int
    """The index, in its message, of the run's part 0."""
    last: int
    """The number of the newest chunk that `turns` has."""


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
        return _transcript(state, running=state.unfinished and not state.interrupts)

    async def turns_before(self, header: RunHeader) -> tuple[Turn, ...]:
        """The thread as it stood when the run began, with what the request added."""
        state = await self._state_before(header)
        return _transcript(state, running=True, live_run_id=header.run_id)

    async def progress(self, run: LoggedRun) -> Progress:
        header, before = run.header, await self._state_before(run.header)
        turns = list(_transcript(before, running=True, live_run_id=header.run_id))
        earlier: tuple[Step, ...] = ()
        if turns and isinstance(turns[-1], AssistantTurn) and turns[-1].id == header.message_id:
            earlier = turns.pop().steps  # type: ignore[union-attr]
        chunks = await self._chunks(run)
        if not is_in_order(chunks):
            chunks = []  # paths alone do not say where its parts are: it is to be read whole
        turns.append(accumulate(chunks, header.message_id, earlier))
        first_part = sum(len(step.parts) for step in earlier)
        return Progress(before, tuple(turns), first_part, len(chunks))

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


def _transcript(
    state: ThreadState, *, running: bool, live_run_id: str | None = None
) -> tuple[Turn, ...]:
    return transcript(
        state.messages,
        state.dispositions,
        state.results,
        running=running,
        interrupts=state.interrupts,
        live_run_id=live_run_id,
    )
