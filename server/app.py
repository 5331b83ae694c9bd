"""The application: routes, and the lifespan that wires everything together."""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from starlette.applications import Starlette

from turnstream.graphs.attached import AttachedGraph
from turnstream.graphs.classify import Classifier
from turnstream.graphs.faults import GraphError
from turnstream.graphs.graph_tools import tools_of
from turnstream.graphs.loading import BUILT_IN, load, open_graphs
from turnstream.graphs.project_file import ConfigurableHeaders, ProjectFile, project_file
from turnstream.graphs.rights import UNENFORCED
from turnstream.server.authentication import open_authentication
from turnstream.server.callers.principal import LOCAL
from turnstream.server.extensions.base import Extension
from turnstream.server.extensions.built_in import BUILT_IN as OUR_EXTENSIONS
from turnstream.server.extensions.loading import (
    declared,
    named,
    search_of,
    settings_with,
    switched_on,
    tables_of,
)
from turnstream.server.extensions.opened import Status, open_all
from turnstream.server.extensions.recording import in_order
from turnstream.server.extensions.users.authentication import Authentication
from turnstream.server.extensions.users.failed_logins import FailedLogins
from turnstream.server.extensions.users.policy import Policy, open_policy
from turnstream.server.formats import FORMATS, BodyLimits, Formats
from turnstream.server.graph_resources import open_graph_store, open_model, open_models
from turnstream.server.http.bodies import anonymous_bodies, callers_bodies
from turnstream.server.http.event_streams import EventStreams
from turnstream.server.http.guard import DeveloperOnly, LoopbackOnly
from turnstream.server.http.inspection import INSPECTION_ROUTES
from turnstream.server.http.middleware import middleware
from turnstream.server.http.problem_handlers import HANDLERS
from turnstream.server.http.project_app import ProjectApp, load_project_app
from turnstream.server.http.routes import permitted, routes_with
from turnstream.server.http.state import AppState
from turnstream.server.http.static import static_files
from turnstream.server.http.unread import unread_budget
from turnstream.server.logs.formats import worker_named
from turnstream.server.logs.setup import configure, log_stray_failures
from turnstream.server.runs.checkpoints import Checkpoints
from turnstream.server.runs.graph_user import GraphUser
from turnstream.server.runs.hooks import RunHooks
from turnstream.server.runs.reader import RunReader
from turnstream.server.runs.recovery import LostRuns
from turnstream.server.runs.runs import Runs
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.runs.served_models import ServedModels
from turnstream.server.runs.start import RunLimits, RunSettings
from turnstream.server.settings import Settings
from turnstream.server.storage.memory_logs import MemoryLogs
from turnstream.server.storage.opened import Storage, StorageOptions, open_storage
from turnstream.server.storage.sharing import open_shared_counters, open_sharing
from turnstream.server.storage.workers import Workers
from turnstream.server.tool_sources import open_tools
from turnstream.server.upkeep import upkeep
from turnstream.tools.builtin import CATALOGUE
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import Disposition
from turnstream.tools.current import CurrentCatalogue

logger = logging.getLogger(__name__)

STATIC = Path(__file__).parent.parent / "static"
"""The sources of the page."""
PAGE = STATIC / "dist"
"""The page, built."""


def create() -> Starlette:
    """The application by its environment alone, for any ASGI server:
    `uvicorn turnstream.server.app:create --factory`.

    Such a server ends live runs when it stops instead of letting them finish. The process's log is
    set up as that of `python -P -m turnstream.server`.
    """
    extensions = declared(named())
    settings = settings_with(extensions).model_validate({})
    configure(settings.log_format)
    log_stray_failures()
    app = create_app(settings, extensions=extensions)
    if "auth" not in settings.model_fields_set:
        # The ASGI server has chosen its addresses already, and does not say which.
        app.add_middleware(LoopbackOnly)
    return app


