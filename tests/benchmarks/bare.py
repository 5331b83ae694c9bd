"""The yardstick: the least that serves a LangGraph graph to a browser.

A graph as the documentation writes it (messages, a model call, ToolNode), a loop over its
`astream`, one `data:` line a token. The same checkpointer, tools, Starlette and uvicorn as the
server, and LangChain's model client as it comes; no runs, no replay, no parts, no checks.
"""

import argparse
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import aiosqlite
import uvicorn
from langchain_core.messages import AIMessageChunk
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from tools.builtin import CATALOGUE


def bare_app(database: str) -> Starlette:
    # Its watchdog over the chunks is off: it doubles what a chunk costs.
    model = ChatOpenAI(model="scripted", stream_usage=True, stream_chunk_timeout=0)
    bound = model.bind_tools(list(CATALOGUE.real))

    async def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(list(CATALOGUE.real)))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with aiosqlite.connect(database) as connection:
            app.state.graph = builder.compile(checkpointer=AsyncSqliteSaver(connection))
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
    parser.add_argument("--database", required=True)
    arguments = parser.parse_args()
    app = bare_app(arguments.database)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        print(f"bare on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        config = uvicorn.Config(
            app, access_log=False, log_level="warning", http="h11", loop="asyncio"
        )
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
