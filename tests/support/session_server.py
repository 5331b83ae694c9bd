"""An MCP server of the handshake's age at an address: it gives out sessions, and knows no others.

https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#session-management
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

TOOL = {"name": "ping", "description": "Answers.", "inputSchema": {"type": "object"}}


@dataclass(frozen=True)
class Refusal:
    """An answer to a request: JSON, text, or nothing."""

    status: int
    body: Mapping[str, Any] | str = ""

    def response(self) -> Response:
        if isinstance(self.body, str):
            return Response(self.body, self.status)
        return JSONResponse(self.body, self.status)


class SessionServer:
    """`forget` is what a restart does to its sessions; `unknown` answers those who come with one
    that it does not know. While `refused` is set it answers calls."""

    def __init__(
        self, tools: Sequence[dict[str, Any]] = (TOOL,), unknown: Refusal = Refusal(404)
    ) -> None:
        self.opened = 0
        self.asked = self.called = 0
        """Calls that came, and those that ran."""
        self.refused: Refusal | None = None
        self._tools, self._unknown = tools, unknown
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
        self.asked += asked["method"] == "tools/call"
        if "mcp-session-id" not in request.headers:
            return Response(status_code=400)
        if request.headers["mcp-session-id"] not in self._known:
            return self._unknown.response()
        if "id" not in asked:
            return Response(status_code=202)
        if asked["method"] == "tools/list":
            return _result(asked, {"tools": [*self._tools]})
        if self.refused is not None:
            return self.refused.response()
        self.called += 1
        return _result(asked, {"content": [{"type": "text", "text": "pong"}]})

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
