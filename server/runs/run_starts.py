"""The start of a run: a request gets its graph, the caller's rights and the plan."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from uuid import uuid4

from turnstream.graphs.app_context import block
from turnstream.graphs.context import TurnContext
from turnstream.graphs.rights import UNENFORCED
from turnstream.server.callers.principal import Principal
from turnstream.server.callers.rights import Rights
from turnstream.server.runs.approvals import Decider
from turnstream.server.runs.checkpoints import Checkpoints
from turnstream.server.runs.claims import NewRun, new_run_id
from turnstream.server.runs.client_tools import brought_tools_of, with_client_tools
from turnstream.server.runs.client_values import check_values, with_app_context, with_posted_state
from turnstream.server.runs.graph_user import GraphUser
from turnstream.server.runs.prepare import prepare
from turnstream.server.runs.start import Equipment, RunSettings, RunStart
from turnstream.server.runs.thread_version import (
    ThreadChanged,
    UnknownThread,
    check_version,
)
from turnstream.server.runs.tool_choice import narrowed
from turnstream.server.runs.versions import VersionsOf
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import TurnRequest
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import UITool

SETUP_HASH_CHARS = 12


def setup_hash(system_prompt: str, catalogue: Catalogue) -> str:
    """A short name for what the model is told before a thread, to tell runs before and after a
    change apart: the same for the same system prompt and tool schemas, in every process.

    What one run adds or leaves out, client tools and the caller's rights, does not count.
    """
    told = f"{catalogue.digest}\n{system_prompt}"
    return hashlib.sha256(told.encode(errors="surrogatepass")).hexdigest()[:SETUP_HASH_CHARS]


@dataclass(frozen=True, slots=True)
class RunStarts:
    equipment: Equipment
    settings: RunSettings
    versions: VersionsOf

    async def check_new(
        self,
        key: ThreadKey,
        request: TurnRequest,
        wire_format: str,
        rights: Rights,
        by: Principal,
    ) -> None:
        """Before a hidden thread is forgotten for a request of the same id. Raises UnknownThread if
        it is about the one that was deleted, and what `make` does if no new one can take it."""
        if not request.begins_thread:
            raise UnknownThread(key)
        unused = ThreadKey(key.owner, f"thread_{uuid4().hex}")
        run = NewRun(run_id=new_run_id(), key=unused)
        await self.make(run, request, wire_format, rights, by)

    def check_queued(
        self, request: TurnRequest, thread: ThreadEntry | None, rights: Rights
    ) -> None:
        """Check what does not depend on the messages of a thread. Raises as `make` does."""
        graphs = self.equipment.graphs
        if thread is None and request.needs_thread:
            raise UnknownThread(ThreadKey(rights.principal.owner, request.thread_id or ""))
        if thread is not None and request.based_on not in (None, thread.run_id):
            raise ThreadChanged(thread, None)
        self._checked(request, thread, rights, graphs.checkpoints(graphs.choose(request, thread)))

    def _checked(
        self,
        request: TurnRequest,
        thread: ThreadEntry | None,
        rights: Rights,
        checkpoints: Checkpoints,
    ) -> tuple[tuple[UITool, ...], Rights]:
        """The tools that the client brings along, and the rights as the request narrows them."""
        graph, catalogue = checkpoints.attached, self.equipment.catalogue.current
        self.equipment.models.check(request, graph, rights)
        check_values(request, graph, self.settings.client_values)
        client_tools = brought_tools_of(request, graph, catalogue)
        return client_tools, narrowed(rights, request, thread, graph, catalogue)

    def _decider(
        self, run: NewRun, rights: Rights, by: Principal, stopped: Collection[str]
    ) -> Decider:
        decider = Decider(by, run.run_id, self.settings.approval_seconds, stopped=stopped)
        if by.owner != run.key.owner:
            return decider
        return replace(decider, may_approve=rights.may_approve_own)

    async def make(
        self,
        run: NewRun,
        request: TurnRequest,
        wire_format: str,
        rights: Rights,
        by: Principal,
        stopped: Collection[str] = (),
    ) -> RunStart:
        """Make the start of a run on a thread that is claimed, or on none; `by` gives the request's
        approvals, and the request has `stopped` these runs.

        Raises InvalidRequest if the thread cannot take the request, and UnknownThread or
        ThreadChanged if it is not the one that the request was made on.
        """
        models = self.equipment.models
        catalogue, settings = self.equipment.catalogue.current, self.settings
        graph = self.equipment.graphs.choose(request, run.thread)
        checkpoints = self.equipment.graphs.checkpoints(graph)
        attached, is_built_in = checkpoints.attached, checkpoints.attached.is_built_in
        await check_version(request, run, checkpoints)
        client_tools, rights = self._checked(request, run.thread, rights, checkpoints)
        request = with_app_context(request, attached)
        if stopped:
            # It is older than what those runs have left.
            request = replace(request, posted_state=None)
        decider = self._decider(run, rights, by, stopped)
        most, versions = settings.max_thread_bytes, self.versions
        is_new = request.thread_id is None and run.thread is None
        asked = (run.key, request, checkpoints, versions, catalogue, decider, most)
        plan = await prepare(*asked, is_new=is_new)
        client_tools, request, plan = with_client_tools(client_tools, request, plan, attached)
        model = models.choose(request, attached, plan, rights)
        model_name = models.name_of(model) if is_built_in else None
        models.check_images(plan, model_name)
        user = GraphUser.of(rights.principal)
        return RunStart(
            run_id=run.run_id,
            key=run.key,
            graph=graph,
            wire_format=wire_format,
            plan=plan,
            context=TurnContext(
                run.run_id,
                client_tools,
                rights,
                user,
                model,
                # A graph of somebody's own was built with the tools of its choice.
                catalogue if is_built_in else None,
                block(request.app_context),
            ),
            rights=rights,
            values=with_posted_state(request, plan, attached, settings.client_values),
            options=request.options,
            classifier=replace(
                self.equipment.classifier,
                catalogue=catalogue,
                client_tools=client_tools,
                rights=rights if is_built_in else UNENFORCED,
                user=user,
                graph_tools=attached.ui_dispositions,
            ),
            limits=settings.limits,
            tells_causes=settings.tells_causes,
            model=model_name,
            setup=setup_hash(settings.system_prompt, catalogue) if is_built_in else None,
            follows=(run.thread and run.thread.run_id) or None,
            takes_back=request.drops_left,
            client_run_id=request.client_run_id,
        )
