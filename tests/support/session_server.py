"""An MCP server of the handshake's age at an address: it gives out sessions, and knows no others.

https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#session-management
"""

from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

TOOL = {"name": "ping", "description": "Answers.", "inputSchema": {"type": "object"}}


class SessionServer:
    """`forget` is what a restart does to its sessions."""

    def __init__(self, tools: Sequence[dict[str, Any]] = (TOOL,)) -> None:
        self.opened = 0
        self._tools = tools
        self._known: set[str] = set()
        self.app = Starlette(
            routes=[Route("/mcp", self._answer, methods=["GET", "POST", "DELETE"])]
        )

    def forget(self) -> None:
        self._known.clear()

    async def _answer(self, request: Request) -> Response:
        if request.method != "POST":
            return Response(status_code=405)
        asked = await request.json()
        if asked["method"] == "initialize":
            return self._open(asked)
        if request.headers.get("mcp-session-id") not in self._known:
            return Response(status_code=404 if "mcp-session-id" in request.headers else 400)
        if "id" not in asked:
            return Response(status_code=202)
        listed = {"tools": [*self._tools]}
        said = {"content": [{"type": "text", "text": "pong"}]}
        return _result(asked, listed if asked["method"] == "tools/list" else said)

    def _open(self, asked: dict[str, Any]) -> Response:
        self.opened += 1
        session = f"s{self.opened}"
        self._known.add(session)
        result = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"},
        }
        return _result(asked, result, {"mcp-session-id": session})


def _result(
    asked: dict[str, Any], result: dict[str, Any], headers: dict[str, str] | None = None
) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": asked["id"], "result": result}, headers=headers)
