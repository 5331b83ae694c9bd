"""All routes of a server whose extensions are on."""

from turnstream.server.extensions.built_in import ServerSettings
from turnstream.server.extensions.feedback import FeedbackExtension
from turnstream.server.formats import FORMATS
from turnstream.server.http.routes import routes_with

ROUTES = routes_with(FORMATS, [FeedbackExtension(ServerSettings.model_validate({}))])
