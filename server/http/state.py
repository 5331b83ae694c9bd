"""What the application hands to its endpoints: the state of its lifespan."""

from typing import TypedDict

from starlette.requests import Request

from graphs.limits import Limits
from server.http.bodies import Bodies
from server.http.byte_budget import ByteBudget
from server.http.event_streams import EventStreams
from server.protocols import BodyLimits
from server.runs.reader import RunReader
from server.runs.runs import Runs
from server.runs.served_graphs import ServedGraphs
from server.runs.served_models import ServedModels
from server.storage.unavailable import Database
from server.storage.undo import UndoStore
from server.turns.header import ThreadKey
from server.users.audit import Audit
from server.users.authentication import Authentication
from server.users.failed_logins import FailedLogins
from server.users.policy import Policy
from server.users.principal import Principal
from server.users.rights import Rights
from tools.current import CurrentCatalogue


class AppState(TypedDict):
    runs: Runs
    reader: RunReader
    graphs: ServedGraphs
    models: ServedModels
    client_values: tuple[str, ...]
    store: UndoStore
    database: Database
    streams: EventStreams
    catalogue: CurrentCatalogue
    tool_limits: Limits
    body_limits: BodyLimits
    bodies: Bodies
    anonymous_bodies: Bodies
    """Reads the bodies of callers who are not recognised yet."""
    unread: ByteBudget
    """Bounds the bytes of responses that wait for their readers."""
    model_name: str
    makes_titles: bool
    undo_seconds: float
    """How long a deleted thread can be brought back."""
    authentication: Authentication | None
    """None: it is off."""
    audit: Audit | None
    """None: nothing is recorded."""
    exporting: set[str]
    """The owners whose export is being sent."""
    policy: Policy
    failed_logins: FailedLogins


ApiRequest = Request[AppState]


def principal(request: ApiRequest) -> Principal:
    """Who calls. Of a route that is not public: `server.http.authenticated` says it."""
    caller: Principal = request.scope["principal"]
    return caller


def rights(request: ApiRequest) -> Rights:
    """What the caller may do: `server.http.permitted` says it."""
    permitted: Rights = request.scope["rights"]
    return permitted


def owner(request: ApiRequest) -> str:
    """Whose threads a request reaches."""
    return principal(request).owner


def thread_key(request: ApiRequest) -> ThreadKey:
    """The thread that a request's address names."""
    return ThreadKey(owner(request), request.path_params["thread_id"])
