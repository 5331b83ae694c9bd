"""The content of a loaded thread: its turns, what waits for the client, and its live run."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, cast

from langchain_core.messages import ToolCall
from pydantic import Field
from typing_extensions import TypedDict

from turnstream.server.extensions.base import ThreadVersions
from turnstream.server.formats import WireFormat
from turnstream.server.formats.metadata import interrupt_json
from turnstream.server.http.operations import component, says
from turnstream.server.http.problems import unknown_thread
from turnstream.server.http.proxies import outer_address
from turnstream.server.http.queue import QueuedJson, queued_json, waiting
from turnstream.server.http.state import ApiRequest
from turnstream.server.http.thread_listing import ThreadEntryJson
from turnstream.server.runs.reader import LoggedRun, RunReader
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.runs.waiting_approvals import waiting_approvals
from turnstream.server.storage.interfaces import ThreadEntry, WaitingApproval
from turnstream.server.turns.graph_state import Values
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.messages import Turn
from turnstream.server.turns.pages import WHOLE, TurnPage
from turnstream.tools.threads import beside_loop


class CallJson(TypedDict):
    tool_call_id: str
    tool_name: str
    args: Mapping[str, Any]


class AskedJson(CallJson):
    """A call that waits for an approval."""

    approval_id: str
    may_have_run: NotRequired[Literal[True]]


class LiveRunJson(TypedDict):
    """A live run; its message is in the thread as far as `cursor`."""

    id: str
    stream_url: str
    stop_url: str
    cursor: str
    message_id: str
    first_part: Annotated[
        int, Field(ge=0, description="The index, in its message, of the run's part 0.")
    ]


class ThreadRestJson(TypedDict):
    pending: list[CallJson]
    approvals: NotRequired[list[AskedJson]]
    interrupts: NotRequired[list[Annotated[Mapping[str, Any], component("Interrupt")]]]
    pendingInterrupts: NotRequired[list[dict[str, Any]]]
    subagents: NotRequired[list[dict[str, Any]]]
    state: NotRequired[
        Annotated[Mapping[str, Any], says("The part of the graph's own state that clients see.")]
    ]
    run: LiveRunJson | None
    queue: NotRequired[
        Annotated[list[QueuedJson], says("The requests that wait for their turn, in order.")]
    ]
    has_earlier: NotRequired[bool]
    version: NotRequired[
        Annotated[str, says("The version that was asked for, if it is not the thread's own.")]
    ]


class ThreadJson(ThreadEntryJson, ThreadRestJson):
    """A thread; its messages are in the wire format."""

    messages: list[Annotated[dict[str, Any], component("Message")]]


Content = tuple[tuple[Turn, ...], ThreadRestJson]
"""The turns of a thread, and the rest of its answer."""


async def consistent(
    request: ApiRequest,
    key: ThreadKey,
    format: WireFormat,
    page: TurnPage = WHOLE,
    version: str | None = None,
) -> tuple[ThreadEntry, tuple[Turn, ...], ThreadRestJson]:
    """A thread's entry and content of one moment: read again if a run began or ended. With
    `version` the content is that of the branch that has this version of a turn.

    Raises Problem if there is no such thread, InvalidRequest if it has no such page or version.
    """
    store = request.state["store"]
    loading = _Loading(request.state["reader"], key, format, page)
    entry = await store.get(key)
    while entry is not None:
        queue = await store.queue(key)
        turns, rest = await loading.content(entry, version)
        again = await store.get(key)
        if again == entry:
            rest.update(cast("ThreadRestJson", format.beside(turns)))
            if queued := waiting(queue, entry, turns):
                rest["queue"] = [queued_json(one, format) for one in queued]
            return entry, turns, rest
        entry = again
    raise unknown_thread(key)


@dataclass(frozen=True, slots=True)
class _Loading:
    """The loading of one thread, as a request asks for it."""

    reader: RunReader
    key: ThreadKey
    format: WireFormat
    page: TurnPage

    async def content(self, entry: ThreadEntry, version: str | None) -> Content:
        is_live = entry.run_state == "live"
        live = await self.reader.find_live(self.key, entry.run_id) if is_live else None
        kept = await self.reader.versions(self.key)
        if version is not None:
            branch, thread = await self._branch(entry, live, kept, version)
            if branch is not None:
                turns, rest = await self._at_rest(entry, branch, kept, thread)
                return turns, {**rest, "version": version}
        if live is not None:
            return await self._so_far(live, kept)
        state = await self.reader.state(self.key, entry.graph)
        return await self._at_rest(entry, state, kept, state)

    async def _branch(
        self, entry: ThreadEntry, live: LoggedRun | None, kept: ThreadVersions, version: str
    ) -> tuple[ThreadState | None, ThreadState]:
        """The branch that has the version, None if it is the thread's own; and the thread. Raises
        InvalidRequest."""
        reader, graph = self.reader, entry.graph
        state = await (reader.state_before(live.header) if live else reader.state(self.key, graph))
        find = partial(kept.head, version, state.shown)
        head = await beside_loop(len(state.messages), find)
        return (None if head is None else await reader.at_head(self.key, graph, head)), state

    async def _at_rest(
        self, entry: ThreadEntry, state: ThreadState, kept: ThreadVersions, thread: ThreadState
    ) -> Content:
        """`state` is that of the thread, or of a branch that it has left."""
        shown = partial(self._shown, state, kept, thread)
        turns, rest = await beside_loop(len(state.messages), shown)
        turns = await self.reader.with_substeps(self.key, entry.graph, turns)
        rest.update(cast("ThreadRestJson", self.format.waiting(turns, state.interrupts)))
        return turns, rest

    def _shown(self, state: ThreadState, kept: ThreadVersions, thread: ThreadState) -> Content:
        waiting = [_asked(approval) for approval in waiting_approvals(state, self.key)]
        versions = kept.shown(state.shown, thread.shown)
        turns, has_earlier = self.reader.page(state, self.page, versions)
        rest = self._rest(state, state.graph_state, None, has_earlier=has_earlier)
        if waiting:
            rest["approvals"] = waiting
        if state.interrupts:
            rest["interrupts"] = [interrupt_json(interrupt) for interrupt in state.interrupts]
        return turns, rest

    async def _so_far(self, run: LoggedRun, kept: ThreadVersions) -> Content:
        progress = await self.reader.progress(run, self.page, kept)
        thread_id, run_id = self.key.thread_id, run.header.run_id
        live: LiveRunJson = {
            "id": run_id,
            "stream_url": outer_address(f"/chat/{thread_id}/stream"),
            "stop_url": outer_address(f"/chat/{thread_id}/stop"),
            "cursor": f"{run_id}:{progress.last}",
            "message_id": run.header.message_id,
            "first_part": progress.first_part,
        }
        rest = self._rest(
            progress.before, progress.graph_state, live, has_earlier=progress.has_earlier
        )
        return progress.turns, rest

    def _rest(
        self,
        state: ThreadState,
        graph_state: Values | None,
        run: LiveRunJson | None,
        *,
        has_earlier: bool,
    ) -> ThreadRestJson:
        """A client that asks for the whole thread gets no `has_earlier`."""
        pending = [_call(call) for call in state.pending("client")]
        rest: ThreadRestJson = {"pending": pending, "run": run}
        if graph_state is not None:
            rest["state"] = graph_state
        if self.page != WHOLE:
            rest["has_earlier"] = has_earlier
        return rest


def _asked(waiting: WaitingApproval) -> AskedJson:
    asked: AskedJson = {
        "tool_call_id": waiting.tool_call_id,
        "tool_name": waiting.tool_name,
        "args": waiting.args,
        "approval_id": waiting.approval_id,
    }
    if waiting.may_have_run:
        asked["may_have_run"] = True
    return asked


def _call(call: ToolCall) -> CallJson:
    return {"tool_call_id": call["id"] or "", "tool_name": call["name"], "args": call["args"]}
