"""An MCP server for tests: `python -m tests.support.mcp_server [PORT]`, over stdio without one."""

import asyncio
import os
import sys
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp_types import ToolAnnotations

server = MCPServer("test")
calls: list[None] = []


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def count() -> int:
    """How often this process was asked."""
    calls.append(None)
    return len(calls)


@server.tool()
def weather(city: str) -> dict[str, Any]:
    """What the weather is."""
    return {"city": city, "degrees": 21, "station": "private"}


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def erase(name: str) -> str:
    """Erase something."""
    return f"{name} is gone"


@server.tool()
def boom() -> str:
    """Fails with words that are nobody's business."""
    raise ValueError("secret sk-123 failed")


@server.tool()
async def hang(mark: str) -> str:
    """Never answers; writes into two files that it began, and that it was cancelled."""
    _write(f"{mark}.began")
    try:
        await asyncio.Event().wait()
    finally:
        _write(f"{mark}.cancelled")
    return "never"


def _write(path: str) -> None:
    with open(path, "w") as file:
        file.write("yes")


@server.tool()
def die() -> str:
    """Ends the process in mid-call."""
    os._exit(1)


@server.tool()
def large(size: int) -> str:
    """Much text."""
    return "x" * size


@server.tool()
def picture() -> Image:
    """An image."""
    return Image(data=b"\x89PNG" + bytes(8), format="png")


@server.tool(name="odd name!")
def odd() -> str:
    """Has a name that no provider takes."""
    return "odd"


@server.tool()
async def steps(config: str, ctx: Context) -> str:
    """Tells how far it is; its argument is called as something of LangChain's is."""
    await ctx.report_progress(1, 2, f"half of {config}")
    return config


@server.tool()
async def who(ctx: Context) -> dict[str, Any]:
    """Who calls, as the headers say, and in which process."""
    headers = ctx.headers or {}
    return {"user": headers.get("x-user"), "session": headers.get("mcp-session-id")}


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    """Adds a tool, and says so."""
    server.add_tool(add, name=name)
    await ctx.notify_tools_changed()
    return name


@server.tool()
async def shrink(name: str, ctx: Context) -> str:
    """Takes a tool away, and says so."""
    server.remove_tool(name)
    await ctx.notify_tools_changed()
    return name


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
