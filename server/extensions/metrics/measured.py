"""Metrics of requests: how soon answers begin, how much is sent, what is refused."""

from time import monotonic

from prometheus_client import Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnstream.server.extensions.metrics.metrics import Metrics
from turnstream.server.extensions.requests import first_step, method_name, route_template
from turnstream.server.http.problems import PROBLEM
from turnstream.server.http.readers import TRANSPORT

EVENT_STREAM = b"text/event-stream"


class Measured:
    """ASGI middleware around all others."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._streams: set[Answer] = set()
        metrics.open_streams.set_function(lambda: len(self._streams))
        metrics.waiting_bytes.set_function(self._waiting_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = Answer(self._metrics, self._streams, scope, send)
        try:
            await self._app(scope, receive, answer.send)
        finally:
            self._streams.discard(answer)

    def _waiting_bytes(self) -> int:
        """Asked for on the thread of a scrape: hence the copy."""
        transports = [answer.transport for answer in self._streams.copy()]
        return sum(each.get_write_buffer_size() for each in transports if each)


class Answer:
    """The answer to one request, as it is sent."""

    def __init__(self, metrics: Metrics, streams: "set[Answer]", scope: Scope, send: Send) -> None:
        self.transport = scope.get("state", {}).get(TRANSPORT)
        self._metrics = metrics
        self._streams = streams
        self._scope = scope
        self._send = send
        self._asked = monotonic()
        self._awaits_chunk = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            self._metrics.sent_bytes.inc(len(message.get("body", b"")))
            if self._awaits_chunk:
                self._awaits_chunk = False
                self._observe(self._metrics.first_chunk)
        elif message["type"] == "http.response.start":
            self._begun(message)
        await self._send(message)

    def _begun(self, message: Message) -> None:
        self._observe(self._metrics.headers)
        self._metrics.requests.labels(*self._labels(), str(message["status"])).inc()
        problem = self._scope.get(PROBLEM, {})
        if "code" in problem:
            self._metrics.problems.labels(problem["code"]).inc()
        if "limit" in problem:
            self._metrics.request_limits.labels(problem["limit"].lower()).inc()
        kind = dict(message.get("headers", ())).get(b"content-type", b"")
        if kind.startswith(EVENT_STREAM):
            self._awaits_chunk = True
            self._streams.add(self)

    def _observe(self, histogram: Histogram) -> None:
        histogram.labels(*self._labels()).observe(monotonic() - self._asked)

    def _labels(self) -> tuple[str, str]:
        template = route_template(self._scope)
        return method_name(self._scope), first_step(template) if template else "none"
