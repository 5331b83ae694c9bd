"""LangGraph SDK: a thread as its states, one a message boundary, and what their checkpoints name.

    state = {"values": {"messages", ...}, "next": [node], "tasks": [task], "metadata": {"step"},
             "created_at", "checkpoint", "parent_checkpoint": checkpoint | null}
    task  = {"id", "name", "error": string | null, "interrupts": [interrupt]}
    checkpoint = {"thread_id", "checkpoint_ns": "", "checkpoint_id"}

LangGraph has a checkpoint a step of its graph, which takes 33 ms each to read. Clients want to know
where a message is first seen, and what was before it: a run from there replaces the message. The
checkpoint's id names the last message of its state, so it holds for as long as that message does.
A thread that was edited has left branches: each hangs at the last state that both have, and a
state comes behind all that hang at it. Of the graph's own state the newest one has in `values` what
clients see, and the others nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnstream.server.formats.json_text import dumps
from turnstream.server.formats.langchain_messages import Json
from turnstream.server.formats.langgraph.snapshot import asked_calls, open_interrupts
from turnstream.server.formats.metadata import given
from turnstream.server.turns.chunks import Interrupt
from turnstream.server.turns.graph_state import Values
from turnstream.server.turns.messages import AssistantTurn, Turn
from turnstream.server.turns.requests import InvalidRequest

START = "start"


@dataclass(frozen=True, slots=True)
class SavedThread:
    """A thread of one moment, as this format shows it."""

    thread_id: str
    turns: Sequence[Turn]
    messages: Sequence[Json]
    """The messages of the turns."""
    interrupts: Sequence[Interrupt] = ()
    """Those that are open."""
    graph_state: Values | None = None
    """What clients see of the graph's state; None: nothing."""
    head: str | None = None
    """Of a branch that the thread has left: its last checkpoint, as LangGraph names it."""


def checkpoint_id(messages: Sequence[Json], count: int) -> str:
    """Name the checkpoint of the state that has the first `count` messages."""
    return f"after-{messages[count - 1]['id']}" if count else START


def checkpoints(messages: Sequence[Json]) -> list[tuple[str, int]]:
    """List the states, the newest first: the checkpoint's id, and the number of messages."""
    return [(checkpoint_id(messages, count), count) for count in range(len(messages), -1, -1)]


def boundary(messages: Sequence[Json], checkpoint_id: str) -> int:
    """Count the messages of a checkpoint's state. Raises InvalidRequest for one of no state."""
    for id, count in checkpoints(messages):
        if id == checkpoint_id:
            return count
    raise unknown_checkpoint(checkpoint_id)


def unknown_checkpoint(checkpoint_id: str) -> InvalidRequest:
    return InvalidRequest(
        "unknown_checkpoint",
        f"The thread has no checkpoint {checkpoint_id[:100]!r}: take one of its history.",
        409,
    )


def state(thread: SavedThread, count: int, created_at: str) -> Json:
    """The state after the first `count` of the thread's messages, without its `values`."""
    is_now = count == len(thread.messages) and thread.head is None
    tasks = _tasks(thread) if is_now else []
    return {
        "next": [task["name"] for task in tasks if task["error"] is None],
        "tasks": tasks,
        "metadata": {"step": count - 1, "source": "loop"},
        "created_at": created_at,
        "checkpoint": _checkpoint(thread, count),
        "parent_checkpoint": _checkpoint(thread, count - 1) if count else None,
        "interrupts": [one for task in tasks for one in task["interrupts"]],
    }


def empty_state() -> Json:
    """The state of a thread that no run has begun yet: clients show nothing."""
    nothing = dict.fromkeys(("metadata", "created_at", "checkpoint", "parent_checkpoint"))
    return {"values": {"messages": []}, "next": [], "tasks": [], **nothing, "interrupts": []}


def _checkpoint(thread: SavedThread, count: int) -> Json:
    id = checkpoint_id(thread.messages, count)
    return {"thread_id": thread.thread_id, "checkpoint_ns": "", "checkpoint_id": id}


def _tasks(thread: SavedThread) -> list[Json]:
    """The tasks that the thread stands at: the nodes that ask, or the one that failed."""
    asked = open_interrupts(thread.turns, thread.interrupts) or []
    tasks = [
        _task(one.id, one.node, [shown for shown in asked if shown["id"] == one.id])
        for one in thread.interrupts
    ]
    if calls := asked_calls(thread.turns):
        tasks.append(_task(calls[0].tool_call_id, "tools", asked[-1:]))
    last = thread.turns[-1] if thread.turns else None
    if isinstance(last, AssistantTurn) and last.error and not tasks:
        tasks.append(_task(last.id, "agent", [], dumps(error_json(last.error))))
    return tasks


def error_json(error: Mapping[str, Any]) -> Json:
    """`{"error": code, "message", "id"?}`, as a stream's `error` and a task have it."""
    return given(error=error["code"], message=error["message"], id=error.get("id"))


def _task(id: str, name: str, interrupts: Sequence[Json], error: str | None = None) -> Json:
    nothing = dict.fromkeys(("checkpoint", "state", "result"))
    return {"id": id, "name": name, "error": error, "interrupts": [*interrupts], **nothing}
