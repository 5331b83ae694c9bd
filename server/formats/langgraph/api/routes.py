"""LangGraph SDK: which endpoint answers where under `/langgraph`."""

from starlette.middleware import Middleware
from starlette.routing import Route

from turnstream.server.formats.langgraph.api.assistants import (
    ApiKeyHeader,
    Assistant,
    AssistantSearch,
    Info,
)
from turnstream.server.formats.langgraph.api.runs import Run, RunCancel, Runs, RunsStream, RunStream
from turnstream.server.formats.langgraph.api.threads import (
    Thread,
    ThreadHistory,
    Threads,
    ThreadSearch,
    ThreadState,
    ThreadStateAt,
)
from turnstream.server.http.authenticated import Authenticated
from turnstream.server.http.permitted import Permitted

_THREAD = "/langgraph/threads/{thread_id}"

ROUTES = tuple(
    Route(
        path,
        endpoint,
        middleware=[Middleware(ApiKeyHeader), Middleware(Authenticated), Middleware(Permitted)],
    )
    for path, endpoint in (
        ("/langgraph/info", Info),
        ("/langgraph/assistants/search", AssistantSearch),
        ("/langgraph/assistants/{assistant_id}", Assistant),
        ("/langgraph/threads", Threads),
        ("/langgraph/threads/search", ThreadSearch),
        (_THREAD, Thread),
        (f"{_THREAD}/state", ThreadState),
        (f"{_THREAD}/state/{{checkpoint_id}}", ThreadStateAt),
        (f"{_THREAD}/history", ThreadHistory),
        (f"{_THREAD}/runs", Runs),
        (f"{_THREAD}/runs/stream", RunsStream),
        (f"{_THREAD}/runs/{{run_id}}", Run),
        (f"{_THREAD}/runs/{{run_id}}/stream", RunStream),
        (f"{_THREAD}/runs/{{run_id}}/cancel", RunCancel),
    )
)
