"""The checkpointer, as runs use it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    empty_checkpoint,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

_OLDEST = "00000000-0000-6000-8000-000000000000"
"""Ids of checkpoints are UUIDs of version 6, in the order of their time."""

_NO_TASK = "00000000-0000-0000-0000-000000000000"
_RESUME = "__resume__"


class Writes(Protocol):
    """The writes of LangGraph to one thread while a run works on it."""

    newest: str | None
    """The id of the newest checkpoint; None if there is none yet."""
    failure: BaseException | None
    """The exception of a write that failed."""

    def streaming(self) -> AbstractContextManager[None]:
        """While a graph streams: what a task writes may wait for the checkpoint behind it."""

    async def committed(self) -> None:
        """Return when every write that was begun so far is on disk."""

    async def settled(self) -> None:
        """Return when no write is under way; cancelled ones too come to their end."""


class Checkpointer(Protocol):
    serde: SerializerProtocol

    def watch(self, checkpoint_key: str) -> AbstractContextManager[Writes]:
        """Follow the writes to a thread."""

    def expect_nothing(self, checkpoint_key: str) -> None:
        """Have the run of a thread whose id is new begin without a look for its checkpoints."""

    async def adelete_thread(self, thread_id: str) -> None: ...

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None: ...

    async def heads(self, checkpoint_key: str, limit: int) -> Sequence[str]:
        """The ids of the root graph's checkpoints that no other follows, the newest first: of each
        branch that was not dropped the last one."""

    async def drop_branch(self, checkpoint_key: str, head: str) -> None:
        """Have `heads` leave out the branch that ends at a checkpoint."""

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig: ...

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None: ...


async def forget_bare_answer(saver: Checkpointer, config: RunnableConfig) -> None:
    """Take back the answer without an id that an earlier run of the same step was given.

    LangGraph 1.2.22 keeps it with the checkpoint, although a question has taken it, and gives it to
    the next question without an answer.
    """
    saved = await saver.aget_tuple(config)
    if saved and any(task == _NO_TASK and kind == _RESUME for task, kind, _ in _writes(saved)):
        await saver.aput_writes(saved.config, [(_RESUME, None)], _NO_TASK)


def _writes(saved: CheckpointTuple) -> Sequence[PendingWrite]:
    return saved.pending_writes or []


async def put_beginning(saver: Checkpointer, checkpoint_key: str) -> str:
    """Save a checkpoint with nothing in it, older than all others of the thread, so that it is
    never taken for the thread as it is. Saved again it is the same. Returns its id."""
    place: RunnableConfig = {"configurable": {"thread_id": checkpoint_key, "checkpoint_ns": ""}}
    checkpoint = cast(Checkpoint, {**empty_checkpoint(), "id": _OLDEST})
    await saver.aput(place, checkpoint, {"source": "fork", "step": -2, "parents": {}}, {})
    return _OLDEST
