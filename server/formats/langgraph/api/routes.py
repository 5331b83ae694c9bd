"""LangGraph SDK: which endpoint answers where under `/langgraph`."""

from starlette.middleware import Middleware
from starlette.routing import Route

from turnstream.server.formats.langgraph.api import assistants, runs, threads
from turnstream.server.http.authenticated import Authenticated
from turnstream.server.http.permitted import Permitted

_LAYERS = [Middleware(one) for one in (assistants.ApiKeyHeader, Authenticated, Permitted)]
_ENDPOINTS = {
    "info": assistants.Info,
    "assistants/search": assistants.AssistantSearch,
    "assistants/{assistant_id}": assistants.Assistant,
    "threads": threads.Threads,
    "threads/search": threads.ThreadSearch,
    "threads/{thread_id}": threads.Thread,
    "threads/{thread_id}/state": threads.ThreadState,
    "threads/{thread_id}/state/{checkpoint_id}": threads.ThreadStateAt,
    "threads/{thread_id}/history": threads.ThreadHistory,
    "threads/{thread_id}/runs": runs.Runs,
    "threads/{thread_id}/runs/stream": runs.RunsStream,
    "threads/{thread_id}/runs/{run_id}": runs.Run,
    "threads/{thread_id}/runs/{run_id}/stream": runs.RunStream,
    "threads/{thread_id}/runs/{run_id}/cancel": runs.RunCancel,
}

ROUTES = tuple(
    Route(f"/langgraph/{path}", endpoint, middleware=_LAYERS)
    for path, endpoint in _ENDPOINTS.items()
)
