"""What a loaded thread says: its turns, what waits for the client, and its live run."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.messages import ToolCall

from turnstream.server.http.problems import unknown_thread
from turnstream.server.http.state import ApiRequest
from turnstream.server.protocols import WireFormat
from turnstream.server.protocols.metadata import interrupt_json
from turnstream.server.runs.reader import LoggedRun, RunReader
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.runs.versions import Path, VersionTree
from turnstream.server.runs.waiting_approvals import waiting_approvals
from turnstream.server.storage.interfaces import ThreadEntry, WaitingApproval
from turnstream.server.turns.graph_state import Values
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.messages import Turn
from turnstream.server.turns.pages import WHOLE, TurnPage
from turnstream.tools.threads import beside_loop

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
    loading = _Loading(request.state["reader"], key, format, page)
    entry = await store.get(key)
    while entry is not None:
        turns, rest = await loading.content(entry, version)
        again = await store.get(key)
        if again == entry:
            return entry, turns, rest
        entry = again
    raise unknown_thread(key)


@dataclass(frozen=True, slots=True)
class _Loading:
    """Of one thread, as a request asks for it."""

    reader: RunReader
    key: ThreadKey
    format: WireFormat
    page: TurnPage

    async def content(self, entry: ThreadEntry, version: str | None) -> Content:
        is_live = entry.run_state == "live"
        live = await self.reader.find_live(self.key, entry.run_id) if is_live else None
        tree = await self.reader.versions(self.key)
        if version is not None:
            branch, now = await self._branch(entry, live, tree, version)
            if branch is not None:
                turns, rest = await self._at_rest(branch, tree, now)
                return turns, {**rest, "version": version}
        if live is not None:
            return await self._so_far(live, tree)
        return await self._at_rest(await self.reader.state(self.key, entry.graph), tree)

    async def _branch(
        self, entry: ThreadEntry, live: LoggedRun | None, tree: VersionTree, version: str
    ) -> tuple[ThreadState | None, Path]:
        """The branch that has the version, None if it is the thread's own; and the thread's
        versions. Raises InvalidRequest."""
        reader, graph = self.reader, entry.graph
        state = await (reader.state_before(live.header) if live else reader.state(self.key, graph))
        now = await beside_loop(len(state.messages), partial(tree.path, state.messages))
        named = tree.find(version, now)
        if named is None or named.head is None:
            return None, now
        return await reader.at_head(self.key, graph, named.head), now

    async def _at_rest(
        self, state: ThreadState, tree: VersionTree, now: Path | None = None
    ) -> Content:
        """`now` has the thread's versions if the state is that of a branch that it has left."""
        return await beside_loop(len(state.messages), partial(self._shown, state, tree, now))

    def _shown(self, state: ThreadState, tree: VersionTree, now: Path | None) -> Content:
        asked = [interrupt_json(interrupt) for interrupt in state.interrupts]
        waiting = [_asked(approval) for approval in waiting_approvals(state, self.key)]
        path = tree.path(state.messages)
        versions = tree.shown(path, path if now is None else now)
        turns, has_earlier = self.reader.page(state, self.page, versions)
        rest = {
            "pending": _pending(state),
            **({"approvals": waiting} if waiting else {}),
            **({"interrupts": asked} if asked else {}),
            **_named(state.graph_state),
            **self.format.waiting(turns, state.interrupts),
            "run": None,
            **_more(self.page, has_earlier=has_earlier),
        }
        return turns, rest

    async def _so_far(self, run: LoggedRun, tree: VersionTree) -> Content:
        progress = await self.reader.progress(run, self.page, tree)
        thread_id, run_id = self.key.thread_id, run.header.run_id
        live = {
            "id": run_id,
            "stream_url": f"/chat/{thread_id}/stream",
            "stop_url": f"/chat/{thread_id}/stop",
            "cursor": f"{run_id}:{progress.last}",
            "message_id": run.header.message_id,
            "first_part": progress.first_part,
        }
        more = _more(self.page, has_earlier=progress.has_earlier)
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
