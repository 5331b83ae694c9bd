"""Which request a run belongs to, as the caller names it."""

from opentelemetry import context, propagate, trace
from starlette.types import ASGIApp, Receive, Scope, Send


class TracedRequests:
    """ASGI middleware: a request's `traceparent` is current while it is handled, unless a span of
    the operator's own middleware is. Read by the propagators that the process has; without further
    setup these are of W3C Trace Context."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or trace.get_current_span().get_span_context().is_valid:
            await self._app(scope, receive, send)
            return
        fields = propagate.get_global_textmap().fields
        named = {
            name: value.decode("latin-1")
            for raw, value in scope["headers"]
            if (name := raw.decode("latin-1")) in fields
        }
        if not named:
            await self._app(scope, receive, send)
            return
        token = context.attach(propagate.extract(named))
        try:
            await self._app(scope, receive, send)
        finally:
            context.detach(token)
