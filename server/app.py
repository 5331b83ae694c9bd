"""The application: routes, and the lifespan that wires everything together."""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from starlette.applications import Starlette

from turnstream.graphs.attached import AttachedGraph
from turnstream.graphs.classify import Classifier
from turnstream.graphs.faults import GraphError
from turnstream.graphs.loading import BUILT_IN, LoadedGraph, load, open_graphs
from turnstream.graphs.project_file import ProjectFile, project_file
from turnstream.graphs.rights import UNENFORCED
from turnstream.server.callers.principal import LOCAL
from turnstream.server.extensions.base import Extension
from turnstream.server.extensions.built_in import BUILT_IN as OUR_EXTENSIONS
from turnstream.server.extensions.loading import (
    check_methods,
    declared,
    engine_of,
    named,
    search_of,
    settings_with,
    switched_on,
    tables_of,
)
from turnstream.server.extensions.opened import Status, open_all, served
from turnstream.server.extensions.recording import in_order
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
from turnstream.server.http.static import Page, component_files, static_files
from turnstream.server.http.unread import unread_budget
from turnstream.server.logs.formats import worker_named
from turnstream.server.logs.setup import configure, log_stray_failures
from turnstream.server.runs.checkpoints import Checkpoints
from turnstream.server.runs.due_deletions import open_due_deletions
from turnstream.server.runs.graph_user import GraphUser
from turnstream.server.runs.hooks import RunHooks
from turnstream.server.runs.queue import open_queue
from turnstream.server.runs.recovery import LostRuns
from turnstream.server.runs.retention import open_retention
from turnstream.server.runs.runs import Runs
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.runs.served_models import ServedModels
from turnstream.server.runs.start import Equipment, RunLimits, RunSettings
from turnstream.server.settings import Settings
from turnstream.server.storage.memory_logs import MemoryLogs
from turnstream.server.storage.opened import ServerStore, Storage, StorageEngine
from turnstream.server.tool_sources import check_drawn, open_tools
from turnstream.tools.builtin import CATALOGUE
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.components import Component, further_components
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

    Raises GraphError if the setting names no graph that can be served, CatalogueError for a
    component, PageError for the page's file, and ExtensionError; its lifespan these, StorageError
    and ModelSetupError.
    """
    made = _make(settings, formats, extensions, is_development=is_development)
    project, on = made.project, made.extensions
    project_app = _project_app(project, settings)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[AppState]:
        async with AsyncExitStack() as opened:
            if project_app:
                await opened.enter_async_context(project_app.lifespan())
            resources = await _opened(opened, made, catalogue, model)
            workers = resources.storage.workers
            with worker_named(workers.worker if workers else None):
                async with _serving(made, resources) as state:
                    yield state

    app = Starlette(
        routes=[
            *routes_with(formats, on),
            *(map(permitted, INSPECTION_ROUTES) if is_development else ()),
        ],
        middleware=[
            *(one for each in on for one in each.middleware()),
            *middleware(settings, project.cors if project else None, project_app),
        ],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    # Not a mount: that would take a known address with another method for a file, and say 404.
    app.router.default = _page(page, settings.page)
    if is_development:
        app.add_middleware(DeveloperOnly)
    return app


def _make(
    settings: Settings,
    formats: Formats,
    extensions: Sequence[type[Extension]],
    *,
    is_development: bool,
) -> "_Made":
    """Make what needs nothing open."""
    refused: dict[str, GraphError] = {}
    loaded = load(settings.graph, refused)
    check_methods(extensions, settings)
    on = in_order(switched_on(extensions, settings))
    return _Made(
        settings=settings,
        loaded=loaded,
        refused=refused,
        project=project_file(settings.graph),
        formats=formats.behind([format for each in on for format in each.formats()]),
        extensions=on,
        engine=engine_of(extensions, settings),
        hooks=RunHooks(on),
        components=further_components(settings.components),
        is_development=is_development,
    )


def _page(folder: Path, file: Path | None) -> Page:
    """The page's files, as its file wants them. Raises PageError."""
    if file is None:
        return static_files(folder)
    from turnstream.server.page.file import read_page_file
    from turnstream.server.page.made import made_page

    own = read_page_file(file)
    index = (folder / "index.html").read_text("utf-8")
    return static_files(folder, made_page(index, own, file.parent), own.frame_ancestors)


def _project_app(project: ProjectFile | None, settings: Settings) -> ProjectApp | None:
    if project is None or project.app is None:
        return None
    return load_project_app(project, has_auth="auth" in settings.model_fields_set)


@dataclass(frozen=True, slots=True)
class _Made:
    """The parts of a server that are there before anything is opened."""

    settings: Settings
    loaded: Sequence[LoadedGraph]
    refused: dict[str, GraphError]
    """The faults of the graphs that are not served, by the graph's name."""
    project: ProjectFile | None
    formats: Formats
    extensions: Sequence[Extension]
    """The extensions that are on, in their order."""
    engine: StorageEngine
    hooks: RunHooks
    components: Sequence[Component]
    """The components of the deployer."""
    is_development: bool


@dataclass(frozen=True, slots=True)
class _Resources:
    """The resources of a server, which are closed when it ends."""

    storage: Storage
    models: Mapping[str, BaseChatModel]
    tools: CurrentCatalogue
    graphs: Mapping[str, AttachedGraph]


