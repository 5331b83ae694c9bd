"""All routes of a server whose extensions are on."""

from turnstream.server.extensions.built_in import ServerSettings
from turnstream.server.extensions.feedback import FeedbackExtension
from turnstream.server.extensions.openapi import OpenApiExtension
from turnstream.server.extensions.undo import UndoExtension
from turnstream.server.formats import FORMATS
from turnstream.server.http.routes import routes_with

_SETTINGS = ServerSettings.model_validate({})
_ON = [FeedbackExtension(_SETTINGS), OpenApiExtension(_SETTINGS), UndoExtension(_SETTINGS)]
ROUTES = routes_with(FORMATS, _ON)
