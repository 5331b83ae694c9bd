"""A thread's saved state: the one place that reads and writes it.

Of a graph it knows the `messages` channel, and no node: any compiled graph fits.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START
from langgraph.pregel import Pregel
from langgraph.types import Overwrite

from server.runs.forks import Cut

STREAM_MODES: Any = ["tasks", "messages", "updates", "tools", "custom"]


@dataclass(frozen=True, slots=True)
class ThreadState:
    messages: Sequence[AnyMessage]
    unfinished: bool
    """Whether the graph was on its way: a run is live, or broke off."""
    checkpoint_id: str | None
    """None: the thread has nothing saved."""


NEW_THREAD = ThreadState((), unfinished=False, checkpoint_id=None)


class Checkpoints:
    """`committed` returns when every write that was handed to the checkpointer is on disk."""

    def __init__(
        self,
        graph: Pregel[Any, Any, Any, Any],
        saver: BaseCheckpointSaver[Any],
        committed: Callable[[], Awaitable[None]],
    ) -> None:
        self._graph = graph
        self._saver = saver
        self.committed = committed

    async def load(self, thread_id: str, checkpoint_id: str | None = None) -> ThreadState:
        """A thread as it is, or as it was at a checkpoint."""
        snapshot = await self._graph.aget_state(_config(thread_id, checkpoint_id))
        return ThreadState(
            messages=snapshot.values.get("messages", []),
            # Not `next`: that is empty when all tasks have finished and no step has stored it.
            unfinished=bool(snapshot.tasks),
            checkpoint_id=snapshot.config["configurable"].get("checkpoint_id"),
        )

    def stream(
        self,
        thread_id: str,
        messages: Sequence[AnyMessage] | None,
        context: object,
        cut: Cut | None = None,
    ) -> AsyncIterator[Any]:
        """Run the graph on new messages, or with None on from the last checkpoint.

        With a cut the messages begin a new branch there. Every step is on disk before the next
        begins; the first item, of `tasks`, says that the messages are.
        """
        stream: AsyncIterator[Any] = self._graph.astream(
            None if messages is None else _input(messages, cut),
            _config(thread_id, cut.checkpoint_id if cut else None),
            stream_mode=STREAM_MODES,
            version="v2",
            durability="sync",
            context=context,
        )
        return stream

    async def add(
        self, thread_id: str, messages: Sequence[AnyMessage], cut: Cut | None = None
    ) -> None:
        """Add messages to a thread that no run is working on; with a cut, in a new branch."""
        config = _config(thread_id, cut.checkpoint_id if cut else None)
        await self._graph.aupdate_state(config, _input(messages, cut), as_node=START)
        await self._graph.aupdate_state(_config(thread_id), None, as_node=END)

    async def delete(self, thread_id: str) -> None:
        """Remove all checkpoints and writes of a thread."""
        await self._saver.adelete_thread(thread_id)

    async def rest(self, thread_id: str) -> ThreadState:
        """Let go of what a run left unfinished; keep the results of its tasks that did finish.

        The first update stores those results, which can make the next node due; hence the loop.
        """
        state = await self.load(thread_id)
        while state.unfinished:
            await self._graph.aupdate_state(_config(thread_id), None, as_node=END)
            state = await self.load(thread_id)
        return state


def _input(messages: Sequence[AnyMessage], cut: Cut | None) -> dict[str, Any]:
    """A cut with nothing before it has no checkpoint to go back to: it empties the thread."""
    empties = cut is not None and cut.checkpoint_id is None
    return {"messages": Overwrite(list(messages)) if empties else list(messages)}


def _config(thread_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    place = {"checkpoint_ns": "", "checkpoint_id": checkpoint_id} if checkpoint_id else {}
    return {"configurable": {"thread_id": thread_id, **place}}
