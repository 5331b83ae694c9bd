"""The yardstick: the least that serves a LangGraph graph to a browser, as a user runs it.

A loop over the graph's `astream`, one `data:` line a token; the checkpointer of the server, on
uvicorn with uvloop and httptools. No runs, no replay, no parts, no checks.
"""

import argparse
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any
from uuid import uuid4

import aiosqlite
import uvicorn
from langchain_core.messages import AIMessageChunk
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import StateGraph
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route


def bare_app(graph: StateGraph[Any, Any, Any, Any], database: str) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with aiosqlite.connect(database) as connection:
            app.state.graph = graph.compile(checkpointer=AsyncSqliteSaver(connection))
            yield

    async def chat(request: Request) -> StreamingResponse:
        body = await request.json()
        graph = request.app.state.graph

        async def events() -> AsyncIterator[bytes]:
            stream = graph.astream(
                {"messages": [{"role": "user", "content": body["message"]}]},
                {"configurable": {"thread_id": uuid4().hex}},
                stream_mode="messages",
            )
            async for message, _ in stream:
                if isinstance(message, AIMessageChunk) and message.content:
                    yield f"data: {json.dumps({'text': message.content})}\n\n".encode()
            yield b"data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    return Starlette(routes=[Route("/chat", chat, methods=["POST"])], lifespan=lifespan)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--graph", required=True, help="a module with a `graph`")
    parser.add_argument("--database", required=True)
    arguments = parser.parse_args()
    app = bare_app(import_module(arguments.graph).graph, arguments.database)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        print(f"bare on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        config = uvicorn.Config(
            app, access_log=False, log_level="warning", http="httptools", loop="uvloop"
        )
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
