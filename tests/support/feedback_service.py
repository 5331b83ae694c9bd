"""LangSmith and Langfuse, as far as traces and feedback go: a real HTTP server that keeps what it
is sent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.collector import Collector
from tests.support.endpoint.serving import serve

PROJECT_ID = "11111111-1111-4111-8111-111111111111"


@dataclass
class FeedbackService:
    url: str = ""
    traces: Collector = field(default_factory=Collector)
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By their ids, as they are now."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of each request about scores, those that fail too."""
    credentials: set[str] = field(default_factory=set)
    failing: int = 0
    """How many of the next requests about scores fail."""
    hangs: bool = False
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    takes_lists: bool = True
    """False: it is a Langfuse of an earlier version."""

    async def feedback(self, request: Request) -> Response:
        """LangSmith's /feedback and /feedback/{id}."""
        if refused := await self._refused(request, "x-api-key"):
            return refused
        body = await _json(request)
        if request.method == "POST":
            if body["id"] in self.scores:
                return JSONResponse({"detail": "it exists"}, 409)
            self.scores[body["id"]] = body
            return JSONResponse(body)
        id: str = request.path_params["id"]
        if id not in self.scores:
            return JSONResponse({"detail": "Feedback not found"}, 404)
        if request.method == "DELETE":
            del self.scores[id]
        else:
            self.scores[id] |= body
        return JSONResponse({})

    async def sessions(self, request: Request) -> Response:
        assert request.query_params["name"] == "default"
        return JSONResponse([{"id": PROJECT_ID}])

    async def score(self, request: Request) -> Response:
        """Langfuse's /api/public/scores and /api/public/scores/{id}."""
        if refused := await self._refused(request, "authorization"):
            return refused
        if request.method == "DELETE":
            known = self.scores.pop(request.path_params["id"], None)
            return JSONResponse({}, 404 if known is None else 200)
        body = await request.json()
        if isinstance(body, list) and not self.takes_lists:
            return JSONResponse({"message": "Invalid request data"}, 400)
        for one in body if isinstance(body, list) else [body]:
            earlier = self.scores.setdefault(one["id"], one)
            # Another timestamp would be another score.
            assert one["timestamp"] == earlier["timestamp"]
            self.scores[one["id"]] = one
        return JSONResponse({"accepted": 1, "rejected": 0, "errors": []}, 202)

    async def _refused(self, request: Request, header: str) -> Response | None:
        self.asked.append((request.method, request.url.path))
        self.credentials.add(request.headers[header])
        if self.hangs:
            await self.closing.wait()
        if self.failing:
            self.failing -= 1
            return Response(status_code=503)
        return None


async def _json(request: Request) -> Any:
    return {} if request.method == "DELETE" else await request.json()


@asynccontextmanager
async def feedback_service() -> AsyncIterator[FeedbackService]:
    service = FeedbackService()
    written = ["POST", "PATCH", "DELETE"]
    routes = [
        Route("/feedback", service.feedback, methods=written),
        Route("/feedback/{id}", service.feedback, methods=written),
        Route("/sessions", service.sessions),
        Route("/api/public/scores", service.score, methods=written),
        Route("/api/public/scores/{id}", service.score, methods=written),
        Route("/{path:path}", service.traces.take, methods=["GET", "POST", "PATCH"]),
    ]
    async with serve(Starlette(routes=routes), 0, keep_alive=True) as port:
        service.url = f"http://127.0.0.1:{port}"
        try:
            yield service
        finally:
            service.closing.set()
