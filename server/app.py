"""create_app(settings, catalogue) -> Starlette: routes and lifespan, nothing else."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from graphs.models import chat_model
from graphs.own import build_function, checked
from server import info
from server.chat import Chat
from server.guard import Guard
from server.problems import HANDLERS
from server.protocols import Limits
from server.runs.checkpoints import Checkpoints
from server.runs.crash import settle_lost_runs
from server.runs.registry import Runs
from server.settings import Settings
from server.static import static_files
from server.storage import BUSY_TIMEOUT_MS, committed, open_saver
from server.store import open_store
from server.streams import Streams
from server.threads import Threads
from server.tool_calls import ToolCalls
from tools import CATALOGUE
from tools.catalogue import Catalogue
from tools.remote import with_remote_tools

STATIC = Path(__file__).parent.parent / "static"
EXPOSED_HEADERS = ("X-Thread-Id", "X-Run-Id", "X-Message-Id", "Location")


def create_app(
    settings: Settings, catalogue: Catalogue = CATALOGUE, model: BaseChatModel | None = None
) -> Starlette:
    """The whole server, on the model that the settings name if none is given.

    Raises GraphError if the setting names no graph that can be served; so does its lifespan, and
    StorageError if the database cannot be opened.
    """
    build = build_function(settings.graph)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with (
            open_saver(settings.database) as saver,
            open_store(settings.database, BUSY_TIMEOUT_MS) as store,
            with_remote_tools(
                catalogue,
                settings.remote_tools,
                timeout_seconds=settings.tool_timeout_seconds,
                max_bytes=settings.max_result_bytes,
            ) as tools,
        ):
            graph = build(
                model or _model(settings),
                tools,
                checkpointer=saver,
                limits=settings.limits,
                system_prompt=settings.system_prompt,
            )
            checked(settings.graph, graph, saver)
            checkpoints = Checkpoints(graph, saver, partial(committed, saver))
            await settle_lost_runs(store, checkpoints)
            app.state.runs = runs = Runs(
                checkpoints,
                tools,
                store,
                max_run_seconds=settings.max_run_seconds,
                retention_seconds=settings.run_retention_seconds,
                unread_seconds=settings.unread_seconds,
            )
            app.state.chat = Chat(
                runs=runs,
                store=store,
                streams=Streams(settings.ping_seconds),
                awaits_client=tools.awaits_client,
                limits=Limits(max_message_chars=settings.max_message_chars),
                max_body_bytes=settings.max_body_bytes,
            )
            app.state.threads = Threads(runs, store, tools.awaits_client, settings.max_body_bytes)
            app.state.tool_calls = ToolCalls(tools, settings.limits, settings.max_body_bytes)
            try:
                yield
            finally:
                await runs.drain(0)

    app = Starlette(
        routes=[
            Route("/chat", _to_chat(Chat.post), methods=["POST"]),
            Route("/chat/{thread_id}/stream", _to_chat(Chat.stream), methods=["GET"]),
            Route("/chat/{thread_id}/stop", _to_chat(Chat.stop), methods=["POST"]),
            Route("/threads", _to_threads(Threads.page), methods=["GET"]),
            Route("/threads/{thread_id}", _one_thread, methods=list(_ONE_THREAD)),
            Route("/tools", _to_tools(ToolCalls.describe), methods=["GET"]),
            Route("/tools/{name}", _to_tools(ToolCalls.call), methods=["POST"]),
            Route("/health", info.health(settings.model_name)),
        ],
        middleware=[
            Middleware(
                Guard,
                allowed_hosts=settings.allowed_hosts,
                allowed_origins=settings.allowed_origins,
            ),
            Middleware(
                CORSMiddleware,
                allow_origins=settings.allowed_origins,
                allow_methods=["GET", "POST", "PATCH", "DELETE"],
                allow_headers=["*"],
                expose_headers=EXPOSED_HEADERS,
            ),
        ],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    # Not a mount: that would take a known address with another method for a file, and say 404.
    app.router.default = static_files(STATIC)
    return app


def _model(settings: Settings) -> BaseChatModel:
    return chat_model(
        settings.model_name,
        api_key=settings.openai_api_key,
        base_url=settings.openai_base_url,
        word_seconds=settings.offline_word_seconds,
    )


Endpoint = Callable[[Request], Awaitable[Response]]


def _to(name: str, method: Callable[[Any, Request], Awaitable[Response]]) -> Endpoint:
    """A method of what the lifespan made, as an endpoint."""

    async def endpoint(request: Request) -> Response:
        return await method(getattr(request.app.state, name), request)

    return endpoint


_to_chat = partial(_to, "chat")
_to_threads = partial(_to, "threads")
_to_tools = partial(_to, "tool_calls")

_ONE_THREAD = {
    "GET": _to_threads(Threads.one),
    "HEAD": _to_threads(Threads.one),
    "PATCH": _to_threads(Threads.rename),
    "DELETE": _to_threads(Threads.delete),
}


async def _one_thread(request: Request) -> Response:
    """One route for all methods of the address, so that a 405 names them all."""
    return await _ONE_THREAD[request.method](request)
