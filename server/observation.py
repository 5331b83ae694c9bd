"""Wires metrics and traces, if the settings switch them on; imports nothing for them otherwise."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from starlette.middleware import Middleware

from server.runs.lives import Observer
from server.runs.runs import Runs
from server.settings import Settings
from server.storage.opened import Storage

if TYPE_CHECKING:
    from server.metrics.metrics import Metrics


@dataclass(frozen=True)
class Observation:
    """What goes around the whole application, and what sees each run."""

    middleware: tuple[Middleware, ...]
    observers: tuple[Observer, ...]
    metrics: "Metrics | None"


def observation(settings: Settings) -> Observation:
    """Raises MetricsSetupError, TracesSetupError."""
    middleware: list[Middleware] = []
    observers: list[Observer] = []
    metrics = None
    if settings.metrics_port is not None:
        from server.metrics.measured import Measured
        from server.metrics.metrics import Metrics

        metrics = Metrics()
        middleware.append(Middleware(Measured, metrics=metrics))
        observers.append(partial(partial, metrics.run_ended))
    if settings.traces:
        from server.traces.requests import TracedRequests
        from server.traces.traces import Traces

        middleware.append(Middleware(TracedRequests))
        observers.append(Traces().run_begins)
    return Observation(tuple(middleware), tuple(observers), metrics)


@asynccontextmanager
async def serving_metrics(
    metrics: "Metrics | None",
    settings: Settings,
    runs: Runs,
    storage: Storage,
) -> AsyncIterator[None]:
    """Raises MetricsSetupError."""
    if metrics is None or settings.metrics_port is None:
        yield
        return
    from server.metrics.endpoint import serve_metrics

    metrics.live_runs.set_function(lambda: runs.live)
    metrics.watch_writes("thread_list", storage.store.meter)
    metrics.watch_writes("checkpoints", storage.checkpointer.meter)
    async with serve_metrics(metrics, settings.metrics_host, settings.metrics_port):
        yield
