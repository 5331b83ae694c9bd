"""LangGraph SDK: the endpoints under `/langgraph`."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from starlette.endpoints import HTTPEndpoint
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from turnstream.server.formats.langgraph.api.assistants import (
    count_assistants,
    create_assistant,
    delete_assistant,
    get_assistant,
    info,
    list_versions,
    ok,
    search_assistants,
    set_latest,
    update_assistant,
)
from turnstream.server.formats.langgraph.api.crons import (
    count_crons,
    create_cron,
    create_cron_of_thread,
    delete_cron,
    get_cron,
    search_crons,
    update_cron,
)
from turnstream.server.formats.langgraph.api.graphs import (
    get_graph,
    get_schemas,
    get_subgraph,
    list_subgraphs,
)
from turnstream.server.formats.langgraph.api.runs import (
    await_run,
    cancel_run,
    cancel_runs,
    create_run,
    create_runs,
    create_stateless_run,
    delete_run,
    get_run,
    join_run,
    join_thread,
    list_runs,
    stream_run,
    stream_stateless_run,
    wait_for_run,
    wait_for_stateless_run,
)
from turnstream.server.formats.langgraph.api.states import (
    get_history,
    get_state,
    get_state_at,
    get_state_of_checkpoint,
    list_history,
    update_state,
)
from turnstream.server.formats.langgraph.api.store import (
    delete_item,
    get_item,
    list_namespaces,
    put_item,
    search_items,
)
from turnstream.server.formats.langgraph.api.threads import (
    copy_thread,
    count_threads,
    create_thread,
    delete_thread,
    get_storage,
    get_thread,
    prune_threads,
    search_threads,
    update_thread,
)
from turnstream.server.http.authenticated import Authenticated
from turnstream.server.http.permitted import Deed, Permitted


@dataclass(frozen=True, slots=True)
class ApiKeyHeader:
    """ASGI middleware of a route: the clients of this protocol send a key as `X-Api-Key`, and know
    no other header for it."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        keys = [value for name, value in headers if name == b"x-api-key"]
        if keys and all(name != b"authorization" for name, _ in headers):
            bearers = [(b"authorization", b"Bearer " + key) for key in keys]
            scope["headers"] = [*headers, *bearers]
        await self.app(scope, receive, send)


_STARTS: Mapping[str, None] = {"POST": None}
"""The endpoint asks whether a run may begin."""
_LAYERS = [Middleware(one) for one in (ApiKeyHeader, Authenticated, Permitted)]


def _route(
    path: str,
    *,
    reads: bool = False,
    deeds: Mapping[str, Deed | None] = MappingProxyType({}),
    **methods: Any,
) -> Route:
    """Serve an address by functions, one a method; `reads`: its POST changes nothing. `deeds`: see
    `Permitted`."""
    members: dict[str, Any] = {name: staticmethod(method) for name, method in methods.items()}
    members["post_only_reads"] = reads
    members["thread_deeds"] = {**({"POST": "read"} if reads else {}), **deeds}
    endpoint = type("Endpoint", (HTTPEndpoint,), members)
    return Route(f"/langgraph{path}", endpoint, middleware=_LAYERS)


ROUTES = (
    _route("/info", get=info),
    _route("/ok", get=ok),
    _route("/assistants", post=create_assistant),
    _route("/assistants/search", post=search_assistants, reads=True),
    _route("/assistants/count", post=count_assistants, reads=True),
    _route(
        "/assistants/{assistant_id}",
        get=get_assistant,
        patch=update_assistant,
        delete=delete_assistant,
    ),
    _route("/assistants/{assistant_id}/versions", post=list_versions, reads=True),
    _route("/assistants/{assistant_id}/latest", post=set_latest),
    _route("/assistants/{assistant_id}/graph", get=get_graph),
    _route("/assistants/{assistant_id}/schemas", get=get_schemas),
    _route("/assistants/{assistant_id}/subgraphs", get=list_subgraphs),
    _route("/assistants/{assistant_id}/subgraphs/{namespace}", get=get_subgraph),
    _route("/threads", post=create_thread),
    _route("/threads/search", post=search_threads, reads=True),
    _route("/threads/prune", post=prune_threads),
    _route("/threads/{thread_id}/copy", post=copy_thread, deeds={"POST": "read"}),
    _route("/threads/count", post=count_threads, reads=True),
    _route(
        "/threads/{thread_id}",
        get=get_thread,
        patch=update_thread,
        delete=delete_thread,
        deeds={"PATCH": None},
    ),
    _route("/threads/{thread_id}/state", get=get_state, post=update_state),
    _route("/threads/{thread_id}/state/checkpoint", post=get_state_of_checkpoint, reads=True),
    _route("/threads/{thread_id}/state/{checkpoint_id}", get=get_state_at),
    _route("/threads/{thread_id}/storage", get=get_storage),
    _route("/threads/{thread_id}/stream", get=join_thread),
    _route("/threads/{thread_id}/history", get=list_history, post=get_history, reads=True),
    _route("/store/items", get=get_item, put=put_item, delete=delete_item),
    _route("/store/items/search", post=search_items, reads=True),
    _route("/store/namespaces", post=list_namespaces, reads=True),
    _route("/runs", post=create_stateless_run),
    _route("/runs/batch", post=create_runs),
    _route("/runs/cancel", post=cancel_runs),
    _route("/runs/stream", post=stream_stateless_run),
    _route("/runs/wait", post=wait_for_stateless_run),
    _route("/runs/crons", post=create_cron),
    _route("/runs/crons/search", post=search_crons),
    _route("/runs/crons/count", post=count_crons),
    _route("/runs/crons/{cron_id}", get=get_cron, patch=update_cron, delete=delete_cron),
    _route("/threads/{thread_id}/runs/crons", post=create_cron_of_thread, deeds=_STARTS),
    _route("/threads/{thread_id}/runs", get=list_runs, post=create_run, deeds=_STARTS),
    _route("/threads/{thread_id}/runs/stream", post=stream_run, deeds=_STARTS),
    _route("/threads/{thread_id}/runs/wait", post=wait_for_run, deeds=_STARTS),
    _route("/threads/{thread_id}/runs/{run_id}", get=get_run, delete=delete_run),
    _route("/threads/{thread_id}/runs/{run_id}/join", get=await_run),
    _route("/threads/{thread_id}/runs/{run_id}/stream", get=join_run),
    _route("/threads/{thread_id}/runs/{run_id}/cancel", post=cancel_run, deeds={"POST": "stop"}),
)
