"""A collector of traces: a real HTTP server that takes what exporters send it."""

import gzip
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.endpoint.serving import serve

Attributes = dict[str, Any]

# LangSmith sends each run in parts, https://api.smith.langchain.com/redoc#tag/run: this is the one
# that has its name and its place.
RUN = re.compile(
    rb'name="(?:post|patch)\.[0-9a-f-]{36}"\r\n.{0,200}?\r\n\r\n(\{.*?\})\r\n--', re.DOTALL
)


def attributes(span: Span) -> Attributes:
    """Of OTLP's typed values the plain ones."""
    return {each.key: _plain(each.value) for each in span.attributes}


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(each) for each in value.array_value.values]
    return getattr(value, kind)


@dataclass
class Collector:
    """What has come so far."""

    url: str = ""
    spans: list[Span] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    """Of all requests, not compressed."""
    posted: list[tuple[str, bytes]] = field(default_factory=list)
    """Path and body of what is no OTLP."""

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def below(self, parent: Span) -> Sequence[Span]:
        """In the order of their beginning."""
        children = [span for span in self.spans if span.parent_span_id == parent.span_id]
        return sorted(children, key=lambda span: span.start_time_unix_nano)

    async def take(self, request: Request) -> Response:
        body = await request.body()
        if request.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        self.bodies.append(body)
        if request.headers.get("content-type") == "application/x-protobuf":
            self._take_spans(body)
            return Response(media_type="application/x-protobuf")
        self.posted.append((request.url.path, body))
        return Response(b"{}", 202, media_type="application/json")

    def _take_spans(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)


def langsmith_runs(found: Collector) -> dict[str, dict[str, Any]]:
    """LangSmith's runs, by their ids."""
    bodies = b"".join(body for path, body in found.posted if path == "/runs/multipart")
    sent = [json.loads(run) for run in RUN.findall(bodies)]
    known: dict[str, dict[str, Any]] = {}
    for run in sent:
        known[run["id"]] = known.get(run["id"], {}) | run
    return known


@asynccontextmanager
async def collector() -> AsyncIterator[Collector]:
    found = Collector()
    app = Starlette(routes=[Route("/{path:path}", found.take, methods=["GET", "POST", "PATCH"])])
    async with serve(app, 0, keep_alive=True) as port:
        found.url = f"http://127.0.0.1:{port}"
        yield found
