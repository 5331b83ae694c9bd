"""GET /openapi.json: all calls, for programs."""

from collections.abc import Sequence

from pydantic import Field
from pydantic_settings import BaseSettings, CliImplicitFlag
from starlette.routing import Route

from turnstream.server.extensions.base import EXTENSION_API, Extension


class OpenApiSettings(BaseSettings):
    openapi: CliImplicitFlag[bool] = Field(
        True, description="describe all calls in an OpenAPI document, GET /openapi.json"
    )


class OpenApiExtension(Extension):
    name = "openapi"
    api = EXTENSION_API
    settings = OpenApiSettings

    @staticmethod
    def is_on(settings: OpenApiSettings) -> bool:
        return settings.openapi

    def routes(self) -> Sequence[Route]:
        from turnstream.server.extensions.openapi.endpoint import PATH, OpenApi

        return [Route(PATH, OpenApi)]
