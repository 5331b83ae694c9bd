"""All routes of a server whose extensions are on."""

from typing import Any

from turnstream.server.extensions.built_in import ServerSettings
from turnstream.server.extensions.feedback import FeedbackExtension
from turnstream.server.extensions.openapi import OpenApiExtension
from turnstream.server.extensions.undo import UndoExtension
from turnstream.server.extensions.users import UsersExtension
from turnstream.server.formats import FORMATS
from turnstream.server.http.routes import routes_with

_SETTINGS: Any = ServerSettings.model_validate({"auth": "keys"})
_ON = (FeedbackExtension, OpenApiExtension, UndoExtension, UsersExtension)
EXTENSIONS = tuple(each(_SETTINGS) for each in _ON)
ROUTES = routes_with(FORMATS, EXTENSIONS)