def create_app(
    settings: Settings,
    catalogue: Catalogue = CATALOGUE,
    model: BaseChatModel | None = None,
    formats: Formats = FORMATS,
    extensions: Sequence[type[Extension]] = OUR_EXTENSIONS,
    page: Path = PAGE,
    *,
    is_development: bool = False,
) -> Starlette:
    """The application, on the model that the settings name if none is given, with those of the
    extensions that the settings switch on. `page` is the folder that is served at `/`: STATIC
    serves the sources of the page.

    `is_development`: it is served to the developer of the graph, on loopback alone, who is told
    what the graph raises.

    Raises GraphError if the setting names no graph that can be served, PolicyError,
    ExtensionError; its lifespan these, StorageError and ModelSetupError.
    """
    refused: dict[str, GraphError] = {}
    loaded = load(settings.graph, refused)
    project = project_file(settings.graph)
    project_app = _project_app(project, settings)
    policy = open_policy(settings.policy)
    switched = in_order(switched_on(extensions, settings))
    all_formats = formats.behind([format for each in switched for format in each.formats()])
    hooks = RunHooks(switched)
    outermost = [one for each in switched for one in each.middleware()]

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[AppState]:
        async with (
            project_app.lifespan() if project_app else nullcontext(),
            open_storage(
                settings.database,
                StorageOptions(
                    settings.busy_seconds, settings.database_connections, settings.lease_seconds
                ),
            ) as storage,
            open_sharing(
                storage.leases,
                settings.redis_url,
                settings.lease_seconds,
                settings.max_retained_bytes,
            ) as workers,
            open_shared_counters(settings.redis_url if policy.counters else None) as counters,
            open_models(settings)
            if model is None
            else nullcontext({settings.model_name: model}) as models,
            open_tools(settings, catalogue) as tools,
            open_graph_store(settings, storage, project) as graph_store,
            open_authentication(settings, storage.store) as authentication,
            open_graphs(
                loaded,
                storage.checkpointer,
                graph_store,
                settings.context,
                models[settings.model_name],
                tools.current,
                limits=settings.limits,
                undeclared_results="show_marked" if is_development else settings.shown_results,
                client_state=settings.client_state,
                max_state_bytes=settings.max_state_bytes,
                user=GraphUser.of(LOCAL),
                client_context=settings.client_context,
                refused=refused,
                system_prompt=settings.system_prompt,
            ) as graphs,
        ):
            worker = storage.leases.worker if storage.leases else None
            with worker_named(worker):
                with storage.usable():
                    await storage.store.open_extensions(
                        tables_of(switched), is_shared=storage.leases is not None
                    )
                    state = await _wired(
                        settings,
                        all_formats,
                        graphs,
                        models,
                        tools,
                        storage,
                        workers,
                        authentication,
                        policy.counted_together(counters),
                        switched,
                        hooks,
                        project.configurable_headers if project else None,
                        refused,
                        is_development=is_development,
                    )
                runs, served = state["runs"], state["graphs"]
                opened = open_all(
                    switched, storage, served, Status(runs, hooks), partial(open_model, settings)
                )
                async with opened:
                    try:
                        async with upkeep(settings, storage.store, runs):
                            yield state
                    finally:
                        await runs.close()
                        await hooks.close()

    app = Starlette(
        routes=[
            *routes_with(formats, switched),
            *(map(permitted, INSPECTION_ROUTES) if is_development else ()),
        ],
        middleware=[
            *outermost,
            *middleware(settings, project.cors if project else None, project_app),
        ],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    # Not a mount: that would take a known address with another method for a file, and say 404.
    app.router.default = static_files(page)
    if is_development:
        app.add_middleware(DeveloperOnly)
    return app


def _project_app(project: ProjectFile | None, settings: Settings) -> ProjectApp | None:
    if project is None or project.app is None:
        return None
    return load_project_app(project, has_auth="auth" in settings.model_fields_set)


async def _wired(
    settings: Settings,
    formats: Formats,
    attached: Mapping[str, AttachedGraph],
    models: Mapping[str, BaseChatModel],
    catalogue: CurrentCatalogue,
    storage: Storage,
    workers: Workers | None,
    authentication: Authentication | None,
    policy: Policy,
    extensions: Sequence[Extension],
    hooks: RunHooks,
    passed_headers: ConfigurableHeaders | None,
    refused: Mapping[str, GraphError],
    *,
    is_development: bool,
) -> AppState:
    store = storage.store
    store.follow_titles(hooks.thread_titled)
    # A graph that is not ours may have tools that the catalogue does not know.
    unknown: Disposition = "invalid" if settings.graph == BUILT_IN else "server"
    classifier = Classifier(catalogue.current, rights=UNENFORCED, unknown=unknown)
    checkpoints = partial(
        Checkpoints,
        saver=storage.checkpointer,
        fallback=classifier.fallback,
        store=store,
        hidden_nodes=settings.hidden_nodes,
        keeps_removed=settings.removed_messages == "show",
    )
    policy.check(attached)
    of_graphs = [name for graph in attached.values() for name in tools_of(graph.graph)]
    known = {*catalogue.current.real_by_name, *catalogue.current.ui_by_name, *of_graphs}
    policy.warn_of_unmatched(known, models)
    for name, error in refused.items():
        logger.warning(
            "graph %(name)s is not served: %(error)s", {"name": name, "error": str(error)}
        )
    graphs = ServedGraphs(
        {name: checkpoints(graph) for name, graph in attached.items()},
        {name: str(error) for name, error in refused.items()},
    )
    if workers is None:
        await LostRuns(store, graphs, hooks, settings.approval_seconds).end_all()
    logs = workers.logs if workers else MemoryLogs(settings.max_retained_bytes)
    knows_callers = authentication is not None
    unread = unread_budget(settings.max_responses_bytes, knows_callers=knows_callers)
    served_models = ServedModels(models)
    return AppState(
        formats=formats,
        runs=Runs(
            graphs,
            served_models,
            classifier,
            store,
            logs,
            replace(_run_settings(settings), tells_causes=is_development),
            policy,
            catalogue,
            hooks,
            workers,
        ),
        reader=RunReader(graphs, store, logs, hooks.versions),
        graphs=graphs,
        models=served_models,
        client_values=settings.client_context,
        store=store,
        database=storage.database,
        streams=EventStreams(settings.ping_seconds, settings.max_open_streams, unread),
        unread=unread,
        catalogue=catalogue,
        tool_limits=settings.limits,
        body_limits=BodyLimits(
            settings.max_message_chars,
            settings.max_images,
            settings.max_image_bytes,
            settings.takes_app_context,
        ),
        bodies=callers_bodies(
            settings.max_body_bytes,
            settings.max_body_values,
            settings.max_bodies_bytes,
            knows_callers=knows_callers,
        ),
        anonymous_bodies=anonymous_bodies(settings.max_bodies_bytes),
        model_name=settings.model_name,
        extensions=extensions,
        search=search_of(extensions),
        restorable_seconds=hooks.restorable_seconds,
        authentication=authentication,
        passed_headers=passed_headers,
        recorder=hooks.recorder,
        exporting=set(),
        policy=policy,
        failed_logins=FailedLogins(settings.max_failed_logins),
        is_development=is_development,
    )


def _run_settings(settings: Settings) -> RunSettings:
    return RunSettings(
        limits=RunLimits(settings.max_run_seconds, settings.unread_seconds, settings.max_run_bytes),
        retention_seconds=settings.run_retention_seconds,
        max_live=settings.max_live_runs,
        max_new_threads=settings.max_new_threads,
        max_thread_bytes=settings.max_thread_bytes,
        approval_seconds=settings.approval_seconds,
        client_values=settings.client_context,
        system_prompt=settings.system_prompt,
    )
