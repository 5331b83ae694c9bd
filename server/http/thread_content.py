"""What a loaded thread says: its turns, what waits for the client, and its live run."""

from functools import partial
from typing import Any

from langchain_core.messages import ToolCall

from server.http.problems import unknown_thread
from server.http.state import ApiRequest
from server.protocols import WireFormat
from server.protocols.metadata import interrupt_json
from server.runs.reader import LoggedRun, RunReader
from server.runs.thread_state import ThreadState
from server.runs.versions import Path, VersionTree
from server.runs.waiting_approvals import waiting_approvals
from server.storage.interfaces import ThreadEntry, WaitingApproval
from server.turns.graph_state import Values
from server.turns.header import ThreadKey
from server.turns.messages import Turn
from server.turns.pages import WHOLE, TurnPage
from tools.threads import beside_loop

Content = tuple[tuple[Turn, ...], dict[str, Any]]
"""A thread's turns, and what else its answer says: `pending`, `run`, and more in some formats."""


async def consistent(
    request: ApiRequest,
    key: ThreadKey,
    format: WireFormat,
    page: TurnPage = WHOLE,
    version: str | None = None,
) -> tuple[ThreadEntry, tuple[Turn, ...], dict[str, Any]]:
    """A thread's entry and content of one moment: read again if a run began or ended. With
    `version` the content is that of the branch that has this version of a turn.

    Raises Problem if there is no such thread, InvalidRequest if it has no such page or version.
    """
    store = request.state["store"]
    entry = await store.get(key)
    while entry is not None:
        turns, rest = await _content(request, key, entry, format, page, version)
        again = await store.get(key)
        if again == entry:
            return entry, turns, rest
        entry = again
    raise unknown_thread(key)


async def _content(
    request: ApiRequest,
    key: ThreadKey,
    entry: ThreadEntry,
    format: WireFormat,
    page: TurnPage,
    version: str | None,
) -> Content:
    reader = request.state["reader"]
    live = await reader.find(key, entry.run_id) if entry.run_state == "live" else None
    tree = await reader.versions(key)
    if version is not None:
        head, now = await _head(reader, key, entry, live, tree, version)
        if head is not None:
            left = await reader.at_head(key, entry.graph, head)
            showing = partial(_at_rest, reader, key, left, format, page, tree, now)
            turns, rest = await beside_loop(len(left.messages), showing)
            return turns, {**rest, "version": version}
    if live is not None:
        return await _so_far(request, live, page, tree)
    state = await reader.state(key, entry.graph)
    showing = partial(_at_rest, reader, key, state, format, page, tree)
    return await beside_loop(len(state.messages), showing)


async def _head(
    reader: RunReader,
    key: ThreadKey,
    entry: ThreadEntry,
    live: LoggedRun | None,
    tree: VersionTree,
    version: str,
) -> tuple[str | None, Path]:
    """The last checkpoint of the branch that has the version, None if it is the thread's own; and
    the thread's versions. Raises InvalidRequest."""
    state = await (reader.state_before(live.header) if live else reader.state(key, entry.graph))
    now = await beside_loop(len(state.messages), partial(tree.path, state.messages))
    named = tree.find(version, now)
    return (named.head if named else None), now


def _at_rest(
    reader: RunReader,
    key: ThreadKey,
    state: ThreadState,
    format: WireFormat,
    page: TurnPage,
    tree: VersionTree,
    now: Path | None = None,
) -> Content:
    """`now` has the thread's versions if the state is that of a branch that it has left."""
    asked = [interrupt_json(interrupt) for interrupt in state.interrupts]
    waiting = [_asked(approval) for approval in waiting_approvals(state, key)]
    path = tree.path(state.messages)
    turns, has_earlier = reader.page(state, page, tree.shown(path, path if now is None else now))
    rest = {
        "pending": _pending(state),
        **({"approvals": waiting} if waiting else {}),
        **({"interrupts": asked} if asked else {}),
        **_named(state.graph_state),
        **format.waiting(turns, state.interrupts),
        "run": None,
        **_more(page, has_earlier=has_earlier),
    }
    return turns, rest


async def _so_far(
    request: ApiRequest, run: LoggedRun, page: TurnPage, tree: VersionTree
) -> Content:
    progress = await request.state["reader"].progress(run, page, tree)
    thread_id, run_id = run.header.key.thread_id, run.header.run_id
    live = {
        "id": run_id,
        "stream_url": f"/chat/{thread_id}/stream",
        "stop_url": f"/chat/{thread_id}/stop",
        "cursor": f"{run_id}:{progress.last}",
        "message_id": run.header.message_id,
        "first_part": progress.first_part,
    }
    more = _more(page, has_earlier=progress.has_earlier)
    pending, named = _pending(progress.before), _named(progress.graph_state)
    return progress.turns, {"pending": pending, **named, "run": live, **more}


def _named(graph_state: Values | None) -> dict[str, Any]:
    """What clients see of the graph's state; nothing if they never see any of it."""
    return {} if graph_state is None else {"state": graph_state}


def _more(page: TurnPage, *, has_earlier: bool) -> dict[str, Any]:
    """A client that asks for the whole thread is told nothing of pages."""
    return {} if page == WHOLE else {"has_earlier": has_earlier}


def _pending(state: ThreadState) -> list[dict[str, Any]]:
    """The calls that wait for the client."""
    return [_call(call) for call in state.pending("client")]


def _asked(waiting: WaitingApproval) -> dict[str, Any]:
    return {
        "tool_call_id": waiting.tool_call_id,
        "tool_name": waiting.tool_name,
        "args": waiting.args,
        "approval_id": waiting.approval_id,
        **({"may_have_run": True} if waiting.may_have_run else {}),
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return {"tool_call_id": call["id"], "tool_name": call["name"], "args": call["args"]}
