"""The access log: a line of the server's log for each request."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings
from starlette.middleware import Middleware

from turnstream.server.extensions.base import EXTENSION_API, Extension


class AccessLogSettings(BaseSettings):
    access_log: Literal["off", "requests", "callers"] = Field(
        "off",
        description="log a line for each request: 'requests', or 'callers' to have the ids of "
        "callers in it",
    )


class AccessLogExtension(Extension):
    name = "access_log"
    api = EXTENSION_API
    order = -10
    settings = AccessLogSettings

    def __init__(self, settings: AccessLogSettings) -> None:
        self._names_callers = settings.access_log == "callers"

    @staticmethod
    def is_on(settings: AccessLogSettings) -> bool:
        return settings.access_log != "off"

    def middleware(self) -> Sequence[Middleware]:
        from turnstream.server.extensions.access_log.logged import Logged

        return [Middleware(Logged, names_callers=self._names_callers)]
