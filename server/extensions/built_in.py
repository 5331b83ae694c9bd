"""The extensions of this package, and the settings with their sections. Each is imported as far as
its settings go; the rest of it when it is switched on."""

from turnstream.server.extensions.access_log import AccessLogExtension, AccessLogSettings
from turnstream.server.extensions.audit import AuditExtension, AuditSettings
from turnstream.server.extensions.feedback import FeedbackExtension, FeedbackSettings
from turnstream.server.extensions.metrics import MetricsExtension, MetricsSettings
from turnstream.server.extensions.openapi import OpenApiExtension, OpenApiSettings
from turnstream.server.extensions.search import SearchExtension, SearchSettings
from turnstream.server.extensions.titles import TitleSettings, TitlesExtension
from turnstream.server.extensions.traces import TracesExtension, TracesSettings
from turnstream.server.extensions.undo import UndoExtension, UndoSettings
from turnstream.server.extensions.users import UserSettings, UsersExtension
from turnstream.server.extensions.versions import VersionsExtension, VersionsSettings
from turnstream.server.extensions.workers import WorkerSettings, WorkersExtension
from turnstream.server.settings import Settings

BUILT_IN = (
    AccessLogExtension,
    AuditExtension,
    FeedbackExtension,
    MetricsExtension,
    OpenApiExtension,
    SearchExtension,
    TitlesExtension,
    TracesExtension,
    UndoExtension,
    UsersExtension,
    VersionsExtension,
    WorkersExtension,
)


class ServerSettings(
    Settings,
    AccessLogSettings,
    AuditSettings,
    TitleSettings,
    MetricsSettings,
    TracesSettings,
    FeedbackSettings,
    OpenApiSettings,
    SearchSettings,
    UndoSettings,
    UserSettings,
    VersionsSettings,
    WorkerSettings,
):
    """Serve a LangGraph graph to browsers.

    Each option is also an environment variable: --max-steps is TURNSTREAM_MAX_STEPS.
    """

    model_config = Settings.model_config
