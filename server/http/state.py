"""The objects that the application hands to its endpoints: the state of its lifespan."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from starlette.requests import Request

from turnstream.graphs.limits import Limits
from turnstream.graphs.project_file import ConfigurableHeaders
from turnstream.server.callers.principal import Principal
from turnstream.server.callers.rights import Rights
from turnstream.server.extensions.base import Extension
from turnstream.server.extensions.recording import AuditRecorder
from turnstream.server.formats import BodyLimits, Formats
from turnstream.server.http.bodies import Bodies
from turnstream.server.http.byte_budget import ByteBudget
from turnstream.server.http.event_streams import EventStreams
from turnstream.server.http.static import ComponentFiles
from turnstream.server.runs.hooks import RunHooks
from turnstream.server.runs.reader import RunReader
from turnstream.server.runs.runs import Runs
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.runs.served_models import ServedModels
from turnstream.server.storage.interfaces import ThreadStore
from turnstream.server.storage.search import Search
from turnstream.server.storage.unavailable import Database
from turnstream.server.turns.header import ThreadKey
from turnstream.tools.current import CurrentCatalogue


class AppState(TypedDict):
    formats: Formats
    runs: Runs
    reader: RunReader
    graphs: ServedGraphs
    models: ServedModels
    client_values: tuple[str, ...]
    store: ThreadStore
    database: Database
    streams: EventStreams
    catalogue: CurrentCatalogue
    components: Mapping[str, ComponentFiles]
    """The components that the deployer has added, by name."""
    tool_limits: Limits
    body_limits: BodyLimits
    bodies: Bodies
    anonymous_bodies: Bodies
    """Reads the bodies of callers who are not recognised yet."""
    unread: ByteBudget
    """Bounds the bytes of responses that wait for their readers."""
    model_name: str
    extensions: Sequence[Extension]
    """The extensions that are on."""
    search: Callable[[str], Search] | None
    """Parses what somebody looks for; raises ValueError. None: nothing searches."""
    restorable_seconds: float
    """Seconds for which a deleted thread can be brought back."""
    hooks: RunHooks
    knows_callers: bool
    """False: authentication is off, and everybody is `local`."""
    passed_headers: ConfigurableHeaders | None
    """The headers that graphs are given; None: none."""
    recorder: AuditRecorder
    exporting: set[str]
    """The owners whose export is being sent."""
    is_development: bool
    """True in `turnstream dev` alone."""


ApiRequest = Request[AppState]


def principal(request: ApiRequest) -> Principal:
    """Return the caller. `turnstream.server.http.authenticated` recognises them on every route that
    is not public."""
    caller: Principal = request.scope["principal"]
    return caller


def rights(request: ApiRequest) -> Rights:
    """Return the rights of the caller, which `turnstream.server.http.permitted` finds."""
    permitted: Rights = request.scope["rights"]
    return permitted


def owner(request: ApiRequest) -> str:
    """Return the owner of the threads that a request reaches."""
    return principal(request).owner


def thread_key(request: ApiRequest) -> ThreadKey:
    """The thread that a request's address names."""
    return ThreadKey(owner(request), request.path_params["thread_id"])
