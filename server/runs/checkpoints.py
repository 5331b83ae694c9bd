"""A thread's saved state: the one place that reads and writes it.

Of a graph it knows the `messages` channel, and no node: any compiled graph fits.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, aclosing
from functools import partial
from typing import Any, Literal

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START
from langgraph.types import Command, StateSnapshot

from turnstream.graphs.attached import ENTRY, AttachedGraph, Graph, RunFactory
from turnstream.graphs.context import TurnContext
from turnstream.graphs.dispositions import Fallback, all_carry, by_state, of_history
from turnstream.graphs.factories import AUTH_USER
from turnstream.server.callers.rights import Rights
from turnstream.server.runs.branches import BranchPoint
from turnstream.server.runs.graph_user import as_caller
from turnstream.server.runs.headless_calls import to_clients
from turnstream.server.runs.interrupts import asked, breakpoints, takes_bare_answer
from turnstream.server.runs.saver import Checkpointer, Writes, forget_bare_answer, put_beginning
from turnstream.server.runs.shortening import NO_FRONTS, Fronts, Removed, fronts_of, with_fronts
from turnstream.server.runs.speakers import Speakers
from turnstream.server.runs.substeps import Substeps
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.storage.interfaces import ThreadStore
from turnstream.server.storage.removed_messages import RemovedMessage
from turnstream.server.turns.chunks import Chunk, Interrupt, Substep
from turnstream.server.turns.header import RunHeader, ThreadKey
from turnstream.server.turns.requests import NO_OPTIONS, NO_VALUES, GraphValues, RunOptions
from turnstream.tools.threads import beside_loop

MAX_LEFT_BRANCHES = 20
"""Branches that are found at the most: each is a thread to load."""
MAX_LOOKED_BACK = 50
"""Checkpoints of a run that a crash has cut off."""
STREAM_MODES: Any = ["tasks", "messages", "updates", "values", "tools", "custom"]


class Checkpoints:
    """`fallback` and `store` give the dispositions of calls whose messages do not carry them."""

    def __init__(
        self,
        attached: AttachedGraph,
        saver: Checkpointer,
        fallback: Fallback,
        store: ThreadStore,
        hidden_nodes: Collection[str] = (),
        *,
        keeps_removed: bool = True,
        substeps_bytes: int = 0,
    ) -> None:
        """`keeps_removed`: people still see messages by which the graph shortens a thread.
        `substeps_bytes`: of what is told and kept of subagents under a call; 0: nothing."""
        self.substeps_bytes = substeps_bytes if attached.streams_subgraphs else 0
        self.attached = attached
        self.keeps_removed = keeps_removed and not attached.is_built_in
        self.speakers = Speakers(frozenset(hidden_nodes))
        self._graph, self._records = attached.graph, attached.records
        self._saver = saver
        self._fallback = fallback
        self._store = store

    def watch(self, key: ThreadKey) -> AbstractContextManager[Writes]:
        """Follow what a run writes to its thread."""
        return self._saver.watch(key.checkpoint_key)

    def new_thread(self, key: ThreadKey) -> ThreadState:
        """Return the state of a thread whose id is new: it has nothing saved."""
        self._saver.expect_nothing(key.checkpoint_key)
        return ThreadState(results=self.attached.results)

    async def load(
        self, key: ThreadKey, checkpoint_id: str | None = None, *, waits: bool = False
    ) -> ThreadState:
        """A thread as it is, or as it was at a checkpoint; `waits`: its run has just stopped to
        ask.

        At a checkpoint it is without the results of tasks that were saved later, on the way to the
        next one.
        """
        snapshot, spoiled = await self._snapshot(key, checkpoint_id)
        value = snapshot.values.get("messages", [])
        length = len(value) if isinstance(value, list) else 1
        messages, carried = await beside_loop(length, partial(self._messages, value))
        kept = {} if carried else await self._store.dispositions(key)
        fronts = await self._fronts(key, messages)
        keys = self.attached.client_tool_keys
        brought = {key: snapshot.values[key] for key in keys & snapshot.values.keys()}
        own, ui_tools = self.attached.tool_names, self.attached.ui_dispositions
        fallback = by_state(self._fallback, brought, own, ui_tools)
        dispositions = partial(of_history, with_fronts(messages, fronts), kept, fallback)
        client_state = self.attached.client_state
        interrupts: tuple[Interrupt, ...] = ()
        takes_bare = False
        if snapshot.tasks and checkpoint_id is None:
            interrupts, takes_bare = await self._asked(key, snapshot, waits=waits)
        return ThreadState(
            messages=messages,
            dispositions={**await beside_loop(length, dispositions), **to_clients(interrupts)},
            # Not `next`: that is empty when all tasks have finished and no step has stored it.
            unfinished=bool(snapshot.tasks),
            checkpoint_id=snapshot.config["configurable"].get("checkpoint_id"),
            saved_at=snapshot.created_at,
            interrupts=interrupts,
            takes_bare_answer=takes_bare,
            results=self.attached.results,
            graph_state=client_state.shown(snapshot.values) if client_state.names else None,
            spoiled=spoiled,
            fronts=fronts,
            brought=brought,
        )

    async def _fronts(self, key: ThreadKey, messages: Sequence[AnyMessage]) -> Fronts:
        rows = await self._store.removed(key) if self.keeps_removed else ()
        if not rows:
            return NO_FRONTS

        def read() -> Fronts:
            loads = self._saver.serde.loads_typed
            removed = {row.next_id: loads((row.kind, row.message)) for row in rows}
            return fronts_of(messages, removed)

        return await beside_loop(len(rows), read)

    async def keep_removed(self, key: ThreadKey, run_id: str, removed: Sequence[Removed]) -> None:
        """Keep what the graph of the thread's live run has removed, to show it."""
        dumps = self._saver.serde.dumps_typed
        rows = [RemovedMessage(one.next_id, *dumps(one.message)) for one in removed]
        await self._store.put_removed(key, run_id, rows)

    async def keep_told_substeps(
        self, header: RunHeader, told: Sequence[Chunk], pending: Collection[str]
    ) -> None:
        """Keep the substeps that the log of a lost run tells, all of its chunks. `pending` are the
        calls that were open as the run began."""
        calls = {chunk.tool_call_id for chunk in told if isinstance(chunk, Substep)}
        if not (calls and self.substeps_bytes):
            return
        substeps = Substeps(
            header.message_id,
            set(),
            self.attached.results,
            self.speakers,
            lambda _: False,
            self.substeps_bytes,
        )
        rows = await self._store.substeps(header.key, calls | {*pending})
        known = [row for row in rows if row.call_id in pending or row.run_id == header.run_id]
        substeps.take_told(told, header.run_id, known)
        await substeps.record.write(self._store, header.key, header.run_id)

    def _messages(self, value: Any) -> tuple[Sequence[AnyMessage], bool]:
        """Return the messages of the channel, and True if no call of them needs what is stored
        elsewhere."""
        messages = self.attached.messages(value)
        return messages, all_carry(messages)

    async def _snapshot(
        self, key: ThreadKey, checkpoint_id: str | None
    ) -> tuple[StateSnapshot, bool]:
        """LangGraph applies what the tasks since the last checkpoint wrote. If that raises, as a
        reducer does with what is no message, it is the checkpoint alone, and True."""
        try:
            return await self._records.aget_state(_config(key, checkpoint_id)), False
        except Exception:
            saved = await self._saver.aget_tuple(_config(key))
            if saved is None or checkpoint_id is not None:
                raise
            own_id = saved.config["configurable"]["checkpoint_id"]
            return await self._records.aget_state(_config(key, own_id)), True

    async def _asked(
        self, key: ThreadKey, snapshot: StateSnapshot, *, waits: bool
    ) -> tuple[tuple[Interrupt, ...], bool]:
        """The open interrupts, and whether an answer without an id reaches the right one.

        A breakpoint leaves nothing in a checkpoint: the list of threads knows that a thread
        waits at one."""
        has_asked = any(task.interrupts for task in snapshot.tasks)
        if self.attached.is_built_in and not has_asked:
            return (), False  # it has no breakpoints; it may wait for an approval
        if not (has_asked or waits or self._stops_before(snapshot.next)):
            entry = await self._store.get(key)
            waits = entry is not None and entry.run_state == "waiting"
            if not waits:
                return (), False
        whole = await self._records.aget_state(_config(key), subgraphs=True)
        if not has_asked:
            return breakpoints(whole), False
        return asked(whole), takes_bare_answer(whole)

    def _stops_before(self, nodes: Sequence[str]) -> bool:
        stops = self._graph.interrupt_before_nodes
        return stops == "*" or not set(stops).isdisjoint(nodes)

    def stream(
        self,
        key: ThreadKey,
        messages: Sequence[AnyMessage] | None,
        context: TurnContext,
        point: BranchPoint | None = None,
        values: GraphValues = NO_VALUES,
        resume: Command[Any] | None = None,
        options: RunOptions = NO_OPTIONS,
        *,
        rights: Rights,
        callbacks: Sequence[BaseCallbackHandler] = (),
    ) -> AsyncIterator[Any]:
        """Run the graph on new messages, or with None on from the last checkpoint, with the answers
        to interrupts.

        With a branch point the messages begin a new branch there. Every step is on disk before the
        next begins; when the first item, of `tasks`, comes, the messages are.
        """
        config = as_caller(
            _config(key, point.checkpoint_id if point else None),
            values,
            rights,
            self.attached,
            callbacks,
        )
        given = resume if messages is None else self._input(messages, values)
        asked = (given, config, context, values, options)
        if self.attached.factory is None:
            stream = self._stream(self._graph, *asked)
        else:
            stream = self._made_for_run(self.attached.factory, *asked)
        is_as_read = self.attached.context.is_ours and self.attached.has_messages
        return stream if is_as_read else self._read(stream)

    async def _made_for_run(
        self,
        factory: RunFactory,
        given: Any,
        config: RunnableConfig,
        context: TurnContext,
        values: GraphValues,
        options: RunOptions,
    ) -> AsyncIterator[Any]:
        """Stream a graph that is made for this run; what its factory opens is closed at the end."""
        configurable = config["configurable"]
        made = self.attached.context.made(context, values.context)
        async with AsyncExitStack() as stack:
            shown = {"configurable": {**configurable}}
            graph = await factory.make(shown, configurable[AUTH_USER], made, stack)
            stream = self._stream(graph, given, config, context, values, options)
            async with aclosing(stream) as items:  # type: ignore[type-var]
                async for item in items:
                    yield item

    def _stream(
        self,
        graph: Graph,
        given: Any,
        config: RunnableConfig,
        context: TurnContext,
        values: GraphValues,
        options: RunOptions,
    ) -> AsyncIterator[Any]:
        if options.recursion_limit is not None:
            own = (graph.config or {}).get("recursion_limit", options.recursion_limit)
            config = {**config, "recursion_limit": min(own, options.recursion_limit)}
        return graph.astream(
            given,
            config,
            stream_mode=STREAM_MODES,
            # Of the state no more; a graph may leave these out of what it returns.
            output_keys=self._output_keys,
            subgraphs=self.attached.streams_subgraphs,
            version="v2",
            durability="sync",
            context=self.attached.context.of(context, values.context),
            interrupt_before=_both(graph.interrupt_before_nodes, options.interrupt_before),
            interrupt_after=_both(graph.interrupt_after_nodes, options.interrupt_after),
        )

    def _input(self, messages: Sequence[AnyMessage], values: GraphValues) -> dict[str, Any]:
        """Without messages it has no such key if it has others: a graph may have no reducer for
        it."""
        takes_none = not self.attached.takes_messages
        if takes_none or (values.input and not messages):
            return dict(values.input)
        return {**values.input, "messages": list(messages)}

    @property
    def _output_keys(self) -> list[str]:
        """The keys of the state that a run tells."""
        names = [*self.attached.client_state.names]
        return ["messages", *names] if self.attached.has_messages else names

    async def forget_bare_answer(self, key: ThreadKey) -> None:
        """Keep an answer of an earlier run from questions that come later."""
        await forget_bare_answer(self._saver, _config(key))

    async def _read(self, stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """The same with the thread's messages as `load` gives them."""
        async with aclosing(stream) as items:  # type: ignore[type-var]
            async for item in items:
                data = item["data"]
                is_root = item["type"] == "values" and not item.get("ns")
                if is_root and ("messages" in data or not self.attached.has_messages):
                    messages = self.attached.messages(data.get("messages", []))
                    item = {**item, "data": {**data, "messages": messages}}  # noqa: PLW2901
                yield item
        if not self._output_keys:  # Then LangGraph yields no values.
            yield {"type": "values", "ns": (), "data": {"messages": []}}

    async def latest(self, key: ThreadKey, limit: int) -> Sequence[StateSnapshot]:
        """Return a thread's latest checkpoints as LangGraph has them, the newest first."""
        history = self._records.aget_state_history(_config(key), limit=limit)
        return [snapshot async for snapshot in history]

    async def add(
        self, key: ThreadKey, messages: Sequence[AnyMessage], point: BranchPoint | None = None
    ) -> None:
        """Merge messages by id into a thread that no graph is working on; with a branch point, in a
        new branch. No node of the graph is asked, or becomes due."""
        await self.write(key, messages, {}, point=point)

    async def write(
        self,
        key: ThreadKey,
        messages: Sequence[AnyMessage],
        values: Mapping[str, Any],
        *,
        as_node: str | None = None,
        keeps_due: bool = False,
        point: BranchPoint | None = None,
    ) -> None:
        """Do the same with further values of the state. What follows the node `as_node` becomes
        due. `keeps_due`: without such a node it is the last one that LangGraph knows of, so that
        the nodes that are due stay it."""
        config = _config(key, point.checkpoint_id if point else None)
        update: dict[str, Any] = {**values, "messages": list(messages)}
        if self.attached.reducer != "by id":
            before = (await self._records.aget_state(config)).values.get("messages", [])
            update["messages"] = self.attached.update(before, messages)
        if values and not messages:
            del update["messages"]
        if as_node is None and not (keeps_due and self.attached.node_names):
            as_node = ENTRY
        await self._records.aupdate_state(config, update, as_node=as_node)

    async def beginning(self, key: ThreadKey) -> str:
        """The id of a checkpoint with nothing in it, where a branch with nothing before it begins:
        so the messages that it leaves have a branch of their own."""
        return await put_beginning(self._saver, key.checkpoint_key)

    async def left_heads(self, key: ThreadKey) -> Sequence[str]:
        """The last checkpoints of the branches that the thread has left, the latest first."""
        return (await self._saver.heads(key.checkpoint_key, MAX_LEFT_BRANCHES + 1))[1:]

    async def drop_branch(self, key: ThreadKey, head: str) -> None:
        """Have a branch that the thread has left not be found any more, by its last checkpoint."""
        await self._saver.drop_branch(key.checkpoint_key, head)

    async def with_input(self, key: ThreadKey) -> ThreadState:
        """A thread that a crash has left, with what its last request brought: if no step has read
        that yet, it is merged here, and no node becomes due."""
        snapshot, _ = await self._snapshot(key, None)
        saved = await self._saver.aget_tuple(_config(key))
        if saved and START in snapshot.next:
            unread = saved.checkpoint["channel_values"][START]
            await self._records.aupdate_state(_config(key), unread, as_node=ENTRY)
        return await self.load(key)

    async def as_brought(self, key: ThreadKey, message_id: str | None) -> Sequence[AnyMessage]:
        """Return the messages of the earliest checkpoint, of the latest MAX_LOOKED_BACK, that has a
        message of this id: before the graph has rewritten it."""
        found: Sequence[AnyMessage] = ()
        history = self._records.aget_state_history(_config(key), limit=MAX_LOOKED_BACK)
        async with aclosing(history) as snapshots:  # type: ignore[type-var]
            async for snapshot in snapshots:
                messages = self.attached.messages(snapshot.values.get("messages", []))
                if any(message.id == message_id for message in messages):
                    found = messages
        return found

    async def delete(self, key: ThreadKey) -> None:
        """Remove all checkpoints and writes of a thread."""
        await self._saver.adelete_thread(key.checkpoint_key)

    async def abandon_pending(self, key: ThreadKey) -> ThreadState:
        """Discard the tasks that a run left unfinished; keep the results of those that finished.

        The first update stores those results, which can make the next node due; hence the loop.
        """
        state = await self.load(key)
        while state.unfinished:
            # A copy of a checkpoint leaves behind what tasks wrote since.
            as_node = "__copy__" if state.spoiled else END
            await self._records.aupdate_state(_config(key), None, as_node=as_node)
            state = await self.load(key)
        return state


def _both(
    own: Literal["*"] | Sequence[str], asked: Literal["*"] | Sequence[str]
) -> Literal["*"] | Sequence[str] | None:
    """Return the nodes at which a graph stops for its author and for a client. LangGraph takes
    those of a call in the place of the author's."""
    if not asked or own == "*" or asked == "*":
        return "*" if asked == "*" else None
    return [*own, *asked]


def _config(key: ThreadKey, checkpoint_id: str | None = None) -> RunnableConfig:
    place = {"checkpoint_ns": "", "checkpoint_id": checkpoint_id} if checkpoint_id else {}
    return {"configurable": {"thread_id": key.checkpoint_key, **place}}
