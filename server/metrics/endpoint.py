"""The metrics on a port of their own, and what is measured beside requests and runs."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prometheus_client import start_http_server

from server.metrics import MetricsSetupError
from server.metrics.metrics import Metrics

WATCH_EVERY_SECONDS = 0.25

logger = logging.getLogger("turnstream")


@asynccontextmanager
async def serve_metrics(metrics: Metrics, host: str, port: int) -> AsyncIterator[int]:
    """`GET /metrics` on a thread of its own: a scrape holds up no stream. Gives the port, 0 takes a
    free one. Raises MetricsSetupError."""
    try:
        server, thread = start_http_server(port, host, metrics.registry)
    except (OSError, OverflowError) as error:
        raise MetricsSetupError(
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


async def _watch_loop(metrics: Metrics) -> None:
    clock = asyncio.get_running_loop().time
    while True:
        metrics.tasks.set(len(asyncio.all_tasks()))
        due = clock() + WATCH_EVERY_SECONDS
        await asyncio.sleep(WATCH_EVERY_SECONDS)
        metrics.lag.observe(max(0.0, clock() - due))