async def _opened(
    opened: AsyncExitStack, made: _Made, catalogue: Catalogue, model: BaseChatModel | None
) -> _Resources:
    """Open the resources of a server; `opened` closes them."""
    settings, enter = made.settings, opened.enter_async_context
    storage = await enter(made.engine.open(settings.database, settings.busy_seconds))
    models: Mapping[str, BaseChatModel] = (
        {settings.model_name: model} if model else await enter(open_models(settings))
    )
    tools = await enter(open_tools(settings, catalogue, made.components))
    graph_store = await enter(open_graph_store(settings, storage, made.project))
    graphs = await enter(
        open_graphs(
            made.loaded,
            storage.checkpointer,
            graph_store,
            settings.context,
            models[settings.model_name],
            tools.current,
            limits=settings.limits,
            undeclared_results="show_marked" if made.is_development else settings.shown_results,
            client_state=settings.client_state,
            max_state_bytes=settings.max_state_bytes,
            user=GraphUser.of(LOCAL),
            client_context=settings.client_context,
            refused=made.refused,
            system_prompt=settings.system_prompt,
        )
    )
    check_drawn(made.components, graphs.values())
    return _Resources(storage, models, tools, graphs)


@asynccontextmanager
async def _serving(made: _Made, resources: _Resources) -> AsyncIterator[AppState]:
    """Make the runs on opened resources, open the extensions, and serve."""
    settings, hooks, storage = made.settings, made.hooks, resources.storage
    with storage.usable():
        await storage.store.open_extensions(
            tables_of(made.extensions), is_shared=storage.workers is not None
        )
        equipment = _equipment(made, resources)
        runs = await _runs(made, resources, equipment)
    state = _state(made, resources, equipment, runs)
    async with open_all(
        made.extensions,
        storage,
        equipment.graphs,
        Status(runs, hooks),
        partial(open_model, settings),
        served(equipment.graphs, resources.tools.current, resources.models.keys()),
    ):
        try:
            async with _upkeep(settings, storage.store, runs):
                yield state
        finally:
            await runs.close()
            await hooks.close()


@asynccontextmanager
async def _upkeep(settings: Settings, store: ServerStore, runs: Runs) -> AsyncIterator[None]:
    """Work beside the requests, as long as the server serves."""
    deletions = runs.deletions
    async with (
        runs.others.sweeping() if runs.others else nullcontext(),
        open_queue(runs.queue),
        open_retention(store, deletions.delete_idle, settings.thread_retention_days),
        open_due_deletions(store, deletions.forget_hidden, deletions.hidden),
    ):
        yield


def _equipment(made: _Made, resources: _Resources) -> Equipment:
    settings, storage, catalogue = made.settings, resources.storage, resources.tools
    # A graph that is not ours may have tools that the catalogue does not know.
    unknown: Disposition = "invalid" if settings.graph == BUILT_IN else "server"
    classifier = Classifier(catalogue.current, rights=UNENFORCED, unknown=unknown)
    checkpoints = partial(
        Checkpoints,
        saver=storage.checkpointer,
        fallback=classifier.fallback,
        store=storage.store,
        hidden_nodes=settings.hidden_nodes,
        keeps_removed=settings.removed_messages == "show",
        substeps_bytes=settings.substeps_bytes,
    )
    for name, error in made.refused.items():
        logger.warning(
            "graph %(name)s is not served: %(error)s", {"name": name, "error": str(error)}
        )
    graphs = ServedGraphs(
        {name: checkpoints(graph) for name, graph in resources.graphs.items()},
        {name: str(error) for name, error in made.refused.items()},
    )
    return Equipment(graphs, ServedModels(resources.models), classifier, catalogue)


async def _runs(made: _Made, resources: _Resources, equipment: Equipment) -> Runs:
    """Make the runs, when those that a crash of this process has cut off have their end."""
    settings, hooks, storage = made.settings, made.hooks, resources.storage
    store, workers = storage.store, storage.workers
    store.follow_titles(hooks.thread_titled)
    if workers is None:
        await LostRuns(store, equipment.graphs, hooks, settings.approval_seconds).end_all()
    logs = workers.logs if workers else MemoryLogs(settings.max_retained_bytes)
    run_settings = replace(_run_settings(settings), tells_causes=made.is_development)
    return Runs(equipment, store, logs, run_settings, hooks, workers)


def _state(made: _Made, resources: _Resources, equipment: Equipment, runs: Runs) -> AppState:
    settings, hooks, store = made.settings, made.hooks, resources.storage.store
    knows_callers = settings.authenticates
    unread = unread_budget(settings.max_responses_bytes, knows_callers=knows_callers)
    return AppState(
        formats=made.formats,
        runs=runs,
        reader=runs.reader,
        graphs=equipment.graphs,
        models=equipment.models,
        client_values=settings.client_context,
        store=store,
        database=resources.storage.database,
        streams=EventStreams(settings.ping_seconds, settings.max_open_streams, unread),
        unread=unread,
        catalogue=equipment.catalogue,
        components=component_files(made.components),
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
        extensions=made.extensions,
        search=search_of(made.extensions),
        restorable_seconds=hooks.restorable_seconds,
        hooks=hooks,
        knows_callers=knows_callers,
        passed_headers=made.project.configurable_headers if made.project else None,
        recorder=hooks.recorder,
        exporting=set(),
        is_development=made.is_development,
    )


def _run_settings(settings: Settings) -> RunSettings:
    return RunSettings(
        limits=RunLimits(settings.max_run_seconds, settings.unread_seconds, settings.max_run_bytes),
        retention_seconds=settings.run_retention_seconds,
        max_live=settings.max_live_runs,
        max_new_threads=settings.max_new_threads,
        max_thread_bytes=settings.max_thread_bytes,
        max_queued_requests=settings.max_queued_requests,
        approval_seconds=settings.approval_seconds,
        client_values=settings.client_context,
        system_prompt=settings.system_prompt,
    )
