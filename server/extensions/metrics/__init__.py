"""GET /metrics for Prometheus, on a port of its own."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from pydantic import Field
from pydantic_settings import BaseSettings
from starlette.middleware import Middleware

from turnstream.server.extensions.base import (
    EXTENSION_API,
    Extension,
    ExtensionError,
    Opened,
    Watch,
    WatchedRun,
)
from turnstream.server.settings import Settings
from turnstream.server.turns.chunks import Chunk, Done


class MetricsSettings(BaseSettings):
    metrics_port: int | None = Field(
        None, ge=0, le=65535, description="port of GET /metrics, for Prometheus; unset: none"
    )
    metrics_host: str = Field(
        "127.0.0.1", min_length=1, description="address that the metrics are served on"
    )


class AllSettings(Settings, MetricsSettings):
    """The settings that the metrics read."""


class MetricsExtension(Extension):
    name = "metrics"
    api = EXTENSION_API
    order = 10
    settings = MetricsSettings

    def __init__(self, settings: AllSettings) -> None:
        try:
            from turnstream.server.extensions.metrics.metrics import Metrics
        except ModuleNotFoundError:
            raise ExtensionError(
                "TURNSTREAM_METRICS_PORT needs a package that is not installed: pip install "
                "prometheus-client (the extra metrics)."
            ) from None
        self._settings = settings
        self._metrics = Metrics()

    @staticmethod
    def is_on(settings: MetricsSettings) -> bool:
        return settings.metrics_port is not None

    def middleware(self) -> Sequence[Middleware]:
        from turnstream.server.extensions.metrics.measured import Measured

        return [Middleware(Measured, metrics=self._metrics)]

    @asynccontextmanager
    async def open(self, opened: Opened) -> AsyncIterator[None]:
        from turnstream.server.extensions.metrics.endpoint import serve_metrics

        settings = self._settings
        assert settings.metrics_port is not None
        self._metrics.watch(opened)
        host, port = settings.metrics_host, settings.metrics_port
        async with serve_metrics(self._metrics, host, port, settings.allowed_hosts):
            yield

    def watch(self, run: WatchedRun) -> Watch:
        said: list[Chunk] = []

        async def count(chunks: Sequence[Chunk]) -> None:
            said.extend(chunks)
            if isinstance(chunks[-1], Done):
                self._metrics.run_ended(run, said)

        return count
