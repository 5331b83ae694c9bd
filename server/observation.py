"""Wires what sees the runs: metrics, traces and titles, if the settings switch them on; imports
nothing for them otherwise."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from starlette.middleware import Middleware

from turnstream.server.graph_resources import open_title_model
from turnstream.server.runs.lives import Observer
from turnstream.server.runs.runs import Runs
from turnstream.server.settings import Settings
from turnstream.server.storage.opened import Storage

if TYPE_CHECKING:
    from turnstream.server.metrics.metrics import Metrics
    from turnstream.server.runs.titles import Titles


@dataclass(frozen=True)
class Observation:
    """What goes around the whole application, and what sees each run."""

    middleware: tuple[Middleware, ...]
    observers: tuple[Observer, ...]
    metrics: "Metrics | None"
    titles: "Titles | None"


def observation(settings: Settings) -> Observation:
    """Raises MetricsSetupError, TracesSetupError."""
    middleware: list[Middleware] = []
    observers: list[Observer] = []
    metrics = titles = None
    if settings.metrics_port is not None:
        from turnstream.server.metrics.measured import Measured
        from turnstream.server.metrics.metrics import Metrics

        metrics = Metrics()
        middleware.append(Middleware(Measured, metrics=metrics))
        observers.append(partial(partial, metrics.run_ended))
    if settings.traces:
        from turnstream.server.traces.requests import TracedRequests
        from turnstream.server.traces.traces import Traces

        middleware.append(Middleware(TracedRequests))
        observers.append(Traces().run_begins)
    if settings.title_model:
        from turnstream.server.runs.titles import Titles

        titles = Titles()
        observers.append(titles.run_begins)
    return Observation(tuple(middleware), tuple(observers), metrics, titles)


@asynccontextmanager
async def observing(
    observed: Observation, settings: Settings, runs: Runs, storage: Storage
) -> AsyncIterator[None]:
    """Raises MetricsSetupError, ModelSetupError."""
    async with AsyncExitStack() as stack:
        if observed.titles:
            model = await stack.enter_async_context(open_title_model(settings))
            await stack.enter_async_context(observed.titles.open(model, storage.store))
        if observed.metrics:
            await stack.enter_async_context(_serving(observed.metrics, settings, runs, storage))
        yield


@asynccontextmanager
async def _serving(
    metrics: "Metrics", settings: Settings, runs: Runs, storage: Storage
) -> AsyncIterator[None]:
    from turnstream.server.metrics.endpoint import serve_metrics

    assert settings.metrics_port is not None
    metrics.live_runs.set_function(lambda: runs.live)
    metrics.oldest_claim.set_function(lambda: runs.oldest_claim_seconds)
    metrics.watch_writes("thread_list", storage.store.meter)
    metrics.watch_writes("checkpoints", storage.checkpointer.meter)
    host, port = settings.metrics_host, settings.metrics_port
    async with serve_metrics(metrics, host, port, settings.allowed_hosts):
        yield
