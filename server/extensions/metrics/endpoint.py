"""The metrics on a port of their own, and what is measured beside requests and runs."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING

from prometheus_client import start_http_server

from turnstream.server.extensions.base import ExtensionError
from turnstream.server.extensions.metrics.metrics import Metrics
from turnstream.server.http.guard import is_allowed_host

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

WATCH_EVERY_SECONDS = 0.25

logger = logging.getLogger("turnstream")


@asynccontextmanager
async def serve_metrics(
    metrics: Metrics, host: str, port: int, allowed_hosts: Sequence[str]
) -> AsyncIterator[int]:
    """Serve `GET /metrics` on a thread of its own: a scrape holds up no stream. Gives the port; 0
    takes a free one. Raises ExtensionError."""
    try:
        server, thread = start_http_server(port, host, metrics.registry)
        app = server.get_app()
        assert app is not None, "it was made with one"
        server.set_app(_for_hosts([host, *allowed_hosts], app))
    except (OSError, OverflowError) as error:
        raise ExtensionError(
            f"metrics cannot be served on {host}:{port}: {error}. Choose another with "
            "TURNSTREAM_METRICS_PORT (0: a free one) or TURNSTREAM_METRICS_HOST."
        ) from None
    watch = asyncio.create_task(_watch_loop(metrics), name="metrics, the loop")
    named = f"[{host}]" if ":" in host else host
    # Without a scheme: the first URL of the log is the server's own.
    place = {"place": f"{named}:{server.server_port}"}
    logger.info("metrics: GET /metrics on %(place)s", place)
    try:
        yield server.server_port
    finally:
        watch.cancel()
        await asyncio.to_thread(server.shutdown)
        server.server_close()
        thread.join()


def _for_hosts(allowed: Sequence[str], app: "WSGIApplication") -> "WSGIApplication":
    """Refuse a request to another host name, under which a page of another site may read the
    metrics. Prometheus often knows a server by its IP address, which no such page has."""

    def checked(environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        host = environ.get("HTTP_HOST", "")
        if not host or _is_address(host) or is_allowed_host(host, allowed):
            return app(environ, start)
        start("403 Forbidden", [("Content-Type", "text/plain; charset=utf-8")])
        sentence = f"Metrics are not served to the host {host[:100]!r}. "
        return [f"{sentence}Add its name to TURNSTREAM_ALLOWED_HOSTS.\n".encode()]

    return checked


def _is_address(host: str) -> bool:
    """Return True for an IP address, with or without a port."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


async def _watch_loop(metrics: Metrics) -> None:
    clock = asyncio.get_running_loop().time
    while True:
        metrics.tasks.set(len(asyncio.all_tasks()))
        due = clock() + WATCH_EVERY_SECONDS
        await asyncio.sleep(WATCH_EVERY_SECONDS)
        metrics.lag.observe(max(0.0, clock() - due))
