"""OpenTelemetry spans of runs, model calls and tool calls."""

from collections.abc import Sequence

from pydantic import Field
from pydantic_settings import BaseSettings, CliImplicitFlag
from starlette.middleware import Middleware

from turnstream.server.extensions.base import (
    EXTENSION_API,
    Extension,
    ExtensionError,
    Watch,
    WatchedRun,
)


class TracesSettings(BaseSettings):
    traces: CliImplicitFlag[bool] = Field(
        False, description="make OpenTelemetry spans of runs, model calls and tool calls"
    )


class TracesExtension(Extension):
    name = "traces"
    api = EXTENSION_API
    order = 20
    settings = TracesSettings

    def __init__(self, settings: TracesSettings) -> None:  # noqa: ARG002
        try:
            from turnstream.server.extensions.traces.traces import Traces
        except ModuleNotFoundError:
            raise ExtensionError(
                "TURNSTREAM_TRACES needs a package that is not installed: pip install "
                "opentelemetry-api (the extra traces)."
            ) from None
        self._traces = Traces()

    @staticmethod
    def is_on(settings: TracesSettings) -> bool:
        return settings.traces

    def middleware(self) -> Sequence[Middleware]:
        from turnstream.server.extensions.traces.requests import TracedRequests

        return [Middleware(TracedRequests)]

    def watch(self, run: WatchedRun) -> Watch:
        return self._traces.watch(run)
